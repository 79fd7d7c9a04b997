"""Implements SING in float64 with numpy alone, from the equations of docs/algorithm.md, as the reference for the library.

This file shares no code with the library. Values carry bounds on the library's rounding error (bounded.py). Once the numbers of a
step have been compared, Trained.take replaces them by the library's, so each step starts from the library's numbers and a bound
covers a single step. Counters, options and policies are never taken from the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bounded import FLOAT32, FLOAT64, Bounded

Options = dict[str, Any]


@dataclass
class Trained:
    """Holds a parameter, its state and its counters."""

    value: np.ndarray
    dtype: str  # float32, float64, bfloat16 or float16
    state: dict[str, np.ndarray] = field(default_factory=dict)  # under torch's names; `slow` and `master` too
    steps: int = 0
    is_lost: bool = False  # the numbers are no longer compared: they are not finite, or their bound is infinite

    @property
    def format(self):
        return FLOAT64 if self.dtype == "float64" else FLOAT32

    def take(self, value, state):
        """Continues from the library's numbers."""
        self.value, self.state = value, state
        limit = self.format.largest * 0.1
        numbers = [value, *state.values()]
        self.is_lost = self.is_lost or any(not np.all(np.abs(each) < limit) for each in numbers)


@dataclass
class Group:
    options: Options
    members: list[Trained] = field(default_factory=list)
    steps: int = 0  # drives LookAhead


@dataclass
class Expected:
    """Holds the expected result of a step for one parameter."""

    value: Bounded  # before it is rounded to 16 bits
    state: dict[str, Bounded]
    norm: Bounded  # norm of the gradient, without the loss scale


@dataclass
class Outcome:
    is_skipped: bool  # the step as a whole
    expected: dict[int, Expected]  # by id of the updated parameters; without empty and lost ones
    updated: list[Trained]


class NonFiniteGradient(Exception):
    """Raised when the policy is `throw` and a gradient is not finite."""


class Optimizer:
    """Holds groups under one rule. `step` computes the expected results and advances the counters; the caller takes over the
    numbers."""

    def __init__(self, rule, groups):
        self.rule = rule
        self.groups: list[Group] = groups
        self.skipped_steps = 0
        self.skipped_tensors = 0

    def step(self, gradients: dict[int, np.ndarray], policy, loss_scale=1.0) -> Outcome:
        """Takes `gradients` by id of the parameter; a parameter without a gradient is not updated."""
        with np.errstate(all="ignore"):
            return self._step(gradients, policy, loss_scale)

    def _step(self, gradients, policy, loss_scale):
        non_finite = {key for group in self.groups for each in group.members if (key := id(each)) in gradients and
                      not is_usable(gradients[key], each.format)}
        if non_finite and policy in ("skip_step", "throw"):
            self.skipped_steps += 1
            if policy == "throw":
                raise NonFiniteGradient
            return Outcome(True, {}, [])
        if policy == "skip_tensor":
            self.skipped_tensors += len(non_finite)
        updated = []
        standardized: dict[int, Bounded] = {}
        for group in self.groups:
            group.steps += 1
            for each in group.members:
                key = id(each)
                if key not in gradients or (key in non_finite and policy == "skip_tensor"):
                    continue
                updated.append(each)
                each.steps += 1
                # The elements are unspecified where the policy lets a non-finite gradient pass.
                each.is_lost = each.is_lost or key in non_finite
                if key not in non_finite:
                    sign = -1.0 if group.options["maximize"] else 1.0
                    standardized[key] = standardize(sign * gradients[key], group.options, loss_scale, each.format)
        total = self._total_norm(standardized, gradients, loss_scale)
        expected = {}
        for group in self.groups:
            for each in group.members:
                if id(each) in standardized and each.value.size and not each.is_lost:
                    expected[id(each)] = self._expected(group, each, standardized[id(each)], gradients[id(each)], total, loss_scale)
        return Outcome(False, expected, updated)

    def _total_norm(self, standardized, gradients, loss_scale):
        """Equation 30: returns the norm of all raw gradients together; those that are not finite do not count."""
        squares = [Bounded(0.0, FLOAT64)]
        for group in self.groups:
            for each in group.members:
                if id(each) in standardized:
                    norm = Bounded(gradients[id(each)], each.format).norm()
                    squares.append(Bounded(norm.value / loss_scale, FLOAT64, norm.error / loss_scale))
                    squares[-1] = squares[-1] * squares[-1]
        total = squares[0]
        for each in squares[1:]:
            total = total + each
        return total.sqrt()

    def _expected(self, group, trained, gradient, raw_gradient, total_norm, loss_scale):
        options, format = group.options, trained.format
        start = Bounded(trained.state.get("master", trained.value), format)
        state = {name: Bounded(value, format) for name, value in trained.state.items() if name not in ("slow", "master")}
        if options.get("clip_norm") is not None and options["normalize"] == "off":
            factor = options["clip_norm"] / (total_norm + 1e-6)
            gradient = gradient * Bounded(factor.value, format, factor.error).minimum(1.0)  # (30)
        step = Step(start, gradient, state, trained.steps, options)
        value = RULES[self.rule](step)
        if options["lookahead"]:
            slow = Bounded(trained.state.get("slow", start.value), format)
            if merges(group):
                alpha = options["lookahead_alpha"]
                value = alpha * value + (1 - alpha) * slow  # (8)
                slow = value
            state["slow"] = slow
        if options["master_weights"] and trained.dtype in ("bfloat16", "float16"):
            state["master"] = value
        norm = Bounded(raw_gradient, format).norm()
        return Expected(value, state, Bounded(norm.value / loss_scale, format, norm.error / loss_scale))


