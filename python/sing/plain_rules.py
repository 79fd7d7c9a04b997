"""The rules of Adam's family and Lion in plain PyTorch, one step each, for sing.fallback."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from sing.tensor_rules import Group, Now, Rule, State


def decayed(weights: Tensor, gradient: Tensor, group: Group, now: Now) -> Tensor:
    """The gradient a rule goes on with: decay shrinks the weights, or joins the gradient (L2)."""
    if group["decoupled_decay"]:
        weights.mul_(1 - now.rate * now.decay)
        return gradient
    return gradient.add(weights, alpha=now.decay)


def rectification(beta2: float, step: int) -> float | None:
    """RAdam's factor of the step size; None while it is too early to divide by the root of the second moment."""
    power = beta2**step
    end = 2 / (1 - beta2) - 1
    now = end - 2 * step * power / (1 - power)
    return None if now < 5 else math.sqrt((now - 4) * (now - 2) * end / ((end - 4) * (end - 2) * now))


def _moments(gradient: Tensor, state: State, group: Group) -> tuple[Tensor, Tensor]:
    beta1, beta2 = group["betas"]
    first = state["exp_avg"].mul_(beta1).add_(gradient, alpha=1 - beta1)
    second = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    return first, second


def _corrections(group: Group, now: Now) -> tuple[float, float]:
    """1 - beta1^t and the root of 1 - beta2^t."""
    beta1, beta2 = group["betas"]
    return 1 - beta1**now.step, math.sqrt(1 - beta2**now.step)


def nadam(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    gradient = decayed(weights, gradient, group, now)
    first, second = _moments(gradient, state, group)

    def momentum(step: int) -> float:
        return float(group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"])))

    product = 1.0
    for step in range(1, now.step + 1):
        product *= momentum(step)
        if product < 1e-20:
            break
    following = momentum(now.step + 1)
    denominator = second.sqrt() / _corrections(group, now)[1] + group["eps"]
    weights.addcdiv_(gradient, denominator, value=-now.rate * (1 - momentum(now.step)) / (1 - product))
    weights.addcdiv_(first, denominator, value=-now.rate * following / (1 - product * following))


def yogi(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    gradient = decayed(weights, gradient, group, now)
    beta1, beta2 = group["betas"]
    first, second = state["exp_avg"], state["exp_avg_sq"]
    if now.step == 1:
        first.fill_(group["initial_moment"])
        second.fill_(group["initial_moment"])
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    square = gradient * gradient
    second.addcmul_(torch.sign(second - square), square, value=beta2 - 1)
    correction, root = _corrections(group, now)
    weights.addcdiv_(first, second.sqrt() / root + group["eps"], value=-now.rate / correction)


def radam(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    factor = rectification(group["betas"][1], now.step)
    rests = factor is None and not group["early_momentum"]
    gradient = decayed(weights.clone() if rests else weights, gradient, group, now)
    first, second = _moments(gradient, state, group)
    correction, root = _corrections(group, now)
    if factor is not None:
        weights.addcdiv_(first, second.sqrt() + group["eps"], value=-now.rate * factor * root / correction)
    elif not rests:
        weights.add_(first, alpha=-now.rate / correction)


def _step_sizes(second: Tensor, group: Group, now: Now) -> Tensor:
    correction, root = _corrections(group, now)
    return torch.reciprocal(second.sqrt() + group["eps"]).mul_(now.rate * root / correction)


def adabound(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    first, second = _moments(decayed(weights, gradient, group, now), state, group)
    base = group["lr"] if group["base_learning_rate"] is None else group["base_learning_rate"]
    end = group["final_learning_rate"] * now.rate / float(base) if base > 0 else 0.0
    closing = group["gamma"] * now.step
    sizes = _step_sizes(second, group, now).clamp(end * (1 - 1 / (closing + 1)), end * (1 + 1 / closing))
    weights.sub_(sizes * first)


def adamod(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    first, second = _moments(decayed(weights, gradient, group, now), state, group)
    sizes = _step_sizes(second, group, now)
    mean = state["exp_avg_lr"].mul_(group["beta3"]).add_(sizes, alpha=1 - group["beta3"])
    weights.sub_(torch.minimum(sizes, mean) * first)


def eadam(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    first, second = _moments(decayed(weights, gradient, group, now), state, group)
    second.add_(group["eps"])
    correction, root = _corrections(group, now)
    weights.addcdiv_(first, second.sqrt(), value=-now.rate * root / correction)


def sadam(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    first, second = _moments(decayed(weights, gradient, group, now), state, group)
    if group["amsgrad"]:
        second = torch.maximum(state["max_exp_avg_sq"], second, out=state["max_exp_avg_sq"])
    beta = group["softplus_beta"]
    roots = second.sqrt()
    denominator = roots + group["eps"] if beta is None else functional.softplus(roots, beta=float(beta), threshold=20)
    correction, root = _corrections(group, now)
    weights.addcdiv_(first, denominator, value=-now.rate * root / correction)


def lion(weights: Tensor, gradient: Tensor, state: State, group: Group, now: Now) -> None:
    gradient = decayed(weights, gradient, group, now)
    beta1, beta2 = group["betas"]
    momentum = state["exp_avg"]
    weights.add_(torch.sign(momentum * beta1 + gradient * (1 - beta1)), alpha=-now.rate)
    momentum.mul_(beta2).add_(gradient, alpha=1 - beta2)


RULES: dict[str, Rule] = {
    "nadam": nadam,
    "yogi": yogi,
    "radam": radam,
    "adabound": adabound,
    "adamod": adamod,
    "eadam": eadam,
    "sadam": sadam,
    "lion": lion,
}


def state_of(rule: str, group: Group) -> list[str]:
    """The arrays that a parameter has under these options, all of its shape."""
    if rule == "lion":
        return ["exp_avg"]
    third = {"adamod": ["exp_avg_lr"], "sadam": ["max_exp_avg_sq"] if group.get("amsgrad") else []}
    return ["exp_avg", "exp_avg_sq", *third.get(rule, [])]
