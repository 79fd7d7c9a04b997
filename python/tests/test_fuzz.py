"""Compares the library with the float64 implementation of SING on random cases, with everything changing between steps.

The fixed cases take about a minute; tools/fuzz.py tries others for as long as wanted. A failing case is printed without the actions and
parameters that its failure does not need.
"""

import os
import pathlib
import sys
import threading

import pytest
import torch

import float64_sing as oracle
import fuzz_cases
import fuzz_run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import fuzz  # noqa: E402

FIXED_SEEDS = 600
BLOCK = 50
SHOWN_FAILURES = 5


@pytest.fixture(autouse=True)
def one_thread():
    """Runs cases on one thread: most tensors are small, and threads would only wait for each other. A few cases use two threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("first", range(0, FIXED_SEEDS, BLOCK))
def test_fixed_cases(first):
    failures = [failure for seed in range(first, first + BLOCK) if (failure := fuzz_run.tried(seed)[1])]
    assert not failures, f"{len(failures)} of {BLOCK} cases fail\n\n" + "\n\n".join(failures[:SHOWN_FAILURES])


# Tests of tools/fuzz.py


def end_badly(seed):
    """Stands for a case: seed 3 ends the process, seed 5 does not end, seed 7 fails."""
    if seed == 3:
        os._exit(9)
    if seed == 5:
        threading.Event().wait()
    return {"steps": 2, "Step": 1}, "seed 7: a wrong value" if seed == 7 else None


def test_every_seed_is_tried_once_whatever_becomes_of_its_process():
    tried = fuzz.Fuzz(range(10), float("inf"), try_one=end_badly, limit=5)
    tried.run(processes=2)
    assert tried.cases == 10
    assert tried.counts == {"steps": 16, "Step": 8}
    assert {each["seed"]: each["text"] for each in tried.failures} == {
        3: "seed 3: the process ended with status 9",
        5: "seed 5: wanted the end of the case, got none in 5 s",
        7: "seed 7: a wrong value",
    }


def test_no_case_is_begun_when_the_time_is_over_or_too_many_fail():
    over = fuzz.Fuzz(range(10), 0.0, try_one=end_badly)
    over.run(processes=1)
    assert over.cases == 0
    failing = fuzz.Fuzz([7] * 100, float("inf"), try_one=end_badly)
    failing.run(processes=1)
    assert failing.cases == fuzz.MOST_FAILURES


def test_a_case_of_the_tool_is_the_case_of_the_tests():
    counts, failure = fuzz.try_case(36)
    record, _ = fuzz_run.tried(36)
    assert failure is None
    assert counts["steps"] == record.steps == record.kinds["Step"] > 0


def test_figures_of_several_calls_are_added_up(capsys):
    one = {"commit": "a", "first_seed": 1000, "process_hours": 0.5, "cases": 3, "counts": {"steps": 4, "Step": 4}, "failures": []}
    other = {**one, "counts": {"steps": 1, "Rewind": 1}, "failures": [{"seed": 1, "text": "wrong"}]}
    fuzz.print_table(fuzz.sum_of([one, other]))
    printed = capsys.readouterr().out
    for row in ("| cases | 6 |", "| steps | 5 |", "| process hours | 1.0 |", "| failures | 1 |", "| Rewind | 1 |"):
        assert row in printed


# Tests of the comparison itself: it must find bugs planted in the float64 implementation, so it would find the same bugs in the
# library.


def bounds_are_sharp(records):
    """All but a few bounds must be below a hundredth of the step: a wide bound would hide a bug."""
    compared, blurred = sum(each.compared for each in records), sum(each.blurred for each in records)
    return compared > 300 and blurred < 0.08 * compared


def test_bounds_are_small_against_the_step():
    records = []
    for seed in range(30):
        records.append(fuzz_run.runner_for(fuzz_cases.make_case(seed)).run())
    assert bounds_are_sharp(records)


def first_failure(seeds, **arguments):
    """Returns the first seed whose case fails with a wrong result, if there is one."""
    for seed in seeds:
        found = fuzz_run.failure_of(fuzz_cases.make_case(seed), **arguments)
        if found is not None and found.startswith("Mismatch"):
            return seed
    return None


PLANTED_SEEDS = range(60)


class FirstOptions(oracle.Optimizer):
    """Ignores every change of the option named `name`."""

    name = ""

    def _expected(self, group, trained, *others):
        group.first = getattr(group, "first", dict(group.options))
        stale = oracle.Group({**group.options, self.name: group.first[self.name]}, group.members, group.steps)
        return super()._expected(stale, trained, *others)


class StaleLearningRate(FirstOptions):
    name = "lr"


class FirstPolicy(oracle.Optimizer):
    """Ignores every change of the policy."""

    def step(self, gradients, policy, loss_scale=1.0):
        self.policy = getattr(self, "policy", policy)
        return super().step(gradients, self.policy, loss_scale)


class StepsWithoutGradientsDoNotCount(oracle.Optimizer):
    def _step(self, gradients, policy, loss_scale):
        outcome = super()._step(gradients, policy, loss_scale)
        for group in self.groups:
            group.steps -= not outcome.is_skipped and not any(each in group.members for each in outcome.updated)
        return outcome


class OptionsByPlace(oracle.Optimizer):
    """Does not notice that groups have changed places."""

    def _expected(self, group, trained, *others):
        self.first = getattr(self, "first", list(self.groups))
        place = self.groups.index(group)
        options = self.first[place].options if place < len(self.first) else group.options
        return super()._expected(oracle.Group({**group.options, "lr": options["lr"]}, group.members, group.steps), trained, *others)


@pytest.mark.parametrize("wrong", [StaleLearningRate, FirstPolicy, StepsWithoutGradientsDoNotCount, OptionsByPlace])
def test_finds_an_ignored_change(wrong):
    assert first_failure(PLANTED_SEEDS, optimizer_class=wrong) is not None


PLANTED = {
    "rows along axis 0 whatever the option says": ("row_axes", lambda shape, axis: tuple(range(1, len(shape)))),
    "no bias correction": ("corrections", lambda step: (1.0, 1.0)),
    "LookAhead a step late": ("merges", lambda group: group.steps % group.options["lookahead_period"] == 1),
    "an overflowing norm is finite": ("is_usable", lambda gradient, format: bool(oracle.np.isfinite(gradient).all())),
    "softplus without its logarithm": ("softplus", lambda x, beta: x),
}


@pytest.mark.parametrize("name", PLANTED)
def test_finds_a_wrong_formula(name, monkeypatch):
    monkeypatch.setattr(oracle, *PLANTED[name])
    assert first_failure(PLANTED_SEEDS) is not None


def test_shrinks_a_failing_case():
    seed = first_failure(PLANTED_SEEDS, optimizer_class=StaleLearningRate)
    case = fuzz_cases.make_case(seed)
    smallest = fuzz_run.shrunk(case, optimizer_class=StaleLearningRate)
    kinds = [type(action).__name__ for action in smallest.actions]
    assert len(kinds) <= 4 and "Step" in kinds, smallest.describe()
    assert fuzz_run.failure_of(smallest, optimizer_class=StaleLearningRate)
