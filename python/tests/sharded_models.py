"""Models trained by DDP and FSDP2, compared with the same training in one process. Runs inside processes.Processes."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as distributed
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import sing
from sharded_steps import make

BATCH = 12  # examples; a multiple of every number of processes

# In float64, whose rounding errors of 2⁻⁵³ do not grow by 2²³ in the few steps of these tests, while state that is lost or
# counted twice changes a weight by more than 2⁻¹⁵.
BOUND = 2.0**-30


def model_of() -> torch.nn.Module:
    """Has a frozen layer, and layers with fewer rows than processes."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 7), torch.nn.LayerNorm(7), torch.nn.Linear(7, 3)
    ).double()
    model[2].requires_grad_(False)
    return model


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range, rank: int = 0, world: int = 1) -> None:
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        inputs = torch.randn(BATCH, 5, generator=generator, dtype=torch.float64).chunk(world)[rank]
        targets = torch.randn(BATCH, 3, generator=generator, dtype=torch.float64).chunk(world)[rank]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    state = model.state_dict()
    return {key: each.full_tensor() if hasattr(each, "full_tensor") else each for key, each in state.items()}


def differences(model: torch.nn.Module, expected: torch.nn.Module, bound: float = BOUND) -> list[str]:
    problems = []
    wanted = expected.state_dict()
    for name, weight in weights_of(model).items():
        name = name.removeprefix("module.")
        largest = float((weight - wanted[name]).abs().max())
        if not largest <= bound:
            problems.append(f"rank {distributed.get_rank()} '{name}': differs by {largest}")
    return problems


def trained_by_one(steps: int, kind: str) -> torch.nn.Module:
    model = model_of()
    train(model, optimizer_of(model, kind), range(steps))
    return model


def optimizer_of(model: torch.nn.Module, kind: str) -> torch.optim.Optimizer:
    if kind == "attached":
        return sing.attach(torch.optim.AdamW(model.parameters(), lr=0.02, foreach=False))
    return make(kind, model.parameters(), lr=0.02)


def ddp(kind: str) -> list[str]:
    model = model_of()
    replicas = torch.nn.parallel.DistributedDataParallel(model)
    train(replicas, optimizer_of(model, kind), range(6), distributed.get_rank(), distributed.get_world_size())
    own = b"".join(each.numpy().tobytes() for each in model.state_dict().values())
    found: list[bytes | None] = [None] * distributed.get_world_size()
    distributed.all_gather_object(found, own)
    replicas_differ = [] if len(set(found)) == 1 else ["the replicas have other bits"]
    return differences(model, trained_by_one(6, kind)) + replicas_differ


def shard(model: torch.nn.Module, replicas: int = 1) -> None:
    world = distributed.get_world_size()
    if replicas == 1:
        mesh = init_device_mesh("cpu", (world,))
    else:
        mesh = init_device_mesh("cpu", (replicas, world // replicas), mesh_dim_names=("replicas", "parts"))
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)


def fsdp2(kind: str, replicas: int) -> list[str]:
    model = model_of()
    shard(model, replicas)
    train_parts(model, optimizer_of(model, kind), range(6))
    return differences(model, trained_by_one(6, kind))


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return {"model": get_model_state_dict(model), "optimizer": get_optimizer_state_dict(model, optimizer)}


def load(model: torch.nn.Module, optimizer: torch.optim.Optimizer, source: str, planner: Any = None) -> None:
    state = state_of(model, optimizer)  # the dictionary of this optimizer's tensors and options, which load() fills
    checkpoint.load(state, checkpoint_id=source, planner=planner)
    set_model_state_dict(model, state["model"])
    set_optimizer_state_dict(model, optimizer, copy.copy(state["optimizer"]))


def sharded(kind: str) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = model_of()
    shard(model)
    return model, optimizer_of(model, kind)


def train_parts(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    train(model, optimizer, steps, distributed.get_rank(), distributed.get_world_size())


def resume_with_another_rate(folder: str) -> list[str]:
    """Halves the rate after loading, in the middle of a period of LookAhead, and adds weight decay."""

    def change(optimizer: torch.optim.Optimizer) -> None:
        optimizer.param_groups[0].update(lr=0.01, weight_decay=0.1)

    model, optimizer = sharded("SING")
    train_parts(model, optimizer, range(3))
    checkpoint.save(state_of(model, optimizer), checkpoint_id=folder)
    model, optimizer = sharded("SING")
    load(model, optimizer, folder)
    change(optimizer)
    train_parts(model, optimizer, range(3, 8))
    whole = model_of()
    alone = optimizer_of(whole, "SING")
    train(whole, alone, range(3))
    change(alone)
    train(whole, alone, range(3, 8))
    return differences(model, whole)


def resume_without_an_option(folder: str) -> list[str]:
    """Loads what a version of SING would have saved that did not have an option yet."""
    option = "decay_vectors"
    model, optimizer = sharded("SING")
    train_parts(model, optimizer, range(3))
    state = state_of(model, optimizer)
    for group in state["optimizer"]["param_groups"]:
        del group[option]
    checkpoint.save(state, checkpoint_id=folder)
    model, optimizer = sharded("SING")
    try:
        load(model, optimizer, folder)
        problems = ["a key is missing, and load() has said nothing"]
    except checkpoint.CheckpointException as error:
        problems = [] if option in str(error) else [f"load() says {error}"]
    load(model, optimizer, folder, checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    train_parts(model, optimizer, range(3, 8))
    return problems + differences(model, trained_by_one(8, "SING"))


def resume(source: str | None, target: str, first: int, steps: int, kind: str) -> list[str]:
    """Trains from step `first` on, from a checkpoint if there is one, and writes one."""
    model, optimizer = sharded(kind)
    if source is not None:
        load(model, optimizer, source)
    train_parts(model, optimizer, range(first, first + steps))
    checkpoint.save(state_of(model, optimizer), checkpoint_id=target)
    return differences(model, trained_by_one(first + steps, kind))
