"""Options that belong together, made by tools/make_python_fields.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sing import _fields
from sing.field import Field
from sing.options import OptionSet


@dataclass(frozen=True)
class Standardize(OptionSet):
    """How a gradient is centralized and normalized.

    Args:
        centralize: Subtract each row's mean from gradients of rank 2 and higher. Default: True.
        centralize_axis: Axis of the rows; the paper uses 0. Default: 0.
        normalize: Norm that each tensor's gradient is scaled to: off, 1, or sqrt(size / reference_size). Default: 'unit_norm'.
        norm_epsilon: Added to the norm. Default: 1e-08.
        reference_size: Number of elements of a tensor whose calibrated norm is 1. Default: 589824.0.

    Example:
        >>> Standardize(normalize="unit")
        Traceback (most recent call last):
        ...
        ValueError: [sing.Standardize] wanted normalize as one of 'off', 'unit_norm', 'size_calibrated', got 'unit'
    """

    table: ClassVar[list[Field]] = _fields.STANDARDIZE
    centralize: bool = True
    centralize_axis: int = 0
    normalize: str = 'unit_norm'
    norm_epsilon: float = 1e-08
    reference_size: float = 589824.0


@dataclass(frozen=True)
class Lookahead(OptionSet):
    """LookAhead: every `period` steps p <- alpha p + (1 - alpha) slow, then slow <- p.

    Args:
        period: Steps between merges. Default: 5.
        alpha: Weight of the fast weights in a merge. Default: 0.5.

    Example:
        >>> Lookahead(period=0)
        Traceback (most recent call last):
        ...
        ValueError: [sing.Lookahead] wanted period as a whole number of at least 1, got 0
    """

    table: ClassVar[list[Field]] = _fields.LOOKAHEAD
    prefix: ClassVar[str] = "lookahead_"
    period: int = 5
    alpha: float = 0.5
