"""Learning-rate schedules: from a step's number to a factor of the learning rate, for `torch.optim.lr_scheduler.LambdaLR`.

The same six as in the C++ library (sing/optim/schedule.hpp), with the same names, options and numbers.

>>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, WarmupCosine(warmup_steps=5, total_steps=100))
>>> scheduler.get_last_lr()
[0.2]

Steps count from 0. Every kind with a warm-up of w > 0 steps gives (t + 1) / w to the steps t < w, so that the first step moves
and step w - 1 is the first of full rate; w = 0 starts at 1. Every kind with `total_steps` reaches its final factor at step
total_steps, one after the last, and holds it from there on.

A scheduler's `state_dict` holds the options of its schedule, so that loading one restores them.
"""

from __future__ import annotations

import bisect
import dataclasses
import difflib
import math
from typing import Any

import torch  # noqa: F401  (the example above uses it)

_LARGEST = 2**63 - 1  # steps are 64-bit in the library


def _check(schedule: Schedule, name: str, holds: bool, wanted: str) -> None:
    if not holds:
        raise ValueError(f"[schedule {schedule.name}] {name}: wanted {wanted}, got {getattr(schedule, name)!r}")


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _LARGEST


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _progress(step: int, begin: int, end: int) -> float:
    """Position of `step` on the way from `begin` (0) to `end` (1 from there on)."""
    return 1.0 if step >= end else float(step - begin) / float(end - begin)


def _fall_by_cosine(x: float, final_factor: float) -> float:
    return final_factor + (1 - final_factor) * (0.5 * (1 + math.cos(math.pi * x)))


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A pure function of the step. Not slotted: LambdaLR saves and loads a callable's `__dict__`."""

    def __post_init__(self) -> None:
        fields = {field.name for field in dataclasses.fields(self)}
        for name in fields & {"warmup_steps", "hold_steps"}:
            _check(self, name, _is_count(getattr(self, name), 0), "a whole number of at least 0")
        if "final_factor" in fields:
            value = getattr(self, "final_factor")
            _check(self, "final_factor", _is_finite(value) and 0 <= value <= 1, "a number in [0, 1]")
        if "total_steps" in fields:
            _check(self, "total_steps", _is_count(getattr(self, "total_steps"), 1), "a whole number of at least 1")
            before = self._steps_before_fall()
            enough = getattr(self, "total_steps") >= before
            _check(self, "total_steps", enough, f"at least the {before} steps before the fall")

    @property
    def name(self) -> str:
        """The schedule's name in option files and on command lines."""
        return next(name for name, kind in SCHEDULES.items() if kind is type(self))

    def __call__(self, step: int) -> float:
        """What the learning rate of this step, counted from 0, is multiplied by."""
        if not _is_count(step, 0):
            raise ValueError(f"[schedule {self.name}] wanted a step of at least 0, got {step!r}")
        warmup: int = getattr(self, "warmup_steps", 0)
        return float(step + 1) / float(warmup) if step < warmup else self._after_warmup(step)

    def _after_warmup(self, step: int) -> float:
        raise NotImplementedError

    def _steps_before_fall(self) -> int:
        return int(getattr(self, "warmup_steps", 0)) + int(getattr(self, "hold_steps", 0))


@dataclasses.dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """The factor is 1.

    >>> ConstantSchedule()(7)
    1.0
    """

    def _after_warmup(self, step: int) -> float:
        return 1.0


