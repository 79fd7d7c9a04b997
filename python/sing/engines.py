"""Which engine steps which parameter, and the state that they share with the optimizer's dictionary."""

from __future__ import annotations

import operator
from collections.abc import MutableMapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from sing.fallback import FallbackEngine
from sing.native import NativeEngine, has_kernels
from sing.options import Schema, scalar
from sing.parameters import check_parameter, names_of, suits_kernels

Group = dict[str, Any]
State = MutableMapping[Tensor, dict[str, Any]]
Engine = NativeEngine | FallbackEngine
_END = object()


class EngineSet:
    """One engine for each device, and one in plain PyTorch for what the kernels do not serve. All of them have every group."""

    def __init__(self, schema: Schema, groups: list[Group], *, native: bool = True) -> None:
        self.schema = schema
        self.engines: list[Engine] = []
        self._native = native
        self._by_place: dict[torch.device | None, Engine] = {}
        self._counts: list[int] = []  # of each group's parameters, as the engines know them
        self._unpublished: list[tuple[Engine, int]] = []
        self._expected: list[Any] = [_END]
        self._keys = operator.itemgetter(*(key for key, _ in schema.keyword_fields()))
        self._values: list[Any] = []
        names = names_of(groups)
        for group, group_names in zip(groups, names):
            self._add_group(groups, group, group_names)

    def _place_of(self, parameter: Tensor, group: Group) -> torch.device | None:
        is_served = self._native and has_kernels(parameter.device.type)
        return parameter.device if is_served and suits_kernels(parameter, group, self.schema.rule) else None

    def _engine_at(self, place: torch.device | None, groups: list[Group]) -> Engine:
        engine = self._by_place.get(place)
        if engine is None:
            engine = (
                FallbackEngine(self.schema, groups[0], warns=self._native)
                if place is None
                else NativeEngine(place, self.schema, groups[0])
            )
            for group in groups[: len(self._counts)]:
                engine.add_group([], [], group)
            self._by_place[place] = engine
            self.engines.append(engine)
        return engine

    def _add_group(self, groups: list[Group], group: Group, names: list[str]) -> None:
        parts: dict[torch.device | None, tuple[list[Tensor], list[str]]] = {}
        for parameter, name in zip(group["params"], names):
            check_parameter(parameter, name)
            part = parts.setdefault(self._place_of(parameter, group), ([], []))
            part[0].append(parameter)
            part[1].append(name)
        for place in parts:
            self._engine_at(place, groups)
        for place, engine in self._by_place.items():
            parameters, part_names = parts.get(place, ([], []))
            first = len(engine.parameters)
            engine.add_group(parameters, part_names, group)
            self._unpublished += [(engine, first + i) for i in range(len(parameters))]
        self._counts.append(len(group["params"]))
        self._values.append(self._keys(group))
        self._set_learning_rate(len(self._counts) - 1, group)

    def add_new_groups(self, groups: list[Group]) -> None:
        names = names_of(groups)
        for index in range(len(self._counts), len(groups)):
            self._add_group(groups, groups[index], names[index])

    def fits(self, groups: list[Group], state: State) -> bool:
        """Whether parameters and state are those that the engines know. A few microseconds: every step asks."""
        if len(groups) < len(self._counts) or any(len(g["params"]) != n for g, n in zip(groups, self._counts)):
            return False
        found = chain(chain.from_iterable(map(dict.values, state.values())), (_END,))
        if not all(map(operator.is_, found, self._expected)):
            return False
        return all(engine.fits_memory() for engine in self.engines)

    def sync_options(self, groups: list[Group], non_finite: str) -> None:
        for index, group in enumerate(groups):
            values = self._keys(group)
            if values != self._values[index]:
                self.schema.check(group, f"sing group {index}")
                for engine in self.engines:
                    engine.set_options(index, group)
                self._values[index] = values
            self._set_learning_rate(index, group)
        if groups:
            for engine in self.engines:
                engine.set_shared(non_finite, float(groups[0]["learning_rate_factor"]))

    def _set_learning_rate(self, index: int, group: Group) -> None:
        for engine in self.engines:
            if isinstance(group["lr"], Tensor):
                engine.set_learning_rate(index, group["lr"])
            else:
                engine.clear_learning_rate_source(index)

    def take_state(self, groups: list[Group], state: State) -> None:
        """Copies what `state` and the groups' counters hold into the engines; then `state` shares the engines' memory."""
        shared: list[tuple[Tensor, dict[str, Any]]] = []
        for engine in self.engines:
            for index, parameter in enumerate(engine.parameters):
                given = state.get(parameter)
                if given:
                    shared.append((parameter, {**given, **_filled_state(engine, index, given)}))
        for index, group in enumerate(groups):
            for engine in self.engines:
                engine.group_step(index).fill_(int(scalar(group["lookahead_step"])))
        for parameter, entries in shared:
            state[parameter] = entries
        self.publish(state)

    def publish(self, state: State) -> None:
        """Puts the state of parameters that have had their first step into `state`."""
        waiting = []
        for engine, index in self._unpublished:
            own = engine.state_of(index)
            if own:
                parameter = engine.parameters[index]
                state[parameter] = {**(state.get(parameter) or {}), **own}
            else:
                waiting.append((engine, index))
        self._unpublished = waiting
        self._expected = [*chain.from_iterable(each.values() for each in state.values()), _END]

    def has_news(self) -> bool:
        """Whether a parameter that had no state may have got one in the last step."""
        return any(engine.parameters[index].grad is not None for engine, index in self._unpublished)

    def write_counters(self, groups: list[Group]) -> None:
        for index, group in enumerate(groups[: len(self._counts)]):
            if self.engines:
                group["lookahead_step"] = int(self.engines[0].group_step(index))

    def progress(self) -> list[int]:
        """Skipped steps and skipped tensors."""
        counts = [engine.progress().tolist() for engine in self.engines]
        return [max((each[0] for each in counts), default=0), sum(each[1] for each in counts)]

    def set_progress(self, counts: Sequence[int]) -> None:
        for position, engine in enumerate(self.engines):
            engine.progress()[0] = counts[0]
            engine.progress()[1] = counts[1] if position == 0 else 0


def _filled_state(engine: Engine, index: int, given: dict[str, Any]) -> dict[str, Tensor]:
    """The engine's state of a parameter after copying `given` into it."""
    engine.create_state(index)
    own = engine.state_of(index)
    name = engine.names[index]
    if "step" not in given:
        raise ValueError(f"[sing] state of parameter '{name}': wanted 'step', got only {', '.join(map(repr, given))}")
    steps = int(scalar(given["step"]))
    surplus = [key for key, value in given.items() if key not in own and isinstance(value, Tensor)]
    if surplus:
        wanted = ", ".join(map(repr, own))
        raise ValueError(f"[sing] state of parameter '{name}': wanted {wanted}, got '{surplus[0]}' too, which another rule keeps")
    for key, mine in own.items():
        value = given.get(key)
        if key == "step" or (value is None and steps == 0):
            continue
        if not isinstance(value, Tensor):
            raise ValueError(f"[sing] state of parameter '{name}': wanted '{key}', got only {', '.join(map(repr, given))}")
        if value.shape != mine.shape:
            raise ValueError(
                f"[sing] state '{key}' of parameter '{name}': wanted shape {list(mine.shape)}, got {list(value.shape)}"
            )
    own["step"].fill_(steps)
    for key, mine in own.items():
        if key != "step" and given.get(key) is not None:
            mine.copy_(given[key])
    return own
