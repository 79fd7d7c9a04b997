"""The compiled operators, and an engine that keeps one optimizer of the library for the parameters of one device."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sing.options import Schema, scalar
from sing.parameters import memory_order

STATE_NAMES = {
    "first_moment": "exp_avg",
    "second_moment": "exp_avg_sq",
    "largest_second_moment": "max_exp_avg_sq",
    "mean_step_size": "exp_avg_lr",
    "belief": "exp_avg_var",
    "momentum": "momentum_buffer",
    "row_second_moment": "exp_avg_sq_row",
    "column_second_moment": "exp_avg_sq_col",
    "gradient_norm": "exp_grad_norm",
    "fast": "z",
    "largest_rate": "lr_max",
    "curvature_moment": "exp_hessian_diag_sq",
    "slow": "slow",
    "master": "master",
}


def _library_paths() -> list[pathlib.Path]:
    package = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("SING_OPERATORS")
    if given is not None:
        return [pathlib.Path(given)] if given else []
    return [package / "_operators.so", package.parent.parent / "build" / "dev" / "python" / "_operators.so"]


@functools.cache
def load_operators() -> bool:
    """Loads the operators once. Looked for: $SING_OPERATORS (empty: none), beside the package, build/dev of the source tree."""
    path = next((each for each in _library_paths() if each.is_file()), None)
    if path is None:
        return False
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        warnings.warn(f"[sing] {path.name} does not load, steps are taken in plain PyTorch: {error}", stacklevel=2)
        return False
    return True


class _Operators:
    """torch.ops.sing with the library's complaints about arguments as ValueError."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = getattr(torch.ops.sing, name).default

        def call(*arguments: Any) -> Any:
            try:
                return operator(*arguments)
            except RuntimeError as error:
                kind, _, message = str(error).partition(": ")
                if kind == "ValueError":
                    raise ValueError(message) from None
                raise

        setattr(self, name, call)
        return call


operators = _Operators()


@functools.cache
def has_kernels(device_type: str) -> bool:
    return load_operators() and bool(operators.has_kernels(device_type))


def _kind_of(parameter: Tensor) -> tuple[Any, ...]:
    return parameter.device, parameter.dtype, parameter.shape, parameter.stride()


