"""The compiled operators torch.ops.sing.*: where they are looked for, and their errors as Python's."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any

import torch

_HOW_TO_BUILD = "build them with `pip install .` in a clone, or `./dev build` to use the source tree"


def _places() -> list[pathlib.Path]:
    """Files that may hold the operators: the one that SING_OPERATORS names, or in the package, or in the source tree's build."""
    package = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("SING_OPERATORS")
    if given is not None:
        return [pathlib.Path(given)] if given else []
    return [package / "_operators.so", package.parent.parent / "build" / "dev" / "python" / "_operators.so"]


@functools.cache
def _problem() -> str:
    """Loads the operators, once; returns what went wrong, or an empty text."""
    places = _places()
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        return "found none at " + (" or ".join(map(str, places)) or "the empty path that SING_OPERATORS names")
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        return f"could not load {path}: {error}"
    return ""


def require(where: str) -> None:
    """Loads the operators.

    Args:
        where: Who needs them, for the message.

    Raises:
        RuntimeError: They were not found or do not load.
    """
    problem = _problem()
    if problem:
        raise RuntimeError(f"[{where}] wanted the compiled operators, {problem}; {_HOW_TO_BUILD}")


@functools.cache
def has_kernels(device_type: str) -> bool:
    """Whether the compiled operators take steps on devices of this type, such as "cpu" or "cuda".

    Parameters on other devices are copied to the CPU and back at every step.
    """
    return not _problem() and bool(operators.has_kernels(device_type))


class _Operators:
    """torch.ops.sing, with ValueError for what the library refuses."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = getattr(torch.ops.sing, name).default

        def call(*arguments: Any) -> Any:
            try:
                return operator(*arguments)
            except RuntimeError as error:
                kind, _, message = str(error).partition(": ")
                if kind == "ValueError":
                    raise ValueError(message) from None
                raise

        setattr(self, name, call)
        return call


operators = _Operators()