@dataclasses.dataclass(frozen=True)
class WarmupCosine(Schedule):
    """final + (1 - final) (1 + cos(pi x)) / 2 with x = (t - w) / (total - w): the paper's schedule with w = 5 % of the total.

    >>> [round(WarmupCosine(warmup_steps=2, total_steps=6)(step), 4) for step in range(7)]
    [0.5, 1.0, 1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    warmup_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0

    def _after_warmup(self, step: int) -> float:
        return _fall_by_cosine(_progress(step, self.warmup_steps, self.total_steps), self.final_factor)


@dataclasses.dataclass(frozen=True)
class WarmupHoldCosine(Schedule):
    """As WarmupCosine, but full rate for `hold_steps` between the rise and the fall.

    >>> [round(WarmupHoldCosine(hold_steps=2, total_steps=4)(step), 4) for step in range(5)]
    [1.0, 1.0, 1.0, 0.5, 0.0]
    """

    warmup_steps: int = 0
    hold_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0

    def _after_warmup(self, step: int) -> float:
        fall = self._steps_before_fall()
        return 1.0 if step < fall else _fall_by_cosine(_progress(step, fall, self.total_steps), self.final_factor)


@dataclasses.dataclass(frozen=True)
class WarmupInverseSquareRoot(Schedule):
    """sqrt(w / (t + 1)) after the rise (Vaswani et al. 2017, section 5.3); w = 0 falls as w = 1 does.

    >>> [WarmupInverseSquareRoot(warmup_steps=4)(step) for step in (0, 3, 15)]
    [0.25, 1.0, 0.5]
    """

    warmup_steps: int = 0

    def _after_warmup(self, step: int) -> float:
        return math.sqrt(float(max(self.warmup_steps, 1)) / (float(step) + 1))


@dataclasses.dataclass(frozen=True)
class WarmupLinear(Schedule):
    """1 - (1 - final) (t - w) / (total - w).

    >>> [WarmupLinear(total_steps=4, final_factor=0.5)(step) for step in range(5)]
    [1.0, 0.875, 0.75, 0.625, 0.5]
    """

    warmup_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0

    def _after_warmup(self, step: int) -> float:
        x = _progress(step, self.warmup_steps, self.total_steps)
        return self.final_factor + (1 - self.final_factor) * (1 - x)


@dataclasses.dataclass(frozen=True)
class PiecewiseLinear(Schedule):
    """Straight lines between (step, factor) knots; the first knot's factor before it, the last one's after it.

    >>> [PiecewiseLinear(knots=((0, 1), (10, 0.5)))(step) for step in (0, 5, 99)]
    [1.0, 0.75, 0.5]
    """

    knots: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", tuple((step, factor) for step, factor in self.knots))
        _check(self, "knots", len(self.knots) > 0, "at least one")
        _check(self, "knots", all(_is_count(step, 0) for step, _ in self.knots), "whole steps of at least 0")
        _check(self, "knots", all(_is_finite(factor) and factor >= 0 for _, factor in self.knots), "finite factors of at least 0")
        rising = all(before[0] < after[0] for before, after in zip(self.knots, self.knots[1:]))
        _check(self, "knots", rising, "steps in rising order")

    def _after_warmup(self, step: int) -> float:
        after = bisect.bisect_right([knot[0] for knot in self.knots], step)
        if after == 0:
            return float(self.knots[0][1])
        begin, low = self.knots[after - 1]
        if after == len(self.knots):
            return float(low)
        end, high = self.knots[after]
        return float(low + (high - low) * _progress(step, begin, end))


SCHEDULES: dict[str, type[Schedule]] = {
    "constant": ConstantSchedule,
    "warmup_cosine": WarmupCosine,
    "warmup_hold_cosine": WarmupHoldCosine,
    "warmup_inverse_square_root": WarmupInverseSquareRoot,
    "warmup_linear": WarmupLinear,
    "piecewise_linear": PiecewiseLinear,
}


def make_schedule(name: str, **options: Any) -> Schedule:
    """The schedule of that name, as in a configuration file.

    >>> make_schedule("warmup_linear", total_steps=10)
    WarmupLinear(warmup_steps=0, total_steps=10, final_factor=0.0)
    >>> make_schedule("warmup_cosin", total_steps=10)
    Traceback (most recent call last):
    ...
    ValueError: [schedule] unknown schedule 'warmup_cosin'; did you mean 'warmup_cosine'?
    """
    if name not in SCHEDULES:
        raise ValueError(f"[schedule] unknown schedule '{name}'; did you mean '{_nearest(name, list(SCHEDULES))}'?")
    known = [field.name for field in dataclasses.fields(SCHEDULES[name])]
    for option in options:
        if option not in known:
            hint = f"; did you mean '{_nearest(option, known)}'?" if known else ""
            raise TypeError(f"[schedule] unknown option '{option}' of schedule '{name}'{hint}")
    return SCHEDULES[name](**options)


def _nearest(name: str, known: list[str]) -> str:
    return difflib.get_close_matches(name, known, n=1, cutoff=0)[0]
