"""State files of the C++ library (docs/state_files.md) for an optimizer on any devices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sing.engines import EngineSet
from sing.native import NativeEngine, has_kernels

if TYPE_CHECKING:
    from sing.optimizer import SINGOptimizer


def _twin(optimizer: SINGOptimizer) -> tuple[list[dict[str, Any]], dict[Tensor, Tensor]]:
    """The groups with parameters of the same shapes in CPU memory, never touched; and whose twin each one is."""
    if not has_kernels("cpu"):
        raise RuntimeError("[sing] state files need the compiled operators, which were not found")
    origin: dict[Tensor, Tensor] = {}
    groups = []
    for group in optimizer.param_groups:
        twins = [torch.empty(each.shape, dtype=each.dtype) for each in group["params"]]
        origin.update(zip(twins, group["params"]))
        groups.append({**group, "params": twins, "lr": float(group["lr"])})
    return groups, origin


def _single(engines: EngineSet) -> NativeEngine | None:
    """The engine that can write the file itself: it has all parameters, in the order of their axes."""
    only = engines.engines[0] if len(engines.engines) == 1 else None
    if isinstance(only, NativeEngine) and all(each.is_contiguous() for each in only.parameters):
        return only
    return None


def save(optimizer: SINGOptimizer, path: str) -> None:
    engines = optimizer._ready_engines()
    engines.sync_options(optimizer.param_groups, optimizer.param_groups[0]["non_finite"])
    own = _single(engines)
    if own is not None:
        own.save(path)
        return
    engines.write_counters(optimizer.param_groups)
    groups, origin = _twin(optimizer)
    state = {twin: dict(optimizer.state[mine]) for twin, mine in origin.items() if optimizer.state.get(mine)}
    twin_engines = optimizer._built(groups, state)
    twin_engines.sync_options(groups, groups[0]["non_finite"])
    twin_engines.set_progress(engines.progress())
    twin = _single(twin_engines)
    assert twin is not None
    twin.save(path)


def load(optimizer: SINGOptimizer, path: str) -> None:
    groups, origin = _twin(optimizer)
    engines = EngineSet(optimizer._schema, groups)
    twin = _single(engines)
    assert twin is not None
    twin.load(path)
    for index, group in enumerate(groups):
        group.update(optimizer._schema.from_library(twin.options_of(index)))
        group["learning_rate_factor"] = _factor(twin)
    engines.write_counters(groups)
    state: Any = type(optimizer.state)(dict)
    for index, parameter in enumerate(twin.parameters):
        # Of what load() made for the file, what the file held: nothing before the first update.
        found = twin.state_of(index)
        if found and int(found["step"]) > 0:
            state[origin[parameter]] = found
    loaded = [{**group, "params": mine["params"]} for group, mine in zip(groups, optimizer.param_groups)]
    built = optimizer._built(loaded, state)
    built.set_progress(engines.progress())
    for mine, group in zip(optimizer.param_groups, loaded):
        rate = mine["lr"]
        mine.update(group)
        if isinstance(rate, Tensor):
            mine["lr"] = rate.fill_(group["lr"])
    optimizer.state = state
    optimizer._engines = built


def _factor(engine: NativeEngine) -> float:
    """The learning rate's factor that a file brought, which no option shows."""
    saved = engine.save(None)
    assert saved is not None
    # tolist, because torch may be without NumPy; of the header alone, because the rest may be gigabytes.
    length = int.from_bytes(bytes(saved[:8].tolist()), "little")
    metadata = json.loads(bytes(saved[8 : 8 + length].tolist()))["__metadata__"]
    return float(json.loads(metadata["optimizer"])["learning_rate_factor"])
