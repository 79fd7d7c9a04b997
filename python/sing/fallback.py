"""The whole step in plain PyTorch: for devices without a kernel, and to check the kernels against."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from sing import plain_rules, tensor_rules
from sing.options import Schema, scalar
from sing.parameters import state_dtype
from sing.plain_rules import decayed, rectification
from sing.standardize import Standardize, Standardized, standardize_reference
from sing.tensor_rules import Group, Now, Rule, State


def _denominator(root: Tensor, group: Group, epsilon: float) -> Tensor:
    beta = group["softplus_beta"]
    return root + epsilon if beta is None else functional.softplus(root, beta=float(beta), threshold=20)


def adamw(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    gradient = decayed(weights, gradient, group, now)
    first, second = state["exp_avg"], state["exp_avg_sq"]
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    root = second.sqrt() / math.sqrt(1 - beta2**now.step)
    weights.addcdiv_(first, _denominator(root, group, group["eps"]), value=-now.rate / (1 - beta1**now.step))


def sgd(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    direction = gradient = decayed(weights, gradient, group, now)
    if group["momentum"] > 0:
        buffer = state["momentum_buffer"].mul_(group["momentum"]).add_(gradient)
        direction = gradient + group["momentum"] * buffer if group["nesterov"] else buffer
    weights.add_(direction, alpha=-now.rate)


def adabelief(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    epsilon = group["eps"]
    gradient = decayed(weights, gradient, group, now)
    first, belief = state["exp_avg"], state["exp_avg_var"]
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    surprise = gradient - first
    belief.mul_(beta2).addcmul_(surprise, surprise, value=1 - beta2).add_(epsilon)
    power = beta2**now.step
    corrected = now.rate / (1 - beta1**now.step)
    factor = rectification(beta2, now.step) if group["rectify"] else 1.0
    if factor is None:
        weights.add_(first, alpha=-corrected)
        return
    if group["rectify"]:
        corrected *= factor
        epsilon = epsilon / math.sqrt(1 - power)
    root = belief.sqrt() / math.sqrt(1 - power)
    weights.addcdiv_(first, _denominator(root, group, epsilon), value=-corrected)


def adafactor(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    rest = now.step ** -group["decay_power"]
    squares = gradient * gradient + group["square_epsilon"]
    if weights.dim() >= 2:
        rows, columns = state["exp_avg_sq_row"], state["exp_avg_sq_col"]
        rows.mul_(1 - rest).add_(squares.mean(-1), alpha=rest)
        columns.mul_(1 - rest).add_(squares.mean(-2), alpha=rest)
        moment = (rows / rows.mean(-1, keepdim=True)).unsqueeze(-1) * columns.unsqueeze(-2)
    else:
        moment = state["exp_avg_sq"].mul_(1 - rest).add_(squares, alpha=rest)
    direction = gradient / _denominator(moment.sqrt(), group, 0.0)
    rate = min(now.rate, 1 / math.sqrt(now.step)) if group["relative_step"] else now.rate
    if group["scale_parameter"]:
        rate *= max(group["scale_epsilon"], math.sqrt(scalar((weights * weights).mean())))
    size = math.sqrt(scalar((direction * direction).mean()))
    weights.mul_(1 - rate * now.decay).add_(direction, alpha=-rate / max(1.0, size / group["clip_threshold"]))


RULES: dict[str, Rule] = {
    "adamw": adamw,
    "sgd": sgd,
    "adabelief": adabelief,
    "adafactor": adafactor,
    **plain_rules.RULES,
    **tensor_rules.RULES,
}


def slots_of(rule: str, parameter: Tensor, group: Group) -> dict[str, torch.Size]:
    """The state that a parameter has under these options, and its shapes."""
    shape = parameter.shape
    own = {
        **{each: {name: shape for name in plain_rules.state_of(each, group)} for each in plain_rules.RULES},
        "adamw": {"exp_avg": shape, "exp_avg_sq": shape},
        "sgd": {"momentum_buffer": shape} if group.get("momentum") else {},
        "adabelief": {"exp_avg": shape, "exp_avg_var": shape},
        "adafactor": {"exp_avg_sq_row": shape[:-1], "exp_avg_sq_col": shape[:-2] + shape[-1:]}
        if len(shape) >= 2
        else {"exp_avg_sq": shape},
        **tensor_rules.slots(shape, group),
    }[rule]
    found: dict[str, torch.Size] = dict(own)
    if group["lookahead"]:
        found["slow"] = shape
    if group["master_weights"] and parameter.dtype in (torch.bfloat16, torch.float16):
        found["master"] = shape
    return found


class FallbackEngine:
    """Has the interface of NativeEngine. Every step waits for the device once a tensor."""

    is_native = False

    def __init__(self, schema: Schema, defaults: Group, *, warns: bool = True) -> None:
        if schema.rule not in RULES:
            raise NotImplementedError(f"[sing] rule '{schema.rule}' has no form in plain PyTorch, and no kernel serves a parameter")
        if warns:
            _warn_once()
        self.schema = schema
        self.parameters: list[Tensor] = []
        self.names: list[str] = []
        self.non_finite = defaults["non_finite"]
        self._factor = 1.0
        self._groups: list[Group] = []
        self._group_of: list[int] = []
        self._steps: list[Tensor] = []
        self._states: list[State] = []
        self._norms: list[float] = []
        self._curvatures: dict[int, Tensor] = {}
        self._progress = torch.zeros(3, dtype=torch.int64)
        self._fast: list[Tensor] | None = None

    def add_group(self, parameters: list[Tensor], names: list[str], group: Group) -> None:
        self._groups.append(dict(group))
        self._steps.append(torch.zeros((), dtype=torch.int64))
        self.parameters += parameters
        self.names += names
        self._group_of += [len(self._groups) - 1] * len(parameters)
        self._states += [{} for _ in parameters]
        self._norms += [0.0] * len(parameters)

    def set_options(self, index: int, group: Group) -> None:
        self._groups[index] = dict(group)

    def set_learning_rate(self, index: int, rate: Tensor) -> None:
        self._groups[index]["lr"] = rate

    def clear_learning_rate_source(self, index: int) -> None:
        pass

    def set_shared(self, non_finite: str, factor: float) -> None:
        self.non_finite, self._factor = non_finite, factor

    def fits_memory(self) -> bool:
        return True

    def upload(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        pass

    def step(self, gradients: Sequence[Tensor | None], loss_scale: float) -> None:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            raise RuntimeError("[sing] wanted compiled kernels to capture a step in a CUDA graph, had none")
        found: dict[int, Standardized] = {}
        first_bad = None
        for i, gradient in enumerate(gradients):
            if gradient is None:
                continue
            _check_gradient(self.parameters[i], gradient, self.names[i])
            found[i] = standardize_reference(gradient, _standardize(self._groups[self._group_of[i]]), loss_scale)
            self._norms[i] = scalar(found[i].norm if found[i].norm is not None else math.nan)
            if not bool(found[i].finite):
                first_bad = i if first_bad is None else first_bad
                if self.non_finite == "skip_tensor":
                    self._progress[1] += 1
                    del found[i]
        if first_bad is not None:
            self._progress[2] = first_bad + 1
            if self.non_finite in ("skip_step", "throw"):
                self._progress[0] += 1
                if self.non_finite == "throw":
                    name = self.names[first_bad]
                    raise RuntimeError(f"[sing] wanted finite gradients, but that of '{name}' is not; the step changed nothing")
                return
        for each in self._steps:
            each += 1
        total = math.sqrt(sum(scalar(each.gradient.double().square().sum()) for each in found.values()))
        for i, standardized in found.items():
            limit = self._groups[self._group_of[i]].get("clip_norm")
            factor = limit / total if limit is not None and total > limit else 1.0
            self._update(i, standardized.gradient * factor, loss_scale)

    def set_curvature(self, curvatures: dict[int, Tensor]) -> None:
        self._curvatures = dict(curvatures)

    def _update(self, index: int, gradient: Tensor, loss_scale: float) -> None:
        group, parameter = self._groups[self._group_of[index]], self.parameters[index]
        if not self._states[index]:
            self.create_state(index)
        state = self._states[index]
        is_first = not bool(state["step"])
        working = state_dtype(parameter.dtype)
        weights = state.get("master", parameter if parameter.dtype == working else parameter.to(working))
        if is_first:
            for key in ("master", "slow"):
                if key in state:
                    state[key].copy_(parameter)
        state["step"] += 1
        decay = group["weight_decay"] if parameter.dim() >= 2 or group["decay_vectors"] else 0.0
        rate = scalar(group["lr"]) * self._factor
        curvature = self._curvatures.get(index)
        now = Now(int(state["step"]), rate, decay, None if curvature is None else curvature.to(working) / loss_scale)
        RULES[self.schema.rule](weights, gradient.to(working), state, group, now)
        if group["lookahead"] and int(self._steps[self._group_of[index]]) % group["lookahead_period"] == 0:
            alpha = group["lookahead_alpha"]
            weights.mul_(alpha).add_(state["slow"], alpha=1 - alpha)
            state["slow"].copy_(weights)
        if weights is not parameter:
            parameter.copy_(weights)

    def create_state(self, index: int) -> None:
        if self._states[index]:
            return
        parameter, group = self.parameters[index], self._groups[self._group_of[index]]
        dtype = state_dtype(parameter.dtype)
        state: State = {"step": torch.zeros((), dtype=torch.int64)}
        for key, shape in slots_of(self.schema.rule, parameter, group).items():
            alike = shape == parameter.shape
            state[key] = torch.zeros_like(parameter, dtype=dtype) if alike else parameter.new_zeros(shape, dtype=dtype)
        self._states[index] = state

    def state_of(self, index: int) -> State:
        return self._states[index]

    def group_step(self, index: int) -> Tensor:
        return self._steps[index]

    def progress(self) -> Tensor:
        return self._progress

    def write_found_inf(self, found: dict[torch.device, Tensor]) -> None:
        if int(self._progress[2]) > 0:
            found[self.parameters[int(self._progress[2]) - 1].device].fill_(1)

    def check_status(self) -> None:
        pass

    def gradient_norms(self) -> list[float]:
        return list(self._norms)

    def use_slow_weights(self, slow: bool) -> None:
        if slow:
            self._fast = [each.detach().clone() for each in self.parameters]
        for i, (each, fast, state) in enumerate(zip(self.parameters, self._fast or [], self._states)):
            if not state or not bool(state["step"]):
                continue
            group = self._groups[self._group_of[i]]
            average = state.get("slow")
            if average is None:
                average = tensor_rules.average_of(state.get("master", fast).to(state_dtype(each.dtype)), state, group)
            if average is not None:
                each.copy_(average if slow else fast)
        self._fast = self._fast if slow else None


def _standardize(group: Group) -> Standardize:
    return Standardize(
        bool(group["centralize"]),
        int(group["centralize_axis"]),
        group["normalize"],
        float(group["norm_epsilon"]),
        float(group["reference_size"]),
    )


def _check_gradient(parameter: Tensor, gradient: Tensor, name: str) -> None:
    who = f"[sing] parameter '{name}':"
    if gradient.layout != torch.strided:
        raise ValueError(f"{who} wanted a dense gradient, got a sparse one")
    if gradient.shape != parameter.shape:
        raise ValueError(f"{who} wanted a gradient of shape {list(parameter.shape)}, got one of shape {list(gradient.shape)}")
    if not gradient.is_floating_point() or (gradient.dtype == torch.float64) != (parameter.dtype == torch.float64):
        raise ValueError(f"{who} a {parameter.dtype} parameter cannot take a {gradient.dtype} gradient")


_warned = False


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "[sing] no compiled kernel for some parameters (their device or memory layout): their steps are taken in plain "
            "PyTorch, right but slower",
            stacklevel=2,
        )
