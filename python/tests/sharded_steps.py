"""Steps over DTensors, compared on every process with the same steps over whole tensors. Runs inside processes.Processes."""

from __future__ import annotations

import contextlib
import math
import os
import zlib
from typing import Any, NamedTuple

import torch
import torch.distributed as distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

import sing

# The device of all tensors; python/tests/test_cuda_shards.py sets it.
DEVICE = os.environ.get("SING_TEST_DEVICE", "cpu")

SIZES = {
    "even": {"matrix": (8, 12), "vector": (16,), "image": (4, 8, 4)},
    "uneven": {"matrix": (7, 5), "vector": (9,), "image": (6, 5, 3)},
    "fewer rows than ranks": {"matrix": (2, 3), "vector": (1,), "image": (1, 3, 2), "dot": (1, 1)},
}


class Layout(NamedTuple):
    """How a tensor is placed: the shape of the mesh, and a placement per axis of it; or plain, on every process."""

    mesh: tuple[int, ...]
    placements: tuple[Any, ...]


PLAIN = Layout((), ())
# By the number of processes. "mixed" gives every tensor another of these.
LAYOUTS: dict[int, dict[str, Layout | None]] = {
    2: {
        "Shard(0)": Layout((2,), (Shard(0),)),
        "Shard(1)": Layout((2,), (Shard(1),)),
        "Replicate": Layout((2,), (Replicate(),)),
        "mixed": None,
    },
    4: {
        "Shard(0)": Layout((4,), (Shard(0),)),
        "Shard(1)": Layout((4,), (Shard(1),)),
        "HSDP": Layout((2, 2), (Replicate(), Shard(0))),
        "FSDP and rowwise TP": Layout((2, 2), (Shard(0), Shard(1))),
        "FSDP and colwise TP": Layout((2, 2), (_StridedShard(0, split_factor=2), Shard(0))),
        "Replicate": Layout((2, 2), (Replicate(), Replicate())),
        "mixed": None,
    },
    8: {
        "HSDP and rowwise TP": Layout((2, 2, 2), (Replicate(), Shard(0), Shard(1))),
        "FSDP and rowwise TP": Layout((4, 2), (Shard(0), Shard(1))),
        "Shard(0)": Layout((8,), (Shard(0),)),
        "mixed": None,
    },
}


def layout_of(world: int, name: str, index: int, rank_of_tensor: int) -> Layout:
    """The layout of the tensor at this index; axes that it does not have become its first."""
    layout = LAYOUTS[world][name]
    if layout is None:
        strided = LAYOUTS[world].get("FSDP and colwise TP")
        choices = [each for each in LAYOUTS[world].values() if each is not None and each is not strided]
        layout = [PLAIN, *choices][index % (len(choices) + 1)]
    placements = tuple(
        Shard(0) if isinstance(each, Shard) and each.dim >= rank_of_tensor else each for each in layout.placements
    )
    return Layout(layout.mesh, placements)


_meshes: dict[tuple[int, ...], Any] = {}


def mesh_of(shape: tuple[int, ...]) -> Any:
    if shape not in _meshes:
        _meshes[shape] = init_device_mesh(DEVICE, shape)
    return _meshes[shape]


def own_part(whole: torch.Tensor, layout: Layout) -> torch.Tensor:
    """This process's part, cut without torch's DTensor: later cuts of an axis come first where the earlier one is strided."""
    if not layout.mesh:
        return whole.clone()
    place = mesh_of(layout.mesh).get_coordinate()
    axes = list(range(len(layout.mesh)))
    if any(isinstance(each, _StridedShard) for each in layout.placements):
        axes.reverse()
    for axis in axes:
        placement = layout.placements[axis]
        if not placement.is_replicate():
            parts = whole.chunk(layout.mesh[axis], placement.dim)
            empty = whole.narrow(placement.dim, 0, 0)
            whole = parts[place[axis]] if place[axis] < len(parts) else empty
    return whole.contiguous().clone()


