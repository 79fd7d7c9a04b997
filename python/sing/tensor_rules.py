"""Rules that look at a whole tensor before they update its elements, in plain PyTorch, and the words of all such rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sing.options import scalar

Group = dict[str, Any]
State = dict[str, Tensor]


class Now(NamedTuple):
    """What changes from step to step, resolved for one tensor."""

    step: int  # of this parameter, from 1
    rate: float
    decay: float  # 0 where the tensor is not decayed
    curvature: Tensor | None = None  # loss scale removed


# Changes weights and state by one step of the gradient.
Rule = Callable[[Tensor, Tensor, State, Group, Now], None]


def _split_decay(weights: Tensor, gradient: Tensor, group: Group, now: Now) -> Tensor:
    """Decays the weights themselves, or gives the gradient with its share of decay."""
    if group["decoupled_decay"]:
        weights.mul_(1 - now.rate * now.decay)
        return gradient
    return gradient + now.decay * weights


def lamb(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    first, second = state["exp_avg"], state["exp_avg_sq"]
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    direction, root = first, second.sqrt()
    if group["bias_correction"]:
        direction, root = first / (1 - beta1**now.step), root / math.sqrt(1 - beta2**now.step)
    direction = _split_decay(weights, direction / (root + group["eps"]), group, now)
    rate = now.rate
    if group["always_adapt"] or now.decay != 0:
        weight_norm, norm = scalar(weights.norm()), scalar(direction.norm())
        if group["norm_limit"] is not None:
            weight_norm = min(weight_norm, group["norm_limit"])
        rate *= weight_norm / norm if weight_norm > 0 and norm > 0 else 1.0
    weights.add_(direction, alpha=-rate)


def lars(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    norm = scalar(gradient.norm())
    inside = 0.0 if group["decoupled_decay"] else now.decay
    direction = _split_decay(weights, gradient, group, now)
    weight_norm = scalar(weights.norm())
    if (group["always_adapt"] or now.decay != 0) and weight_norm > 0 and norm > 0:
        direction = direction * (group["trust_coefficient"] * weight_norm / (norm + inside * weight_norm + group["eps"]))
    if group["momentum"] > 0:
        buffer = state["momentum_buffer"].mul_(group["momentum"]).add_(direction)
        direction = direction + group["momentum"] * buffer if group["nesterov"] else buffer
    weights.add_(direction, alpha=-now.rate)


def adanorm(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    gradient = _split_decay(weights, gradient, group, now)
    norm = gradient.norm()
    usual = state["exp_grad_norm"].mul_(group["norm_decay"]).add_(norm, alpha=1 - group["norm_decay"])
    stretch = scalar(usual / norm) if bool(norm > 0) and bool(usual > norm) else 1.0
    state["exp_avg"].mul_(beta1).add_(gradient, alpha=(1 - beta1) * stretch)
    state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2).add_(group["eps"])
    root = state["exp_avg_sq"].sqrt() / math.sqrt(1 - beta2**now.step)
    weights.addcdiv_(state["exp_avg"], root + group["eps"], value=-now.rate / (1 - beta1**now.step))


def schedule_free_adamw(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    fast, second = state["z"], state["exp_avg_sq"]
    if now.step == 1:
        fast.copy_(weights)
    rate = now.rate * min(1.0, now.step / max(1, group["own_warmup_steps"]))
    largest = state["lr_max"].clamp_(min=rate)
    weight = now.step ** group["step_power"] * scalar(largest) ** group["rate_power"]
    total = scalar(state["weight_sum"].add_(weight))
    share = weight / total if total > 0 else 0.0
    if not group["decoupled_decay"]:
        gradient = gradient + now.decay * weights
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    direction = gradient / (second.sqrt() / math.sqrt(1 - beta2**now.step) + group["eps"])
    if group["decoupled_decay"]:
        direction = direction + now.decay * weights
    weights.lerp_(fast, share).add_(direction, alpha=-rate * (1 - beta1 * (1 - share)))
    fast.sub_(direction, alpha=rate)


def _orthogonalized(matrix: Tensor, group: Group) -> Tensor:
    a, b, c = group["newton_a"], group["newton_b"], group["newton_c"]
    turned = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide: Tensor = turned / turned.norm().clamp(min=group["norm_floor"])
    for _ in range(group["newton_steps"]):
        gram = wide @ wide.T
        wide = a * wide + (b * gram + c * gram @ gram) @ wide
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T


def muon(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    buffer = state["momentum_buffer"]
    weights.mul_(1 - now.rate * now.decay)
    if "exp_avg_sq" not in state:
        momentum = group["momentum"]
        buffer.lerp_(gradient, 1 - momentum)
        direction = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
        rows, columns = weights.shape[0], weights.numel() // max(1, weights.shape[0])
        if weights.numel() > 0:
            factor = math.sqrt(max(1.0, rows / columns))
            if group["rate_adjustment"] == "match_rms_adamw":
                factor = 0.2 * math.sqrt(max(rows, columns))
            orthogonal = _orthogonalized(direction.reshape(rows, columns), group)
            weights.add_(orthogonal.reshape(weights.shape), alpha=-now.rate * factor)
        return
    beta1, beta2 = group["betas"]
    buffer.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    root = second.sqrt() / math.sqrt(1 - beta2**now.step)
    weights.addcdiv_(buffer, root + group["eps"], value=-now.rate / (1 - beta1**now.step))


def adahessian(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    beta1, beta2 = group["betas"]
    curvature = gradient if now.curvature is None else now.curvature
    gradient = _split_decay(weights, gradient, group, now)
    state["exp_avg"].mul_(beta1).add_(gradient, alpha=1 - beta1)
    second = state["exp_hessian_diag_sq"].mul_(beta2).addcmul_(curvature, curvature, value=1 - beta2)
    root = second.sqrt() / math.sqrt(1 - beta2**now.step)
    denominator = (root.sqrt() if group["half_power"] else root) + group["eps"]
    weights.addcdiv_(state["exp_avg"], denominator, value=-now.rate / (1 - beta1**now.step))


RULES: dict[str, Rule] = {
    "lamb": lamb,
    "lars": lars,
    "adanorm": adanorm,
    "schedule_free_adamw": schedule_free_adamw,
    "muon": muon,
    "adahessian": adahessian,
}


def average_of(weights: Tensor, state: State, group: Group) -> Tensor | None:
    """The average that a rule keeps of the weights, where it keeps one."""
    return weights.lerp(state["z"], 1 - 1 / group["betas"][0]) if "z" in state else None


def slots(shape: torch.Size, group: Group) -> dict[str, dict[str, torch.Size]]:
    """The state of each rule's parameter under these options, and its shapes."""
    return {
        "lamb": {"exp_avg": shape, "exp_avg_sq": shape},
        "lars": {"momentum_buffer": shape} if group.get("momentum") else {},
        "adanorm": {"exp_avg": shape, "exp_avg_sq": shape, "exp_grad_norm": torch.Size()},
        "schedule_free_adamw": {"z": shape, "exp_avg_sq": shape, "lr_max": torch.Size(), "weight_sum": torch.Size()},
        "muon": {"momentum_buffer": shape}
        if len(shape) >= 2 and group.get("orthogonalize")
        else {"momentum_buffer": shape, "exp_avg_sq": shape},
        "adahessian": {"exp_avg": shape, "exp_hessian_diag_sq": shape},
    }