class NativeEngine:
    """An optimizer of the library over the parameters of one device; each Python group is one of its groups.

    What it keeps is torch's memory: `state_of` gives tensors that share it.
    """

    is_native = True

    def __init__(self, device: torch.device, schema: Schema, defaults: dict[str, Any]) -> None:
        self.device = device
        self.schema = schema
        self.parameters: list[Tensor] = []
        self.names: list[str] = []
        self._groups: list[tuple[int, ...]] = []
        self._overrides: list[dict[str, Any]] = []
        self._sources: list[Tensor | None] = []
        self._addresses: list[int] = []
        self._kinds: list[tuple[Any, ...]] = []
        self._present: list[int] | None = None
        self._factor = 1.0
        self.non_finite = defaults["non_finite"]
        start = {"rule": schema.rule, **schema.overrides(defaults), "non_finite": self.non_finite}
        self._handle: int = operators.create(device.type, device.index or 0, json.dumps(start))
        weakref.finalize(self, operators.destroy, self._handle)
        self._step = operators.step

    def add_group(self, parameters: list[Tensor], names: list[str], group: dict[str, Any]) -> None:
        overrides = self.schema.overrides(group)
        views = [each.detach().permute(memory_order(each) or ()) for each in parameters]
        plain = [each.detach() for each in parameters]
        operators.add_group(self._handle, plain, views, names, json.dumps(overrides))
        first = len(self.parameters)
        self._groups.append(tuple(range(first, first + len(parameters))))
        self.parameters += parameters
        self.names += names
        self._addresses += [each.data_ptr() for each in parameters]
        self._kinds += [_kind_of(each) for each in parameters]
        self._overrides.append(overrides)
        self._sources.append(None)
        self._present = None

    def set_options(self, index: int, group: dict[str, Any]) -> None:
        overrides = self.schema.overrides(group)
        changed = {key: value for key, value in overrides.items() if self._overrides[index].get(key, ...) != value}
        if list(changed) == ["learning_rate"]:
            operators.set_learning_rate(self._handle, index, overrides["learning_rate"])
        elif changed:
            operators.set_options(self._handle, index, json.dumps(changed))
        self._overrides[index] = {**self._overrides[index], **overrides}

    def set_learning_rate(self, index: int, rate: Tensor) -> None:
        """A tensor on this device is read at every step, and by replays of a captured graph; another one now."""
        if rate.device == self.device and self.device.type == "cuda" and rate.dtype == torch.float32:
            if self._sources[index] is not rate:
                operators.set_learning_rate_source(self._handle, index, rate)
                self._sources[index] = rate
            return
        value = scalar(rate)
        if self._overrides[index].get("learning_rate") != value:
            operators.set_learning_rate(self._handle, index, value)
            self._overrides[index]["learning_rate"] = value

    def clear_learning_rate_source(self, index: int) -> None:
        if self._sources[index] is not None:
            operators.set_learning_rate_source(self._handle, index, None)
            self._sources[index] = None

    def set_shared(self, non_finite: str, factor: float) -> None:
        if non_finite != self.non_finite:
            operators.set_non_finite(self._handle, non_finite)
            self.non_finite = non_finite
        if factor != self._factor:
            operators.set_learning_rate_factor(self._handle, factor)
            self._factor = factor

    def fits_memory(self) -> bool:
        """False if a parameter has changed device, type or layout: then the engine must be made anew."""
        addresses = [each.data_ptr() for each in self.parameters]
        if addresses == self._addresses:
            return True
        if [_kind_of(each) for each in self.parameters] != self._kinds:
            return False
        operators.find_data(self._handle, [each.detach() for each in self.parameters])
        self._addresses = addresses
        return True

    def _select(self, gradients: Sequence[Tensor | None]) -> list[Tensor]:
        found = [each for each in gradients if each is not None]
        if self._present is None or len(found) != len(self._present) or len(found) != len(gradients):
            present = [i for i, each in enumerate(gradients) if each is not None]
            if present != self._present:
                operators.select(self._handle, present)
                self._present = present
        return found

    def _stream(self) -> int:
        return torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else 0

    def step(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        self._step(self._handle, self._select(gradients), loss_scale, self._stream())

    def upload(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        operators.upload(self._handle, self._select(gradients), loss_scale, self._stream())

    def set_curvature(self, curvatures: dict[int, Tensor]) -> None:
        operators.set_curvature(self._handle, list(curvatures), list(curvatures.values()))

    def create_state(self, index: int) -> None:
        operators.create_state(self._handle, index)

    def state_of(self, index: int) -> dict[str, Tensor]:
        """The parameter's state, sharing the library's memory; empty before its first step."""
        memory, about = operators.state(self._handle, index)
        if not memory:
            return {}
        parameter = self.parameters[index]
        order = memory_order(parameter) or ()
        laid_out = [parameter.shape[axis] for axis in order]
        found = {"step": operators.progress(self._handle, index).view(torch.int64)[0]}
        for flat, (slot, dtype, shape) in zip(memory, json.loads(about)):
            typed = flat.view(getattr(torch, dtype))
            is_alike = shape == laid_out
            found[STATE_NAMES.get(slot, slot)] = (
                typed.as_strided(parameter.shape, parameter.stride()) if is_alike else typed.view(shape)
            )
        return found

    def group_step(self, index: int) -> Tensor:
        return operators.group_progress(self._handle, index).view(torch.int64)[0]  # type: ignore[no-any-return]

    def progress(self) -> Tensor:
        """skipped_steps, skipped_tensors, first_non_finite: the library's own counters."""
        return operators.optimizer_progress(self._handle).view(torch.int64)  # type: ignore[no-any-return]

    def write_found_inf(self, found: dict[torch.device, Tensor]) -> None:
        """Whether a gradient was not finite since first_non_finite was last cleared, without waiting for the device."""
        if self.device in found:
            found[self.device].copy_(self.progress()[2] != 0)

    def check_status(self) -> None:
        """Raises what a step on the device has found, where the policy is to raise."""
        operators.status(self._handle)

    def gradient_norms(self) -> list[float]:
        return operators.gradient_norms(self._handle)  # type: ignore[no-any-return]

    def use_slow_weights(self, slow: bool) -> None:
        (operators.use_slow_weights if slow else operators.use_fast_weights)(self._handle)

    def options_of(self, index: int) -> dict[str, Any]:
        return json.loads(operators.options(self._handle, index))  # type: ignore[no-any-return]

    def save(self, path: str | None) -> Tensor | None:
        if path is None:
            return operators.save_bytes(self._handle)  # type: ignore[no-any-return]
        operators.save(self._handle, path)
        return None

    def load(self, source: str | Tensor) -> None:
        if isinstance(source, str):
            operators.load(self._handle, source)
        else:
            operators.load_bytes(self._handle, source)
