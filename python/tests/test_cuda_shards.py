"""Tests optimizers over DTensors on a CUDA device. The tests are skipped without a device, kernels for it or NCCL."""

import os

import pytest
import sharded_steps
import torch
from processes import Processes, expect_none
from sharded_steps import Case

import sing
from sing import sharding

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.cuda.is_available() and sing.has_kernels("cuda")),
    reason="no CUDA device, operators without CUDA kernels, or torch without distributed",
)

# Rules that make whole matrices orthogonal.
REFUSED = ("Muon", "SING:muon")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two processes on one device, which gloo joins, because NCCL wants a device for each."""
    os.environ["SING_TEST_DEVICE"] = "cuda"
    processes = Processes(2, tmp_path_factory.mktemp("cuda"))
    del os.environ["SING_TEST_DEVICE"]
    yield processes
    processes.close()


def expect_whole(pool, case):
    expect_none(pool.run(sharded_steps.compare, case))


@pytest.mark.parametrize("rule", [each for each in sharded_steps.rules() if each not in REFUSED])
def test_every_rule_takes_the_step_of_whole_tensors(two, rule):
    for layout in ("Shard(0)", "Shard(1)"):
        expect_whole(two, Case(rule, layout, "uneven"))


@pytest.mark.parametrize("sizes", list(sharded_steps.SIZES))
@pytest.mark.parametrize("layout", list(sharded_steps.LAYOUTS[2]))
def test_every_layout_takes_the_step_of_whole_tensors(two, layout, sizes):
    for rule in ("SING", "SING:lamb", "SING:adafactor"):
        expect_whole(two, Case(rule, layout, sizes))


@pytest.mark.parametrize("policy", ["skip_tensor", "skip_step", "throw", "pass_through"])
def test_a_nan_on_one_process_is_that_of_all(two, policy):
    for layout in ("Shard(0)", "mixed"):
        expect_whole(two, Case("SING", layout, "uneven", non_finite=policy))


@pytest.mark.parametrize("host", ["AdamW", "SGD"])
def test_attached_optimizers(two, host):
    for layout in ("Shard(0)", "Shard(1)"):
        expect_whole(two, Case(host, layout, "uneven", attached=True))


def test_rules_of_whole_matrices_are_refused(two):
    expect_none(two.run(refusals))


def refusals():
    problems = []
    for rule in REFUSED:
        weight = sharded_steps.placed(sharded_steps.values((8, 3), "weight"), sharded_steps.LAYOUTS[2]["Shard(0)"])
        try:
            sharded_steps.make(rule, [torch.nn.Parameter(weight)], lr=0.1)
            problems.append(f"{rule} is taken")
        except ValueError as error:
            if "wanted a whole tensor on cuda:0 for rule" not in str(error):
                problems.append(str(error))
    return problems


# NCCL with one process, which adds up what one process has.


@pytest.fixture
def nccl(monkeypatch):
    """A mesh of one process, whose tensors are treated as parts although they are whole."""
    if not torch.distributed.is_nccl_available():
        pytest.skip("torch without NCCL")
    torch.distributed.init_process_group(
        "nccl", store=torch.distributed.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda:0")
    )

    def part_of(mesh, placements, whole, own):
        return sharding._Part(list(whole), [0] * len(whole), [placements[0].dim], (0,), (0,))

    monkeypatch.setattr(sharding, "_part_of", part_of)
    yield torch.distributed.device_mesh.init_device_mesh("cuda", (1,))
    torch.distributed.destroy_process_group()


SHAPES = [(64, 48), (7, 5), (300,), (6, 5, 3, 3)]


def parameters(mesh, axis):
    """Parts of tensors, with gradients, and the same tensors as a program without DTensors has them."""
    from torch.distributed.tensor import DTensor, Shard

    parts, plain = [], []
    for index, shape in enumerate(SHAPES):
        start = sharded_steps.values(shape, index).cuda()
        placements = [Shard(min(axis, len(shape) - 1))]
        parts.append(torch.nn.Parameter(DTensor.from_local(start.clone(), mesh, placements)))
        plain.append(torch.nn.Parameter(start.clone()))
        parts[-1].grad = DTensor.from_local(torch.zeros_like(start), mesh, placements)
        plain[-1].grad = torch.zeros_like(start)
    return parts, plain


def set_gradients(tensors, step):
    for index, each in enumerate(tensors):
        sharding.local(each.grad).copy_(sharded_steps.values(tuple(each.shape), index, step))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rule", ["SING", "SING:lamb", "SING:nadam", "SING:adafactor"])
def test_nccl_adds_up_in_replays_as_in_eager_steps(nccl, rule, axis):
    parts, plain = parameters(nccl, axis)
    captured, _ = parameters(nccl, axis)
    eager, replayed, whole = (sharded_steps.make(rule, each, lr=0.0625) for each in (parts, captured, plain))
    graph = torch.cuda.CUDAGraph()
    update = [0.0] * len(SHAPES)
    for step in range(6):
        before = [each.detach().clone() for each in plain]
        for tensors in (parts, plain, captured):
            set_gradients(tensors, step)
        eager.step()
        whole.step()
        update = [max(largest, float((a - b).abs().max())) for largest, a, b in zip(update, plain, before)]
        if step == 0:
            replayed.step()
        elif step == 1:
            with torch.cuda.graph(graph):
                replayed.step()
            graph.replay()
        else:
            graph.replay()
    assert eager._library.shard_sums.collectives > 0
    for one, other, wanted, largest in zip(parts, captured, plain, update):
        assert torch.equal(sharding.local(one), sharding.local(other))
        case = Case(rule, "", "")
        assert ((sharding.local(one) - wanted).abs() <= sharded_steps.bound(wanted, largest, case)).all()
    del graph  # before the process group is destroyed


def test_a_step_over_shards_does_not_wait(nccl):
    parts, _ = parameters(nccl, 1)
    optimizer = sing.SING(parts, lr=0.1)
    optimizer.step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(6):
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_attached_standardization_over_nccl_is_that_of_whole_tensors(nccl):
    parts, plain = parameters(nccl, 1)
    for tensors in (parts, plain):
        set_gradients(tensors, 0)
        sing.standardize_(tensors)
    for part, whole in zip(parts, plain):
        torch.testing.assert_close(sharding.local(part.grad), whole.grad, rtol=64 * 2.0**-24, atol=64 * 2.0**-24)
