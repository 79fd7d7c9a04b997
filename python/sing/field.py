"""One option as the library describes it, and the check of a value for it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor


class Field(NamedTuple):
    """An option's name, kind, default, bounds and help text: a row of the library's own list."""

    name: str
    kind: str  # bool, int, float, optional_float, choice, or knots of a schedule
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    open_high: bool = False
    choices: tuple[str, ...] = ()

    def check(self, value: Any, where: str, key: str | None = None) -> None:
        """Refuses a value of the wrong kind (TypeError) or out of bounds (ValueError).

        Args:
            value: The value given for the option.
            where: The beginning of the message, as in "[sing.SING] wanted ...".
            key: The option's name in the message, if it is not the field's own.
        """
        if value is None and self.kind == "optional_float":
            return
        if not self._has_kind(value):
            raise TypeError(self._refusal(value, where, key))
        if self.kind == "choice":
            if value not in self.choices:
                raise ValueError(self._refusal(value, where, key))
        elif self.kind != "bool" and not self._is_in_bounds(float(value)):
            raise ValueError(self._refusal(value, where, key))

    def _has_kind(self, value: Any) -> bool:
        if self.kind == "bool":
            return isinstance(value, bool)
        if self.kind == "choice":
            return isinstance(value, str)
        is_text_or_flag = isinstance(value, (str, bytes, bool, Tensor))
        return hasattr(value, "__float__") and not is_text_or_flag

    def _is_in_bounds(self, number: float) -> bool:
        if not math.isfinite(number) or (self.kind == "int" and number != int(number)):
            return False
        if self.low is not None and number < self.low:
            return False
        return self.high is None or (number < self.high if self.open_high else number <= self.high)

    def _refusal(self, value: Any, where: str, key: str | None) -> str:
        got = f"a tensor {tuple(value.shape)} of {value.dtype}" if isinstance(value, Tensor) else repr(value)
        return f"[{where}] wanted {key or self.name} as {self._wanted()}, got {got}"

    def _wanted(self) -> str:
        if self.kind == "bool":
            return "True or False"
        if self.kind == "choice":
            return "one of " + ", ".join(map(repr, self.choices))
        text = "a whole number" if self.kind == "int" else "a number"
        if self.high is not None:
            text += f" in [{self.low:g}, {self.high:g}{')' if self.open_high else ']'}"
        elif self.low is not None:
            text += f" of at least {self.low:g}"
        return text + (" or None" if self.kind == "optional_float" else "")


def nearest_name(name: str, known: Iterable[str], closeness: float = 0.6) -> str | None:
    """Returns the known name that is nearest to `name`, or None if none is close enough. Of equally near ones it is the first."""
    near = [(difflib.SequenceMatcher(None, each, name).ratio(), each) for each in known]
    closest, found = max(near, key=lambda pair: pair[0], default=(0.0, None))
    return found if closest >= closeness else None


def unknown_option(name: str, known: Iterable[str], where: str) -> TypeError:
    """Returns the error for an unknown keyword."""
    known = list(known)
    nearest = nearest_name(name, known)
    wanted = f"one of {', '.join(known)}" if known and not nearest else "an option" if known else "no options"
    hint = f"; did you mean '{nearest}'?" if nearest else ""
    return TypeError(f"[{where}] wanted {wanted}, got '{name}'{hint}")