def merges(group):
    return group.steps % group.options["lookahead_period"] == 0


def is_usable(gradient, format):
    """Returns whether the gradient and the sum of its squares are finite in the number format."""
    largest = np.max(np.abs(gradient), initial=0.0)
    if not np.isfinite(largest):
        return False
    if largest == 0:
        return True
    norm = largest * math.sqrt(np.square(gradient / largest).sum())
    limit = math.sqrt(format.largest)
    assert not 0.99 < norm / limit < 1.01, "a case must not ask for a norm within rounding of overflow"
    return norm < limit


# Equations 1 to 3


def row_axes(shape, axis):
    """Returns the axes that a row mean is taken over."""
    return tuple(each for each in range(len(shape)) if each != axis)


def centralized(gradient, options, format):
    """Applies equation 1. Returns the result with the error of every element, and the error of its norm."""
    roundings = format.sum_roundings(gradient.size)
    if gradient.ndim < 2 or not options["centralize"] or gradient.size == 0:
        return Bounded(gradient, format), roundings * format.unit * np.linalg.norm(gradient)
    axes = row_axes(gradient.shape, options["centralize_axis"])
    mean = gradient.mean(axes, keepdims=True)
    mean = mean + (gradient - mean).mean(axes, keepdims=True)  # corrects the rounding of the first mean
    centred = gradient - mean
    # A mean is a rounded sum. Where the means dominate the gradient, the library sums the distances from a first estimate of the
    # mean (docs/numerics.md), so the norm has the rounding error of the mean. Single elements of a row with a large mean may have
    # larger errors if other rows of the block are larger still.
    in_row = min(roundings, gradient.size // mean.size)
    error = format.unit * (np.abs(centred) + 2 * np.abs(mean) + in_row * np.abs(gradient).mean(axes, keepdims=True))
    norm_error = format.unit * (2 * np.linalg.norm(gradient) + 2 * roundings * np.linalg.norm(centred))
    return Bounded(centred, format, error + format.tiny), norm_error


def standardize(gradient, options, loss_scale, format):
    """Applies equations 1 to 3."""
    scaled = np.max(np.abs(gradient), initial=0.0)
    if gradient.size == 0:
        return Bounded(gradient, format)
    centred, norm_error = centralized(gradient, options, format)
    factor = scaled if scaled > 0 else 1.0  # prevents overflow and underflow of squared float64 numbers
    norm = factor * math.sqrt(np.square(centred.value / factor).sum())
    whole = factor * math.sqrt(np.square(gradient / factor).sum())
    # Each square that underflows is off by at most the smallest number.
    norm_error = norm_error + min(gradient.size * format.tiny / max(norm, 1e-300), math.sqrt(gradient.size * format.tiny))
    guard = 8 * format.epsilon * whole
    if whole > 0 and norm + norm_error <= guard:
        return Bounded(np.zeros_like(gradient), format)
    if options["normalize"] == "off":
        result = centred * (1 / loss_scale)
    else:
        target = 1.0 if options["normalize"] == "unit_norm" else math.sqrt(gradient.size / options["reference_size"])
        denominator = Bounded(norm, format, norm_error) + options["norm_epsilon"] * loss_scale
        if denominator.value == 0:
            return Bounded(np.zeros_like(gradient), format)
        result = centred * (target / denominator)
    if norm - norm_error <= guard and norm < whole:  # within rounding error of the guard, 0 is right too
        return Bounded(result.value, format, result.error + np.abs(result.value))
    return result


# The rules


@dataclass
class Step:
    """Holds the inputs of a rule, which puts the new state into `state`."""

    parameter: Bounded
    gradient: Bounded  # standardized
    state: dict[str, Bounded]
    count: int  # updates of this parameter, this one included
    options: Options

    def __getitem__(self, name):
        return self.options[name]

    @property
    def rate(self):
        return self.options["lr"] * self.options["learning_rate_factor"]

    @property
    def decay(self):
        is_spared = self.parameter.value.ndim < 2 and not self.options["decay_vectors"]
        return 0.0 if is_spared else self.options["weight_decay"]

    def old(self, name):
        return self.state.get(name, Bounded(np.zeros_like(self.parameter.value), self.parameter.format))

    def decayed(self):
        """Applies equation 18. Returns the parameter and the gradient after weight decay of either kind."""
        if self.decay == 0:
            return self.parameter, self.gradient
        if self.options["decoupled_decay"]:
            return self.parameter * (1 - self.rate * self.decay), self.gradient
        return self.parameter, self.gradient + self.decay * self.parameter


def moving_average(old, new, beta):
    """Returns beta old + (1 - beta) new; the library may compute it as old + (1 - beta)(new - old)."""
    result = beta * old + (1 - beta) * new
    slack = old.format.unit * (np.abs(old.value) + np.abs(new.value))
    return Bounded(result.value, result.format, result.error + slack)


def moments(step, gradient):
    """Applies equation 4."""
    beta1, beta2 = step["betas"]
    first = moving_average(step.old("exp_avg"), gradient, beta1)
    second = moving_average(step.old("exp_avg_sq"), gradient * gradient, beta2)
    step.state.update(exp_avg=first, exp_avg_sq=second)
    return first, second


def corrections(step):
    """Returns 1 - beta^t for both moments."""
    return tuple(1 - beta**step.count for beta in step["betas"])


def softplus(x, beta):
    """Applies equation 7. Its slope is at most 1, and the library's result is off by at most 8 units (docs/numerics.md)."""
    scaled = beta * x.value
    value = np.where(scaled <= 20, np.logaddexp(0.0, scaled) / beta, x.value)
    jump = np.where(np.abs(scaled - 20) <= 1e-4 + beta * x.error, 2.1e-9 / beta, 0.0)
    return Bounded(value, x.format, x.error + jump).rounded(8)


def adamw(step):
    parameter, gradient = step.decayed()
    first, second = moments(step, gradient)
    correction1, correction2 = corrections(step)
    root = second.sqrt() / math.sqrt(correction2)  # (5)
    denominator = root + step["eps"] if step["softplus_beta"] is None else softplus(root, step["softplus_beta"])
    return parameter - step.rate * (first / correction1) / denominator  # (6)


def sgd(step):
    parameter, gradient = step.decayed()
    if not step["momentum"]:
        return parameter - step.rate * gradient
    momentum = step["momentum"] * step.old("momentum_buffer") + gradient  # (9)
    step.state["momentum_buffer"] = momentum
    return parameter - step.rate * (gradient + step["momentum"] * momentum if step["nesterov"] else momentum)


def lion(step):
    parameter, gradient = step.decayed()
    beta1, beta2 = step["betas"]
    old = step.old("exp_avg")
    step.state["exp_avg"] = moving_average(old, gradient, beta2)
    return parameter - step.rate * moving_average(old, gradient, beta1).sign()  # (29)


def nadam(step):
    parameter, gradient = step.decayed()
    first, second = moments(step, gradient)

    def mu(t):  # (19)
        return step["betas"][0] * (1 - 0.5 * 0.96 ** (t * step["momentum_decay"]))

    product = math.prod(mu(t) for t in range(1, step.count + 1))
    following = product * mu(step.count + 1)
    denominator = second.sqrt() / math.sqrt(corrections(step)[1]) + step["eps"]
    direction = mu(step.count + 1) / (1 - following) * first + (1 - mu(step.count)) / (1 - product) * gradient
    return parameter - step.rate * direction / denominator  # (20)


def trust(size, length, ratio):
    """Returns the ratio, or 1 where a norm is 0. A norm within rounding error of 0 may count as either."""
    if size.value == 0 or length.value == 0:
        return Bounded(1.0, size.format)
    if size.error >= size.value or length.error >= length.value:
        return Bounded(1.0, size.format, np.inf)
    return ratio


def lamb(step):
    gradient = step.gradient
    parameter, decay = step.parameter, step.decay
    if step["decoupled_decay"]:
        parameter = parameter * (1 - step.rate * decay)
    first, second = moments(step, gradient)
    root = second.sqrt()
    if step["bias_correction"]:
        correction1, correction2 = corrections(step)
        first, root = first / correction1, root / math.sqrt(correction2)
    direction = first / (root + step["eps"])  # (31)
    if decay and not step["decoupled_decay"]:
        direction = direction + decay * parameter
    size, length = parameter.norm(), direction.norm()
    if step["norm_limit"] is not None:
        size = size.minimum(step["norm_limit"])
    is_adapted = decay != 0 or step["always_adapt"]
    return parameter - step.rate * (direction * trust(size, length, size / length) if is_adapted else direction)  # (32)


def lars(step):
    parameter, decay = step.parameter, step.decay
    if step["decoupled_decay"]:
        parameter = parameter * (1 - step.rate * decay)
    added = 0.0 if step["decoupled_decay"] else decay
    size, length = parameter.norm(), step.gradient.norm()
    direction = step.gradient + added * parameter if added else step.gradient
    if decay != 0 or step["always_adapt"]:
        ratio = step["trust_coefficient"] * size / (length + added * size + step["eps"])
        direction = direction * trust(size, length, ratio)  # (33)
    if not step["momentum"]:
        return parameter - step.rate * direction
    momentum = step["momentum"] * step.old("momentum_buffer") + direction  # (34)
    step.state["momentum_buffer"] = momentum
    return parameter - step.rate * (direction + step["momentum"] * momentum if step["nesterov"] else momentum)


def adafactor(step):
    gradient, parameter = step.gradient, step.parameter
    beta = 1 - step.count ** -step["decay_power"]
    square = gradient * gradient + step["square_epsilon"]  # (12)

    def average(name, new):
        old = step.state.get(name, Bounded(np.zeros_like(new.value), new.format))
        step.state[name] = moving_average(old, new, beta)
        return step.state[name]

    if parameter.value.ndim >= 2:  # (13)
        rows = average("exp_avg_sq_row", _without_axis(square.mean(-1), -1))
        # The elements of a column are added one after the other, and equal elements are all rounded in the same direction.
        columns = average("exp_avg_sq_col", _without_axis(square.mean(-2, roundings=parameter.value.shape[-2]), -2))
        share = rows / rows.mean(-1)
        second = _with_axis(share, -1) * _with_axis(columns, -2)
    else:
        second = average("exp_avg_sq", square)
    root = second.sqrt()
    update = gradient / (root if step["softplus_beta"] is None else softplus(root, step["softplus_beta"]))  # (14)
    rate = min(step.rate, 1 / math.sqrt(step.count)) if step["relative_step"] else step.rate
    count = math.sqrt(max(parameter.value.size, 1))
    scale = (parameter.norm() / count).maximum(step["scale_epsilon"]) if step["scale_parameter"] else Bounded(1.0, parameter.format)
    rate = rate * scale  # (15)
    clipping = (update.norm() / count / step["clip_threshold"]).maximum(1.0)
    return parameter * (1 - rate * step.decay) - rate * update / clipping  # (16)


# The relative error of Newton-Schulz iterations in float32, and the factor by which they may multiply an error of their input:
# 3.4445 to the power of 5 (docs/algorithm.md, tests/contract/agreement.hpp).
NEWTON_ERROR = 2e-4
NEWTON_GROWTH = 485


def muon(step):
    gradient, momentum = step.gradient, step["momentum"]
    parameter = step.parameter * (1 - step.rate * step.decay) if step.decay else step.parameter
    if parameter.value.ndim < 2 or not step["orthogonalize"]:
        beta1, beta2 = step["betas"]
        first = moving_average(step.old("momentum_buffer"), gradient, beta1)
        second = moving_average(step.old("exp_avg_sq"), gradient * gradient, beta2)
        step.state.update(momentum_buffer=first, exp_avg_sq=second)
        correction1, correction2 = corrections(step)
        return parameter - step.rate * (first / correction1) / (second.sqrt() / math.sqrt(correction2) + step["epsilon"])
    first = moving_average(step.old("momentum_buffer"), gradient, momentum)  # (40)
    step.state["momentum_buffer"] = first
    start = (1 - momentum) * gradient + momentum * first if step["nesterov"] else first
    matrix = start.value.reshape(start.value.shape[0], -1)
    size = max(np.linalg.norm(matrix), step["norm_floor"])
    result, is_tall = matrix / size, matrix.shape[0] > matrix.shape[1]
    for _ in range(step["newton_steps"]):  # (41)
        square = result.T @ result if is_tall else result @ result.T  # X X' X is the same from either side
        polynomial = step["newton_b"] * square + step["newton_c"] * square @ square
        result = step["newton_a"] * result + (result @ polynomial if is_tall else polynomial @ result)
    length = np.linalg.norm(result)
    error = NEWTON_ERROR * start.format.unit / FLOAT32.unit * length
    error += NEWTON_GROWTH * np.linalg.norm(start.error) / size * max(1.0, length)  # length is small where norm_floor is the size
    rows, columns = matrix.shape
    is_original = step["rate_adjustment"] == "original"
    scale = math.sqrt(max(1, rows / columns)) if is_original else 0.2 * math.sqrt(max(rows, columns))
    direction = Bounded(result.reshape(start.value.shape), start.format, error)
    return parameter - step.rate * scale * direction  # (42)


def _without_axis(bounded, axis):
    return Bounded(np.squeeze(bounded.value, axis), bounded.format, np.squeeze(bounded.error, axis))


def _with_axis(bounded, axis):
    return Bounded(np.expand_dims(bounded.value, axis), bounded.format, np.expand_dims(bounded.error, axis))


RULES = {
    "SING": adamw,
    "AdamW": adamw,
    "SGD": sgd,
    "Lion": lion,
    "NAdam": nadam,
    "Lamb": lamb,
    "Lars": lars,
    "Adafactor": adafactor,
    "Muon": muon,
    "attached SGD": sgd,
    "attached AdamW": adamw,
}


# Rounding to 16 bits


def rounded_to(values, dtype):
    """Rounds float64 values to the parameter's type, by way of the float32 that the library rounds from."""
    if dtype == "float64":
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        if dtype == "float32":
            return single.astype(np.float64)
        if dtype == "float16":
            return single.astype(np.float16).astype(np.float64)
    bits = single.view(np.uint32)  # bfloat16 is the upper half of a float32, to nearest even
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(single), np.nan, bits.view(np.float32)).astype(np.float64)