def placed(whole: torch.Tensor, layout: Layout) -> torch.Tensor:
    part = own_part(whole, layout)
    if not layout.mesh:
        return part
    return DTensor.from_local(
        part, mesh_of(layout.mesh), layout.placements, run_check=False, shape=whole.shape, stride=whole.stride()
    )


def gradient_of(whole: torch.Tensor, layout: Layout) -> torch.Tensor:
    """A gradient of a replicated tensor is Partial: an equal share of it is on each process of the first axis of the mesh."""
    if layout.mesh and all(each.is_replicate() for each in layout.placements):
        placements = (Partial(), *layout.placements[1:])
        return DTensor.from_local(whole / layout.mesh[0], mesh_of(layout.mesh), placements, run_check=False)
    return placed(whole, layout)


def values(shape: tuple[int, ...], *seeds: Any) -> torch.Tensor:
    """Away from 0 and from their means, so that no rule magnifies rounding errors; 1/4 ± [1/2, 1) as in tests/contract."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr(seeds).encode()))
    sizes = 0.5 + 0.5 * torch.rand(shape, generator=generator)
    signs = torch.ones(shape)
    for axis, extent in enumerate(shape):
        view = [1] * len(shape)
        view[axis] = extent
        signs = signs * torch.tensor([1.0 if i % 2 == 0 else -1.0 for i in range(extent)]).view(view)
    return (0.25 + signs * sizes).to(DEVICE)


# Whole and sharded steps are each within the contract of tests/contract/agreement.hpp of the exact step: 3 u of the parameter
# and 256 u of the largest update, per step. They differ by at most twice that.
ROUNDOFF = 2.0**-24
UPDATE_ROUNDINGS = 256
# Rounding errors grow in Newton–Schulz iterations (kOrthogonalGrowth).
ORTHOGONAL_GROWTH = 8


def update_roundings(case: Case) -> int:
    return UPDATE_ROUNDINGS * (ORTHOGONAL_GROWTH if "muon" in case.rule.lower() else 1)


def bound(expected: torch.Tensor, update: float, case: Case) -> torch.Tensor:
    return 2 * case.steps * ROUNDOFF * (3 * (expected.abs() + update) + update_roundings(case) * update)


def rules() -> list[str]:
    """Every rule alone, and with SING around it ("SING:lion")."""
    kinds = {name: getattr(sing, name) for name in sing.__all__ if isinstance(getattr(sing, name), type)}
    alone = {
        name: kind._schema.rule
        for name, kind in kinds.items()
        if issubclass(kind, sing.Optimizer) and kind is not sing.Optimizer and name not in ("SING", "PlugSING")
    }
    return [*alone, *(f"SING:{rule}" for rule in alone.values()), "PlugSING"]


def make(rule: str, params: Any, **options: Any) -> torch.optim.Optimizer:
    """The optimizer of a class of sing, with a host after the colon if there is one."""
    name, _, host = rule.partition(":")
    return getattr(sing, name)(params, **options, **({"host": host} if host else {}))


class Case(NamedTuple):
    rule: str
    layout: str
    sizes: str
    non_finite: str | None = None  # one element of one tensor is NaN in the second step, under this policy
    attached: bool = False  # rule is an optimizer of torch
    steps: int = 6  # past a merge of LookAhead


def optimizer_of(case: Case, named: list[tuple[str, torch.Tensor]]) -> torch.optim.Optimizer:
    policy = {} if case.non_finite is None else {"non_finite": case.non_finite}
    if case.attached:
        momentum = {"momentum": 0.9} if case.rule == "SGD" else {}
        host = getattr(torch.optim, case.rule)(named, lr=0.0625, foreach=False, **momentum)
        return sing.attach(host, **policy)
    return make(case.rule, named, lr=0.0625, **policy)


def norms_of(optimizer: torch.optim.Optimizer, case: Case) -> dict[str, float]:
    return sing.attachment(optimizer).grad_norms() if case.attached else optimizer.grad_norms()


def status_of(optimizer: torch.optim.Optimizer, case: Case) -> dict[str, int]:
    if not case.attached:
        return optimizer.status()
    mine = sing.attachment(optimizer)
    return {"skipped_steps": mine.skipped_steps, "skipped_tensors": mine.skipped_tensors}


def compare(case: Case) -> list[str]:
    """Takes the case's steps; returns what differs from one process with the whole tensors, by rank, tensor and placement."""
    world = distributed.get_world_size()
    shapes = SIZES[case.sizes]
    layouts = {name: layout_of(world, case.layout, i, len(shape)) for i, (name, shape) in enumerate(shapes.items())}
    whole = {name: torch.nn.Parameter(values(shape, name)) for name, shape in shapes.items()}
    parts = {name: torch.nn.Parameter(placed(whole[name].detach(), layouts[name])) for name in shapes}
    expected, actual = optimizer_of(case, list(whole.items())), optimizer_of(case, list(parts.items()))
    update = dict.fromkeys(shapes, 0.0)
    problems: list[str] = []
    for step in range(case.steps):
        before = {name: each.detach().clone() for name, each in whole.items()}
        for name, shape in shapes.items():
            gradient = values(shape, name, step)
            if case.non_finite is not None and step == 1 and name == "matrix":
                gradient.view(-1)[-1] = math.nan
            whole[name].grad = gradient
            parts[name].grad = gradient_of(gradient, layouts[name])
        raised = []
        for optimizer in (expected, actual):
            try:
                optimizer.step()
                if DEVICE != "cpu":
                    status_of(optimizer, case)  # raises what a step on a device has found
                raised.append(False)
            except (RuntimeError, FloatingPointError) as error:
                if "wanted finite gradients" not in str(error):
                    raise
                raised.append(True)
        if raised[0] != raised[1]:
            problems.append(f"step {step}: raised {raised[1]} for {raised[0]}")
        for name, each in whole.items():
            moved = (each.detach() - before[name]).abs()
            update[name] = max(update[name], float(moved.nan_to_num().max()) if each.numel() else 0.0)
    for name in shapes:
        where = f"rank {distributed.get_rank()} '{name}' {layouts[name]}"
        wanted = own_part(whole[name].detach(), layouts[name])
        got = sing.sharding.local(parts[name].detach())
        problems += differences(f"{where}", got, wanted, bound(wanted, update[name], case))
        if not case.attached:
            problems += state_differences(where, actual.state[parts[name]], expected.state[whole[name]], case)
    wanted_norms, norms = norms_of(expected, case), norms_of(actual, case)
    for name in wanted_norms:
        if not math.isclose(norms[name], wanted_norms[name], rel_tol=64 * ROUNDOFF) and not math.isnan(wanted_norms[name]):
            problems.append(f"norm of {name}: {norms[name]} for {wanted_norms[name]}")
    if status_of(actual, case) != status_of(expected, case):
        problems.append(f"status {status_of(actual, case)} for {status_of(expected, case)}")
    if len(set(gathered(sorted(norms.items())))) > 1:
        problems.append("the processes have other bits of the norms")
    return problems


