"""Models trained by DDP and FSDP2, compared with the same training in one process. Runs inside processes.Processes."""

from __future__ import annotations

import copy
import pathlib

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


def differences(model: torch.nn.Module, expected: torch.nn.Module) -> list[str]:
    problems = []
    wanted = expected.state_dict()
    for name, weight in weights_of(model).items():
        name = name.removeprefix("module.")
        largest = float((weight - wanted[name]).abs().max())
        if not largest <= BOUND:
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
    train(model, optimizer_of(model, kind), range(6), distributed.get_rank(), distributed.get_world_size())
    return differences(model, trained_by_one(6, kind))


def resume(source: str | None, target: str, first: int, steps: int, kind: str) -> list[str]:
    """Trains from step `first` on, from a checkpoint if there is one, and writes one."""
    model = model_of()
    shard(model)
    optimizer = optimizer_of(model, kind)
    if source is not None:
        # A dictionary with the tensors of this optimizer, which load() fills.
        state = {"model": get_model_state_dict(model), "optimizer": get_optimizer_state_dict(model, optimizer)}
        checkpoint.load(state, checkpoint_id=source)
        set_model_state_dict(model, state["model"])
        set_optimizer_state_dict(model, optimizer, copy.copy(state["optimizer"]))
    train(model, optimizer, range(first, first + steps), distributed.get_rank(), distributed.get_world_size())
    state = {"model": get_model_state_dict(model), "optimizer": get_optimizer_state_dict(model, optimizer)}
    checkpoint.save(state, checkpoint_id=str(pathlib.Path(target)))
    return differences(model, trained_by_one(first + steps, kind))
