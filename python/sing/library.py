"""The library's optimizer over all parameters of a sing.Optimizer, and the state that the two share."""

from __future__ import annotations

import json
import operator
import weakref
from collections.abc import Collection, MutableMapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from sing.operators import operators, require
from sing.options import COUNTER, STATE_NAMES, Schema, scalar, steps_of
from sing.parameters import check_parameter, kernel_device, names_of
from sing.sharding import Parts, ShardSums, copy_state, is_dtensor, local, placed_as, state_like

Group = dict[str, Any]
State = MutableMapping[Tensor, dict[str, Any]]

_CPU = torch.device("cpu")
_END = object()


def _kind_of(parameter: Tensor) -> tuple[Any, ...]:
    part = local(parameter)
    return part.device, part.dtype, part.shape, part.stride(), getattr(parameter, "placements", None)


class LibraryOptimizer:
    """One optimizer of the library; its groups are those of the sing.Optimizer, and parameters are numbered across all groups.

    The kernels take a parameter in any order of its axes. A parameter that they cannot step in place (it has gaps in memory,
    the rule needs another order, or its device has no kernels) is stepped through a contiguous copy, to which the state belongs.
    State and counters are torch's memory: `state_of` gives tensors that share it.
    """

    def __init__(self, schema: Schema, groups: list[Group]) -> None:
        require(schema.where)
        self.schema = schema
        self.parameters: list[Tensor] = []
        self.names: list[str] = []
        # The tensor that the library has for each parameter: the parameter or its local part, detached, or a copy.
        self._served: list[Tensor] = []
        self._copies: list[tuple[Tensor, Tensor]] = []  # parameters and their copies
        self._addresses: list[int] = []
        self._kinds: list[tuple[Any, ...]] = []
        self._present: list[int] | None = None  # indices of the parameters that have a gradient, as last passed to the library
        self._groups: list[Group] = []
        self._counts: list[int] = []  # parameters per group
        self._overrides: list[dict[str, Any]] = []
        self._learning_rates: list[Tensor | None] = []  # that the library reads at each step
        self._keys = operator.itemgetter(*(key for key, _ in schema.keyword_fields()))
        self._values: list[Any] = []  # each group's options when they were last handed over
        self._unpublished: list[int] = []  # parameters that had no state when last asked
        self._expected: list[Any] = [_END]  # every tensor in the sing.Optimizer's state
        self._devices: list[torch.device] = []
        self._progress: list[Tensor] = []  # per device: skipped steps, skipped tensors, first non-finite tensor
        self._has_cuda = False
        self._factor = 1.0
        first = groups[0] if groups else schema.defaults()
        self._non_finite: str = first["non_finite"]
        start = {"rule": schema.rule, **schema.overrides(first), "non_finite": self._non_finite}
        self._handle: int = operators.create(schema.where, json.dumps(start))
        weakref.finalize(self, operators.destroy, self._handle)
        self._parts = Parts(schema.where)
        self.shard_sums = ShardSums()
        self._step = operators.step
        self.add_new_groups(groups)

    # Parameters

    def add_new_groups(self, groups: list[Group]) -> None:
        if len(groups) == len(self._groups):
            return
        names = names_of(groups)
        for index in range(len(self._groups), len(groups)):
            self._add_group(groups[index], names[index])

    def _add_group(self, group: Group, names: list[str]) -> None:
        parameters: list[Tensor] = list(group["params"])
        self.schema.check(group, f"{self.schema.where} group {len(self._groups)}")
        for parameter, name in zip(parameters, names):
            check_parameter(parameter, name, self.schema.where)
        served = [self._serve(parameter, name) for parameter, name in zip(parameters, names)]
        copied = [place for place, (_, is_copy) in enumerate(served) if is_copy]
        tensors = [tensor for tensor, _ in served]
        overrides = self.schema.overrides(group)
        steps = steps_of(group, COUNTER, f"{self.schema.where} group {len(self._groups)}")
        shards = self.shard_sums.describe(parameters, names, self.schema.where, self.schema.is_orthogonal)
        operators.add_group(self._handle, tensors, names, copied, shards, json.dumps(overrides))
        self._parts.add(parameters)
        if self._parts.any:
            operators.set_sum_shards(self._handle, self.shard_sums.address, self.shard_sums.on_device_address)
            operators.set_exchange_parts(self._handle, self.shard_sums.exchange_address)
        self._devices = [torch.device(each) for each in operators.devices(self._handle).split(",")]
        self._progress = [operators.device_progress(self._handle, i).view(torch.int64) for i in range(len(self._devices))]
        self._has_cuda = any(each.type == "cuda" for each in self._devices)
        first = len(self.parameters)
        self._unpublished += range(first, first + len(parameters))
        for index, parameter in enumerate(parameters, first):
            if is_dtensor(parameter):
                operators.create_state(self._handle, index)
        self._copies += [(parameters[place], tensors[place]) for place in copied]
        self.parameters += parameters
        self.names += names
        self._served += tensors
        self._addresses += [local(each).data_ptr() for each in parameters]
        self._kinds += [_kind_of(each) for each in parameters]
        self._present = None
        self._groups.append(group)
        self._counts.append(len(parameters))
        self._overrides.append(overrides)
        self._learning_rates.append(None)
        self._values.append(self._keys(group))
        index = len(self._groups) - 1
        self._set_learning_rate(index, group["lr"])
        operators.set_group_steps(self._handle, index, steps)

    def _serve(self, parameter: Tensor, name: str) -> tuple[Tensor, bool]:
        """The tensor that the kernels work on, and whether it is a copy of the parameter."""
        part = local(parameter).detach()
        device = kernel_device(part, name, self.schema.where)
        has_order = operators.takes_order(part, self.schema.rule)
        if is_dtensor(parameter) and self.schema.is_orthogonal:
            has_order = has_order and part.is_contiguous()
        if device == part.device and has_order:
            return part, False
        return torch.empty(part.shape, dtype=part.dtype, device=device), True

    def fits(self, groups: list[Group], state: State) -> bool:
        """Returns whether the library has these groups, parameters and state. Every step asks, so it must take only microseconds."""
        if len(groups) < len(self._groups) or any(len(g["params"]) != n for g, n in zip(groups, self._counts)):
            return False
        known = groups[: len(self._counts)]
        if not all(map(operator.is_, known, self._groups)):
            return False  # another group has its own counter, even over the same parameters
        if not all(map(operator.is_, chain.from_iterable(group["params"] for group in known), self.parameters)):
            return False
        found = chain(chain.from_iterable(map(dict.values, state.values())), (_END,))
        return all(map(operator.is_, found, self._expected)) and self._fits_memory()

    def _fits_memory(self) -> bool:
        """False if a parameter has changed device, type or layout."""
        addresses = [each.data_ptr() for each in self._parts.of_parameters(self.parameters)]
        if addresses == self._addresses:
            return True
        if [_kind_of(each) for each in self.parameters] != self._kinds:
            return False
        copied = {id(parameter) for parameter, _ in self._copies}
        self._served = [
            served if id(parameter) in copied else local(parameter).detach()
            for parameter, served in zip(self.parameters, self._served)
        ]
        operators.find_data(self._handle, self._served)
        self._addresses = addresses
        return True

    # Options

    def sync_options(self, groups: list[Group], non_finite: str) -> None:
        """Hands over what has changed in the groups since the last step."""
        for index, group in enumerate(groups):
            values = self._keys(group)
            if values != self._values[index]:
                self.schema.check(group, f"{self.schema.where} group {index}")
                self._set_options(index, self.schema.overrides(group))
                self._values[index] = values
            self._set_learning_rate(index, group["lr"])
        if non_finite != self._non_finite:
            operators.set_non_finite(self._handle, non_finite)
            self._non_finite = non_finite
        factor = float(groups[0]["learning_rate_factor"])
        if factor != self._factor:
            operators.set_learning_rate_factor(self._handle, factor)
            self._factor = factor

    def _set_options(self, index: int, overrides: dict[str, Any]) -> None:
        known = self._overrides[index]
        changed = {key: value for key, value in overrides.items() if known.get(key, ...) != value}
        if list(changed) == ["learning_rate"]:
            operators.set_learning_rate(self._handle, index, changed["learning_rate"])
        elif changed:
            operators.set_options(self._handle, index, json.dumps(changed))
        self._overrides[index] = {**known, **changed}

    def _set_learning_rate(self, index: int, rate: Tensor | float) -> None:
        """A float32 tensor on a CUDA device of the parameters is read there, by replays of a captured graph too."""
        if not isinstance(rate, Tensor):
            if self._learning_rates[index] is not None:
                operators.set_learning_rate_source(self._handle, index, None)
                self._learning_rates[index] = None
            return
        if rate.is_cuda and rate.dtype == torch.float32 and rate.device in self._devices:
            if self._learning_rates[index] is not rate:
                operators.set_learning_rate_source(self._handle, index, rate)
                self._learning_rates[index] = rate
            if len(self._devices) == 1:
                return
        self._set_options(index, {"learning_rate": scalar(rate)})

    def options_of(self, index: int) -> dict[str, Any]:
        """A group's options under the library's names."""
        return json.loads(operators.options(self._handle, index))  # type: ignore[no-any-return]

    # The step

    def step(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        copies = [(parameter, copy) for parameter, copy in self._copies if parameter.grad is not None]
        for parameter, copy in copies:
            copy.copy_(local(parameter))
        selected = self._select(gradients)
        try:
            self._step(self._handle, selected, loss_scale, self._streams())
        except RuntimeError:
            self.shard_sums.raise_failure()
            raise
        for parameter, copy in copies:
            local(parameter).copy_(copy)

    def upload(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        operators.upload(self._handle, self._select(gradients), loss_scale, self._streams())

    def gradients(self) -> list[Tensor | None]:
        """The gradients of all parameters, as they are."""
        return self._parts.gradients_of(self.parameters)

    def _select(self, gradients: Sequence[Tensor | None]) -> list[Tensor]:
        gradients = self._parts.of_gradients(gradients, self.parameters, self.names)
        found = [each for each in gradients if each is not None]
        if self._present is None or len(found) != len(self._present) or len(found) != len(gradients):
            present = [i for i, each in enumerate(gradients) if each is not None]
            if present != self._present:
                operators.select(self._handle, present)
                self._present = present
        return found

    def _streams(self) -> list[int]:
        if not self._has_cuda:
            return []
        return [torch.cuda.current_stream(each).cuda_stream if each.type == "cuda" else 0 for each in self._devices]

    def set_curvature(self, curvatures: dict[int, Tensor]) -> None:
        found = [
            local(placed_as(self.parameters[index], each, f"[{self.schema.where}] curvature of '{self.names[index]}'"))
            for index, each in curvatures.items()
        ]
        operators.set_curvature(self._handle, list(curvatures), found)

    def use_slow_weights(self, slow: bool) -> None:
        for parameter, copy in self._copies:
            copy.copy_(local(parameter))
        (operators.use_slow_weights if slow else operators.use_fast_weights)(self._handle)
        for parameter, copy in self._copies:
            local(parameter).copy_(copy)

    # State

    def take_state(self, state: State, anew: Collection[Tensor] = ()) -> None:
        """Copies what `state` holds into the library; then `state` shares the library's memory.

        The state of parameters in `anew` may lack slow and master weights, which are then the parameter.
        """
        shared = [
            (parameter, {**given, **self._filled(index, given, parameter in anew)})
            for index, parameter in enumerate(self.parameters)
            if (given := state.get(parameter))
        ]
        for parameter, entries in shared:
            state[parameter] = entries
        self.publish(state)

    def _filled(self, index: int, given: dict[str, Any], is_anew: bool) -> dict[str, Tensor]:
        """The library's state of a parameter after copying `given` into it."""
        operators.create_state(self._handle, index)
        own = self.state_of(index)
        where = f"{self.schema.where} state of parameter '{self.names[index]}'"
        if "step" not in given:
            raise ValueError(f"[{where}] wanted 'step', got only {', '.join(map(repr, given))}")
        steps = steps_of(given, "step", where)
        if is_anew:
            weights = given.get("master", self.parameters[index].detach())
            given = {**{key: weights for key in ("master", "slow") if key in own}, **given}
        surplus = [key for key, value in given.items() if key not in own and isinstance(value, Tensor)]
        if surplus:
            raise ValueError(f"[{where}] wanted {', '.join(map(repr, own))}, got '{surplus[0]}' too, which another rule keeps")
        for key, mine in own.items():
            value = given.get(key)
            if key == "step" or (value is None and steps == 0):
                continue
            if not isinstance(value, Tensor):
                raise ValueError(f"[{where}] wanted '{key}', got only {', '.join(map(repr, given))}")
            if value.shape != mine.shape:
                raise ValueError(f"[{where}] wanted '{key}' of shape {list(mine.shape)}, got {list(value.shape)}")
        own["step"].fill_(steps)
        for key, mine in own.items():
            if key != "step" and given.get(key) is not None:
                copy_state(mine, given[key])
        return own

    def create_state(self) -> None:
        """Allocates the state of every parameter, which otherwise happens in its first step."""
        for index in range(len(self.parameters)):
            operators.create_state(self._handle, index)

    def state_of(self, index: int) -> dict[str, Tensor]:
        """A parameter's state, which shares the library's memory; empty before its first step."""
        memory, about = operators.state(self._handle, index)
        if not memory:
            return {}
        served = self._served[index]
        found = {"step": operators.progress(self._handle, index).view(torch.int64)[0]}
        for flat, (slot, dtype, shape) in zip(memory, json.loads(about)):
            typed = flat.view(getattr(torch, dtype))
            is_alike = shape == list(served.shape)
            part = typed.as_strided(shape, served.stride()) if is_alike else typed.view(shape)
            found[STATE_NAMES.get(slot, slot)] = state_like(self.parameters[index], slot, part)
        return found

    def publish(self, state: State) -> None:
        """Puts the state of parameters that have had their first step into `state`."""
        waiting = []
        for index in self._unpublished:
            own = self.state_of(index)
            if own:
                parameter = self.parameters[index]
                state[parameter] = {**(state.get(parameter) or {}), **own}
            else:
                waiting.append(index)
        self._unpublished = waiting
        self._expected = [*chain.from_iterable(each.values() for each in state.values()), _END]

    def has_news(self) -> bool:
        """Returns whether a parameter without state may have received some in the last step."""
        return any(self.parameters[index].grad is not None for index in self._unpublished)

    # Counters

    def write_counters(self) -> None:
        """Copies LookAhead's step counts into the optimizer's groups."""
        for index, group in enumerate(self._groups):
            group[COUNTER] = operators.group_steps(self._handle, index)

    def restart_lookahead_steps(self) -> None:
        for index in range(len(self._groups)):
            operators.set_group_steps(self._handle, index, 0)

    def count_skipped_step(self) -> None:
        self._progress[0][0] += 1

    def skipped(self) -> list[int]:
        """Skipped steps and skipped tensors. Waits for the devices."""
        counts = [each[:2].tolist() for each in self._progress]
        return [sum(each) for each in zip(*counts)]

    def set_skipped(self, counts: Sequence[int]) -> None:
        operators.set_skipped(self._handle, *counts)

    def check_status(self) -> None:
        """Raises the error of a step on a device, if the policy is to raise."""
        operators.status(self._handle)

    def forget_non_finite(self) -> None:
        """Clears what `write_found_inf` reads, without waiting for a device."""
        for each in self._progress:
            each[2].zero_()

    def write_found_inf(self, found: dict[torch.device, Tensor]) -> None:
        """Sets each device's flag if a gradient there was not finite since forget_non_finite(), without waiting."""
        by_device = dict(zip(self._devices, self._progress))
        for device, flag in found.items():
            progress = by_device.get(device, by_device.get(_CPU))
            if progress is not None:
                flag.copy_(progress[2] != 0)

    def gradient_norms(self) -> list[float]:
        return operators.gradient_norms(self._handle)  # type: ignore[no-any-return]

    # Files

    def save(self, path: str) -> None:
        self._refuse_dtensors("save()")
        operators.save(self._handle, path)

    def load(self, path: str) -> None:
        """Replaces options, counters and state by the file's. The caller then has to read the options and publish the state."""
        self._refuse_dtensors("load()")
        operators.load(self._handle, path)
        self._unpublished = list(range(len(self.parameters)))
        self._overrides = [self.options_of(index) for index in range(len(self._groups))]
        self._factor = operators.learning_rate_factor(self._handle)
        self._non_finite = self._overrides[0]["non_finite"]

    def _refuse_dtensors(self, what: str) -> None:
        if self._parts.any:
            raise TypeError(
                f"[{self.schema.where}] wanted whole tensors for {what}, got DTensors, of which this process has parts; use "
                "torch.distributed.checkpoint with get_optimizer_state_dict() and set_optimizer_state_dict()"
            )

    @property
    def learning_rate_factor(self) -> float:
        return self._factor