def gathered(value: Any) -> list[str]:
    found: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(found, repr(value))
    return found


def differences(where: str, got: torch.Tensor, wanted: torch.Tensor, allowed: torch.Tensor | float) -> list[str]:
    if got.shape != wanted.shape:
        return [f"{where}: shape {tuple(got.shape)} for {tuple(wanted.shape)}"]
    wrong = ((got - wanted).abs() > allowed) | (got.isnan() != wanted.isnan())
    if not wrong.any():
        return []
    found, expected = got[wrong][:3].tolist(), wanted[wrong][:3].tolist()
    return [f"{where}: {found} for {expected}, {int(wrong.sum())} of {wrong.numel()} elements"]


def state_differences(where: str, got: dict[str, Any], wanted: dict[str, Any], case: Case) -> list[str]:
    if wanted == {}:
        return []
    problems = [f"{where}: state {list(got)} for {list(wanted)}"] if list(got) != list(wanted) else []
    for key, expected in wanted.items():
        mine = got[key]
        if mine.shape != expected.shape:
            problems.append(f"{where} {key}: shape {tuple(mine.shape)} for {tuple(expected.shape)}")
            continue
        # full_tensor() puts strided parts in another order, and over gloo on a device it crashes in torch 2.11.
        by_part = isinstance(mine, DTensor) and (DEVICE != "cpu" or any(isinstance(each, _StridedShard) for each in mine.placements))
        if by_part:
            own = own_part(expected, Layout(tuple(mine.device_mesh.shape), tuple(mine.placements)))
            mine, expected = mine.to_local(), own
        elif isinstance(mine, DTensor):
            mine = mine.full_tensor()
        largest = float(expected.abs().nan_to_num().max()) if expected.numel() else 0.0
        problems += differences(f"{where} {key}", mine, expected, 2 * case.steps * ROUNDOFF * (3 + update_roundings(case)) * largest)
    return problems


