"""Defines float64 numbers that carry a bound on the rounding error that the same computation has in another number format.

This is running error analysis: every operation propagates the errors of its operands, to first order, and adds the rounding error
of its result. A tolerance therefore needs no separate constant: an ill-conditioned case (a small difference of large numbers, a
division by a small number) has a wide bound, and a well-conditioned one a bound of a few units in the last place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

@dataclass(frozen=True)
class Format:
    """Describes the number format that the library computes in."""

    unit: float  # largest relative error of one operation
    tiny: float  # smallest positive number, which is the error of a result that underflows
    largest: float
    epsilon: float  # distance from 1 to the next number
    block_sums_are_wider: bool  # blocks are added in a wider format, so their number does not matter

    def sum_roundings(self, count):
        """Returns by how many units a sum of this many numbers may be off.

        The sum runs in lanes, which are then added in a tree (docs/numerics.md): a lane of a block makes at most 128 additions in
        sequence. Their roundings are independent, so their sum grows like the square root of their number, 11; 32 leaves a margin.
        """
        return 32 if self.block_sums_are_wider else max(32, count)


FLOAT32 = Format(unit=2.0**-24, tiny=2.0**-149, largest=float(np.finfo(np.float32).max), epsilon=2.0**-23,
                 block_sums_are_wider=True)  # fmt: skip
# The unit is twice the roundoff of float64, because the computation that the library is compared with rounds as well.
FLOAT64 = Format(unit=2.0**-52, tiny=2.0**-1074, largest=float(np.finfo(np.float64).max), epsilon=2.0**-52,
                 block_sums_are_wider=False)  # fmt: skip


class Bounded:
    """Holds an array of values and, for each value, a bound on its distance from the library's result."""

    __slots__ = ("error", "format", "value")
    __array_ufunc__ = None  # numpy's numbers leave operations with a Bounded to this class

    def __init__(self, value, format, error=0.0):
        self.value = np.asarray(value, dtype=np.float64)
        error = np.asarray(error, dtype=np.float64)
        error = np.where(np.isnan(error), np.inf, error)  # infinity times 0: nothing is known
        self.error = np.broadcast_to(error, self.value.shape)
        self.format = format

    def rounded(self, roundings=1.0):
        """Returns the value with the error of this many roundings of the result added."""
        size = np.abs(self.value)
        own = np.where((size > 0) | (self.error > 0), roundings * (self.format.unit * size + self.format.tiny), 0.0)
        return Bounded(self.value, self.format, self.error + own)

    def _other(self, other):
        """Converts a plain number: a constant of the step, which the library computes in double and rounds once."""
        if isinstance(other, Bounded):
            return other
        return Bounded(other, self.format, self.format.unit * np.abs(np.asarray(other, dtype=np.float64)))

    def __neg__(self):
        return Bounded(-self.value, self.format, self.error)

    def __add__(self, other):
        other = self._other(other)
        return Bounded(self.value + other.value, self.format, self.error + other.error).rounded()

    def __sub__(self, other):
        return self + (-self._other(other))

    def __mul__(self, other):
        other = self._other(other)
        error = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return Bounded(self.value * other.value, self.format, error).rounded()

    def __truediv__(self, other):
        other = self._other(other)
        with np.errstate(all="ignore"):
            value = self.value / other.value
            size = np.abs(other.value)
            error = (self.error + np.abs(value) * other.error) / (size - other.error)
            error = np.where(other.error < size, error, np.inf)
        return Bounded(value, self.format, error).rounded()

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return self._other(other) - self

    def __rtruediv__(self, other):
        return self._other(other) / self

    def sqrt(self):
        value = np.sqrt(self.value)
        with np.errstate(all="ignore"):
            # |sqrt(a) - sqrt(b)| is |a - b| divided by the sum of the roots, and at most the root of |a - b|.
            error = np.fmin(self.error / value, np.sqrt(self.error))
        return Bounded(value, self.format, error).rounded()

    def sum(self, axes=None, roundings=None):
        value = self.value.sum(axes, keepdims=True)
        if roundings is None:
            roundings = self.format.sum_roundings(self.value.size // max(value.size, 1))
        error = self.error.sum(axes, keepdims=True) + roundings * self.format.unit * np.abs(self.value).sum(axes, keepdims=True)
        return Bounded(value, self.format, error).rounded()

    def mean(self, axes=None, roundings=None):
        total = self.sum(axes, roundings)
        return total / (self.value.size / max(total.value.size, 1))

    def norm(self):
        """Returns the root of the sum of squares, a scalar."""
        size = np.abs(self.value)
        largest = size.max(initial=0.0) or 1.0  # divides the values so that their squares neither overflow nor underflow
        value = largest * np.sqrt(np.square(size / largest).sum())
        roundings = self.format.sum_roundings(size.size) + 1
        error = (2 * size * self.error + np.square(self.error)).sum() + roundings * self.format.unit * value * value
        error = error + self.format.tiny * np.count_nonzero(size)
        with np.errstate(all="ignore"):
            return Bounded(value, self.format, np.fmin(error / value, np.sqrt(error))).rounded()

    def minimum(self, other):
        other = self._other(other)
        return Bounded(np.minimum(self.value, other.value), self.format, np.maximum(self.error, other.error))

    def maximum(self, other):
        other = self._other(other)
        return Bounded(np.maximum(self.value, other.value), self.format, np.maximum(self.error, other.error))

    def sign(self):
        """Returns the sign; within rounding error of zero it may be any of the three."""
        return Bounded(np.sign(self.value), self.format, np.where(np.abs(self.value) <= self.error, 2.0 * (self.error > 0), 0.0))
