"""Tests optimizers over DTensors on several processes against one process with the whole tensors."""

import os
import subprocess
import sys

import pytest
import sharded_models
import sharded_steps
import torch
from conftest import ROOT
from processes import expect_none, pool_of
from sharded_steps import Case

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")

# `./dev test distributed` sets it; without it a part runs that has every layout, every rule and every policy at least once.
COMPLETE = os.environ.get("SING_DISTRIBUTED") == "complete"

ATTACHED = ("AdamW", "SGD")
POLICIES = ("skip_tensor", "skip_step", "throw", "pass_through")


one = pool_of(1)
two = pool_of(2)
four = pool_of(4)
eight = pool_of(8)


def expect_whole(pool, case):
    problems = [problem for found in pool.run(sharded_steps.compare, case) for problem in found]
    assert not problems, "\n".join(problems[:20])


LAYOUTS = list(sharded_steps.LAYOUTS[4])
SIZES = list(sharded_steps.SIZES)


def takes(layout, sizes):
    # torch itself cuts strided parts evenly only.
    return layout != "FSDP and colwise TP" or sizes == "even"


@pytest.mark.parametrize("rule", sharded_steps.rules())
def test_every_rule_takes_the_step_of_whole_tensors(four, rule):
    for layout in LAYOUTS if COMPLETE else ["FSDP and rowwise TP", "Shard(0)"]:
        for sizes in SIZES if COMPLETE else ["uneven"]:
            if takes(layout, sizes):
                expect_whole(four, Case(rule, layout, sizes))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_takes_the_step_of_whole_tensors(four, layout, sizes):
    if takes(layout, sizes):
        for rule in ("SING", "SING:adafactor", "SING:lamb", "Muon"):
            expect_whole(four, Case(rule, layout, sizes))


@pytest.mark.parametrize("layout", list(sharded_steps.LAYOUTS[2]))
def test_two_processes(two, layout):
    for sizes in SIZES:
        expect_whole(two, Case("SING", layout, sizes))


@pytest.mark.skipif(not COMPLETE, reason="eight processes are for ./dev test distributed")
@pytest.mark.parametrize("layout", list(sharded_steps.LAYOUTS[8]))
def test_eight_processes(eight, layout):
    for sizes in SIZES:
        for rule in ("SING", "SING:adafactor", "SING:lamb", "Muon"):
            expect_whole(eight, Case(rule, layout, sizes))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_nan_on_one_process_is_that_of_all(four, layout, policy):
    for rule in sharded_steps.rules() if COMPLETE else ["SING", "Muon"]:
        for sizes in SIZES if COMPLETE else ["uneven"]:
            if takes(layout, sizes):
                expect_whole(four, Case(rule, layout, sizes, non_finite=policy))


@pytest.mark.parametrize("host", ATTACHED)
def test_attached_optimizers(four, host):
    for layout in LAYOUTS:
        for sizes in SIZES:
            if takes(layout, sizes):
                expect_whole(four, Case(host, layout, sizes, attached=True))
    for policy in POLICIES:
        expect_whole(four, Case(host, "mixed", "uneven", non_finite=policy, attached=True))


# Ten tensors on four processes: one exchange per set of processes that share tensors; LAMB needs one more after the moments.
@pytest.mark.parametrize(
    ("layout", "rule", "wanted"),
    [
        ("Shard(0)", "SING", (1, 0)),
        ("HSDP", "SING", (1, 0)),
        ("FSDP and colwise TP", "SING", (1, 0)),
        ("Replicate", "SING", (0, 0)),
        ("Shard(0)", "SING:lamb", (2, 0)),
        ("Shard(1)", "SING", (2, 0)),  # the row sums are a vector of their own
        ("FSDP and rowwise TP", "Muon", (2, 2)),  # the norms of the matrices; the parts there and back
        ("Replicate", "Muon", (0, 0)),
    ],
)
def test_a_step_has_one_collective_per_set_of_processes(four, layout, rule, wanted):
    assert four.run(sharded_steps.collectives_per_step, layout, rule) == [wanted] * 4


def test_a_gradient_scaler_skips_on_all_processes(two):
    expect_none(two.run(sharded_steps.gradient_scaler))


def test_a_gradient_of_some_processes_only_is_refused_by_all(two):
    expect_none(two.run(sharded_steps.gradient_of_one_process_only))


def test_state_stays_on_the_cpu_beside_its_parameter(one):
    expect_none(one.run(sharded_steps.state_on_the_cpu_of_a_mesh_elsewhere))


@pytest.mark.parametrize(("rule", "collective"), [("SING", "all_reduce"), ("Muon", "all_to_all_single")])
def test_step_raises_the_exception_of_a_collective(two, rule, collective):
    expect_none(two.run(sharded_steps.failing_collective, rule, collective))


def test_the_state_of_dtensors_exists_from_construction(four):
    expect_none(four.run(sharded_steps.state_from_construction))


KINDS = ("SING", "SING:adafactor", "SING:lamb", "Muon", "attached")


@pytest.mark.parametrize("kind", KINDS)
def test_ddp_keeps_replicas_equal_bit_by_bit(four, kind):
    expect_none(four.run(sharded_models.ddp, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replicas", [1, 2])
def test_fsdp2_trains_as_one_process(four, kind, replicas):
    expect_none(four.run(sharded_models.fsdp2, kind, replicas))


# Every checkpoint but the last is in the middle of a period of LookAhead.
@pytest.mark.parametrize("kind", ["SING", "SING:adafactor", "SING:muon", "attached"])
def test_checkpoints_are_resumed_on_other_numbers_of_processes(one, two, four, tmp_path, kind):
    source = None
    for index, (pool, first, steps) in enumerate([(four, 0, 3), (two, 3, 4), (one, 7, 1), (four, 8, 4)]):
        target = str(tmp_path / str(index))
        expect_none(pool.run(sharded_models.resume, source, target, first, steps, kind))
        source = target


def test_an_option_may_change_after_loading(two, tmp_path):
    expect_none(two.run(sharded_models.resume_with_another_rate, str(tmp_path)))


def test_a_checkpoint_from_before_an_option_loads_with_a_partial_load(two, tmp_path):
    expect_none(two.run(sharded_models.resume_without_an_option, str(tmp_path)))


def losses_of(*command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    shown = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=240)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return [float(line.split()[-1]) for line in shown.stdout.splitlines() if line.startswith("step")]


def test_the_example_has_the_losses_of_one_process():
    example = str(ROOT / "examples" / "python" / "gpt_fsdp2_tp.py")
    expected = losses_of(example)
    actual = losses_of("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", example)
    assert len(expected) == 20
    assert expected[-1] < 0.8 * expected[0]
    # Losses are printed with 6 digits after the point, and 20 steps multiply float32's rounding errors of 6e-8 by less than 2^7.
    assert actual == pytest.approx(expected, rel=2**7 * 6e-8, abs=2e-6)