@contextlib.contextmanager
def counted_collectives():
    """Counts the calls of every collective that could carry sums."""
    counts = {"all_reduce": 0, "all_to_all_single": 0}
    originals = {name: getattr(distributed, name) for name in counts}

    def counting(name: str) -> Any:
        def count(*arguments: Any, **keywords: Any) -> Any:
            counts[name] += 1
            return originals[name](*arguments, **keywords)

        return count

    for name in counts:
        setattr(distributed, name, counting(name))
    try:
        yield counts
    finally:
        for name, original in originals.items():
            setattr(distributed, name, original)


def collectives_per_step(layout: str, rule: str) -> tuple[int, int]:
    """How many sums and how many exchanges of parts of matrices a step has."""
    world = distributed.get_world_size()
    shapes = {str(i): (8, 12) for i in range(10)}
    parts = {}
    for i, (name, shape) in enumerate(shapes.items()):
        whole = values(shape, name)
        place = layout_of(world, layout, i, 2)
        parts[name] = torch.nn.Parameter(placed(whole, place))
        parts[name].grad = placed(whole, place)
    optimizer = make(rule, list(parts.values()), lr=0.1)
    optimizer.step()
    with counted_collectives() as counts:
        optimizer.step()
    return counts["all_reduce"], counts["all_to_all_single"]


def state_from_construction() -> list[str]:
    """Parts of other sizes than torch would infer, in a matrix and in AdaFactor's rows of it."""
    layout = Layout((distributed.get_world_size(),), (Shard(0),))
    whole = values((7, 5), "weight")
    problems = []
    for rule, key, shape in (("SING", "slow", (7, 5)), ("SING:adafactor", "exp_avg_sq_row", (7,)), ("SING:muon", "momentum_buffer", (7, 5))):
        parameter = torch.nn.Parameter(placed(whole, layout))
        optimizer = make(rule, [parameter], lr=0.1)
        found = optimizer.state[parameter].get(key)
        if not isinstance(found, DTensor) or found.shape != shape or found.placements != (Shard(0),):
            problems.append(f"{rule}: {key} is {found}")
        elif found.stride() != torch.empty(shape).stride() or found.to_local().shape[0] != parameter.to_local().shape[0]:
            problems.append(f"{rule}: {key} has strides {found.stride()} and a part of {found.to_local().shape}")
    plain = torch.nn.Parameter(whole)
    optimizer = make("SING", [plain], lr=0.1)
    problems += ["a plain parameter has state before it was asked for"] if optimizer.state else []
    optimizer.create_state()
    problems += [] if "slow" in optimizer.state[plain] else ["create_state() has made no state"]
    return problems


