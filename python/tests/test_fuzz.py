"""Compares the library with the float64 implementation of SING on random cases, with everything changing between steps.

    pytest python/tests/test_fuzz.py                             the fixed cases, about a minute
    SING_FUZZ_SECONDS=3600 pytest python/tests/test_fuzz.py      new cases for an hour, and the seeds of those that fail
    SING_FUZZ_SEEDS=36 pytest python/tests/test_fuzz.py          this case alone; 1000-1100 is a range

A failing case is printed without the actions and parameters that its failure does not need.
"""

import os
import time

import pytest
import torch

import float64_sing as oracle
import fuzz_cases
import fuzz_run

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


def report(seed):
    """Returns None for a case that passes, or its smallest form and the failure."""
    case = fuzz_cases.make_case(seed)
    if fuzz_run.failure_of(case) is None:
        return None
    smallest = fuzz_run.shrunk(case)
    return f"SING_FUZZ_SEEDS={seed} runs this case again\n{smallest.describe()}\n{fuzz_run.failure_of(smallest)}"


def requested_seeds():
    first, _, last = os.environ["SING_FUZZ_SEEDS"].partition("-")
    return range(int(first), int(last or first) + 1)


is_on_request = "SING_FUZZ_SECONDS" in os.environ or "SING_FUZZ_SEEDS" in os.environ


@pytest.mark.skipif(is_on_request, reason="other cases are asked for")
@pytest.mark.parametrize("first", range(0, FIXED_SEEDS, BLOCK))
def test_fixed_cases(first):
    failures = [found for seed in range(first, first + BLOCK) if (found := report(seed))]
    assert not failures, f"{len(failures)} of {BLOCK} cases fail\n\n" + "\n\n".join(failures[:SHOWN_FAILURES])


@pytest.mark.skipif("SING_FUZZ_SEEDS" not in os.environ, reason="SING_FUZZ_SEEDS is not set")
def test_requested_cases():
    failures = [found for seed in requested_seeds() if (found := report(seed))]
    assert not failures, "\n\n".join(failures)


@pytest.mark.skipif("SING_FUZZ_SECONDS" not in os.environ, reason="SING_FUZZ_SECONDS is not set")
def test_new_cases(capsys):
    end = time.monotonic() + float(os.environ["SING_FUZZ_SECONDS"])
    first = seed = time.time_ns() // 10**6 * 1000
    failures = []
    while time.monotonic() < end and len(failures) < SHOWN_FAILURES:
        if (seed - first) % 500 == 0:
            with capsys.disabled():
                print(f"\n{seed - first} cases tried, the next is seed {seed}", end="", flush=True)
        failures += [found] if (found := report(seed)) else []
        seed += 1
    with capsys.disabled():
        print(f"\n{seed - first} cases tried, {len(failures)} fail")
    assert not failures, "\n\n".join(failures)


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
def test_finds_what_does_not_follow_a_change(wrong):
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
