"""LookAhead on torch tensors: its options and its merge (docs/algorithm.md, eq. 8)."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor


@dataclasses.dataclass(frozen=True)
class Lookahead:
    """Every `period` steps of a group p <- alpha p + (1 - alpha) slow and slow <- p.

    >>> Lookahead(period=0)
    Traceback (most recent call last):
    ...
    ValueError: [lookahead] period: wanted a whole number of at least 1, got 0
    """

    period: int = 5
    alpha: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.period, int) or isinstance(self.period, bool) or self.period < 1:
            raise ValueError(f"[lookahead] period: wanted a whole number of at least 1, got {self.period!r}")
        if not isinstance(self.alpha, (int, float)) or isinstance(self.alpha, bool) or not 0 <= self.alpha <= 1:
            raise ValueError(f"[lookahead] alpha: wanted a number in [0, 1], got {self.alpha!r}")


@torch.no_grad()
def merge(fast: list[Tensor], slow: list[Tensor], alpha: float) -> None:
    """Draws each fast tensor to its slow one, in the slow one's type, and leaves the same weights in both."""
    torch._foreach_mul_(slow, 1 - alpha)
    torch._foreach_add_(slow, fast, alpha=alpha)
    torch._foreach_copy_(fast, slow)
