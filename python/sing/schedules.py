"""Learning-rate schedules of the library: from a step's number to a factor of the learning rate.

Pass one to `torch.optim.lr_scheduler.LambdaLR`, whose `state_dict` contains its options, so that loading it restores them.

Steps count from 0. A schedule with a warm-up of w > 0 steps returns (t + 1) / w for t < w, so that the first step changes the
weights and step w - 1 is the first at the full rate; without warm-up it starts at 1. A schedule with `total_steps` reaches its
final factor at step total_steps, one after the last, and stays there.

Example:
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, WarmupCosine(warmup_steps=5, total_steps=100))
    >>> scheduler.get_last_lr()
    [0.2]
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, ClassVar

import torch  # noqa: F401  (the example above uses it)

from sing import _fields
from sing.field import Field, nearest_name, unknown_option
from sing.operators import operators, require
from sing.options import OptionSet


class Schedule(OptionSet):
    """Base of the schedules: a pure function of the step, which the library computes.

    It is not slotted: LambdaLR saves and loads a callable's `__dict__`.

    Example:
        >>> isinstance(WarmupLinear(total_steps=4), Schedule)
        True
    """

    name: ClassVar[str]  # in option files and on command lines

    def __init_subclass__(cls) -> None:
        cls.table = _fields.SCHEDULES[cls.name]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._factor(0)  # refuses options that do not go together

    def __call__(self, step: int) -> float:
        """Returns the factor of the learning rate in this step, counted from 0."""
        _STEP.check(step, f"sing.{type(self).__name__}")
        return self._factor(step)

    def _factor(self, step: int) -> float:
        require(f"sing.{type(self).__name__}")
        return float(operators.schedule_factor(self.name, json.dumps(self._library_options()), int(step)))

    def _library_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.named_fields()}


_STEP = Field("step", "int", None, "", low=0)


@dataclasses.dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """The factor is 1.

    Example:
        >>> ConstantSchedule()(7)
        1.0
    """

    name: ClassVar[str] = "constant"


@dataclasses.dataclass(frozen=True)
class WarmupCosine(Schedule):
    """final + (1 - final) (1 + cos(pi x)) / 2 with x = (t - w) / (total - w): the paper's schedule with w = 5 % of the total.

    Args:
        warmup_steps: Steps of linear rise, w.
        total_steps: Steps until the final factor, warm-up included.
        final_factor: The factor from total_steps on.

    Example:
        >>> [round(WarmupCosine(warmup_steps=2, total_steps=6)(step), 4) for step in range(7)]
        [0.5, 1.0, 1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    name: ClassVar[str] = "warmup_cosine"
    warmup_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0


@dataclasses.dataclass(frozen=True)
class WarmupHoldCosine(Schedule):
    """WarmupCosine with the full rate for `hold_steps` steps between the rise and the fall.

    Args:
        warmup_steps: Steps of linear rise.
        hold_steps: Steps at the full rate after the rise.
        total_steps: Steps until the final factor, warm-up and hold included.
        final_factor: The factor from total_steps on.

    Example:
        >>> [round(WarmupHoldCosine(hold_steps=2, total_steps=4)(step), 4) for step in range(5)]
        [1.0, 1.0, 1.0, 0.5, 0.0]
    """

    name: ClassVar[str] = "warmup_hold_cosine"
    warmup_steps: int = 0
    hold_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0


@dataclasses.dataclass(frozen=True)
class WarmupInverseSquareRoot(Schedule):
    """sqrt(w / (t + 1)) after the rise (Vaswani et al. 2017, section 5.3); w = 0 falls as w = 1 does.

    Args:
        warmup_steps: Steps of linear rise, w.

    Example:
        >>> [WarmupInverseSquareRoot(warmup_steps=4)(step) for step in (0, 3, 15)]
        [0.25, 1.0, 0.5]
    """

    name: ClassVar[str] = "warmup_inverse_square_root"
    warmup_steps: int = 0


@dataclasses.dataclass(frozen=True)
class WarmupLinear(Schedule):
    """1 - (1 - final) (t - w) / (total - w) after the rise.

    Args:
        warmup_steps: Steps of linear rise, w.
        total_steps: Steps until the final factor, warm-up included.
        final_factor: The factor from total_steps on.

    Example:
        >>> [WarmupLinear(total_steps=4, final_factor=0.5)(step) for step in range(5)]
        [1.0, 0.875, 0.75, 0.625, 0.5]
    """

    name: ClassVar[str] = "warmup_linear"
    warmup_steps: int = 0
    total_steps: int = 0
    final_factor: float = 0.0


@dataclasses.dataclass(frozen=True)
class PiecewiseLinear(Schedule):
    """Linear interpolation between knots; constant before the first knot and after the last one.

    Args:
        knots: (step, factor) pairs, sorted by step.

    Example:
        >>> [PiecewiseLinear(knots=((0, 1), (10, 0.5)))(step) for step in (0, 5, 99)]
        [1.0, 0.75, 0.5]
    """

    name: ClassVar[str] = "piecewise_linear"
    knots: Iterable[tuple[int, float]] = ()

    def __post_init__(self) -> None:
        where = f"sing.{type(self).__name__}"
        knots = tuple((step, factor) for step, factor in self.knots)
        if not knots:
            raise ValueError(f"[{where}] wanted at least one knot, got none")
        for step, factor in knots:
            _STEP.check(step, where, "the step of a knot")
            _FACTOR.check(factor, where, "the factor of a knot")
        object.__setattr__(self, "knots", knots)
        self._factor(0)

    def _library_options(self) -> dict[str, Any]:
        return {"knots": ",".join(f"{int(step)}:{float(factor)!r}" for step, factor in self.knots)}


_FACTOR = Field("factor", "float", None, "", low=0)
SCHEDULES: dict[str, type[Schedule]] = {
    each.name: each
    for each in (ConstantSchedule, WarmupCosine, WarmupHoldCosine, WarmupInverseSquareRoot, WarmupLinear, PiecewiseLinear)
}


def make_schedule(name: str, **options: Any) -> Schedule:
    """Returns the schedule of that name, as in a configuration file.

    Args:
        name: One of the keys of `SCHEDULES`.
        options: The schedule's options.

    Returns:
        The schedule, a function of the step.

    Raises:
        TypeError, ValueError: The name or an option is refused.

    Example:
        >>> make_schedule("warmup_linear", total_steps=10)
        WarmupLinear(warmup_steps=0, total_steps=10, final_factor=0.0)
        >>> make_schedule("warmup_cosin", total_steps=10)
        Traceback (most recent call last):
        ...
        ValueError: [sing.make_schedule] wanted a schedule, got 'warmup_cosin'; did you mean 'warmup_cosine'?
    """
    where = "sing.make_schedule"
    if name not in SCHEDULES:
        raise ValueError(f"[{where}] wanted a schedule, got '{name}'; did you mean '{nearest_name(name, SCHEDULES, closeness=0)}'?")
    known = SCHEDULES[name].named_fields()
    for option in options:
        if option not in known:
            raise unknown_option(option, known, f"{where} '{name}'")
    return SCHEDULES[name](**options)