def gradient_scaler() -> list[str]:
    """sing.GradScaler over shards, with an infinity in the part of one process in the second step."""
    layout = Layout((distributed.get_world_size(),), (Shard(0),))
    weight = torch.nn.Parameter(placed(values((8, 3), "weight"), layout))
    optimizer = sing.SING([weight], lr=0.1)
    scaler = sing.GradScaler("cpu", init_scale=1024.0, growth_interval=1000)
    problems, scales = [], []
    for step in range(3):
        optimizer.zero_grad()
        gradient = values((8, 3), step)
        if step == 1:
            gradient[-1, -1] = math.inf
        factor = DTensor.from_local(own_part(gradient, layout), mesh_of(layout.mesh), layout.placements, run_check=False)
        scaler.scale((weight * factor).sum().redistribute(placements=[Replicate()]).to_local()).backward()
        before = weight.to_local().detach().clone()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if torch.equal(before, weight.to_local()) != (step == 1):
            problems.append(f"rank {distributed.get_rank()}: step {step} was {'not ' if step == 1 else ''}skipped")
    if scales != [1024.0, 512.0, 512.0]:
        problems.append(f"rank {distributed.get_rank()}: scales {scales}")
    return problems


def gradient_of_one_process_only() -> list[str]:
    layout = Layout((distributed.get_world_size(),), (Shard(0),))
    weight = torch.nn.Parameter(placed(values((8, 3), "weight"), layout))
    optimizer = sing.SING([("weight", weight)], lr=0.1)
    before = weight.to_local().detach().clone()
    if distributed.get_rank() == 0:
        weight.grad = placed(values((8, 3), 0), layout)
    try:
        optimizer.step()
        message = "none"
    except ValueError as error:
        message = str(error)
    parts = distributed.get_world_size()
    wanted = f"[optimizer] parameter 'weight': wanted a gradient of every part or of none, got one of 1 of {parts} parts"
    problems = [] if message == wanted else [f"rank {distributed.get_rank()}: {message}"]
    return problems + ([] if torch.equal(before, weight.to_local()) else ["the step changed the parameter"])


def failing_collective(rule: str, collective: str) -> list[str]:
    """step() raises the exception of a collective."""
    layout = Layout((distributed.get_world_size(),), (Shard(0),))
    weight = torch.nn.Parameter(placed(values((8, 3), "weight"), layout))
    weight.grad = placed(values((8, 3), 0), layout)
    optimizer = make(rule, [weight], lr=0.1)
    original = getattr(distributed, collective)

    def fail(*arguments: Any, **keywords: Any) -> None:
        raise ConnectionError("the other side is gone")

    setattr(distributed, collective, fail)
    try:
        optimizer.step()
    except ConnectionError:
        return []
    finally:
        setattr(distributed, collective, original)
    return ["step() has not raised what the collective did"]


def state_on_the_cpu_of_a_mesh_elsewhere() -> list[str]:
    """FSDP2's CPUOffloadPolicy keeps parameters on the CPU and their mesh on CUDA: state must share the library's memory."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

    mesh = DeviceMesh("cuda", [0], _init_backend=False)
    whole = values((4, 3), "weight")
    spec = DTensorSpec(mesh, (Shard(0),), tensor_meta=TensorMeta(whole.shape, whole.stride(), whole.dtype))
    weight = torch.nn.Parameter(DTensor(whole.clone(), spec, requires_grad=False))
    weight.grad = DTensor(values((4, 3), 0), spec, requires_grad=False)
    optimizer = sing.SING([weight], lr=0.1)
    optimizer.step()
    state = optimizer.state[weight]
    problems = [f"{key} of no use" for key in ("exp_avg", "exp_avg_sq") if not state[key].to_local().abs().max() > 0]
    return problems + ([] if int(state["step"]) == 1 else [f"step {int(state['step'])}"])
