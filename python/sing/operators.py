"""The compiled operators torch.ops.sing.*: where they are looked for, and their errors as Python's."""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
from collections.abc import Callable
from typing import Any

import torch

_HOW_TO_BUILD = "build them with `pip install .` in a clone, or `./dev build` to use the source tree"


def _places() -> list[pathlib.Path]:
    """Files that may hold the operators: the one that SING_OPERATORS names, or the installed one, or that of the source tree's build.

    An editable installation has its modules in the source tree and the compiled one elsewhere; Python's import knows where.
    """
    given = os.environ.get("SING_OPERATORS")
    if given is not None:
        return [pathlib.Path(given)] if given else []
    package = pathlib.Path(__file__).resolve().parent
    installed = importlib.util.find_spec("sing._operators")
    found = pathlib.Path(installed.origin) if installed and installed.origin else package / "_operators.so"
    return [found, package.parent.parent / "build" / "dev" / "python" / "_operators.so"]


@functools.cache
def _problem() -> str:
    """Loads the operators, once; returns what went wrong, or an empty text.

    Raises:
        RuntimeError: SING_OPERATORS names a file that is not there or does not load.
    """
    places = _places()
    path = next((each for each in places if each.is_file()), None)
    problem = ""
    if path is None:
        problem = "found none at " + (" or ".join(map(str, places)) or "the empty path that SING_OPERATORS names")
    else:
        try:
            torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
        except OSError as error:
            problem = f"could not load {path}: {error}"
    if problem and os.environ.get("SING_OPERATORS"):
        raise RuntimeError(f"[SING_OPERATORS] wanted the compiled operators, {problem}")
    return problem


def require(where: str) -> None:
    """Loads the operators.

    Args:
        where: The caller, for the message.

    Raises:
        RuntimeError: They were not found or do not load.
    """
    problem = _problem()
    if problem:
        raise RuntimeError(f"[{where}] wanted the compiled operators, {problem}; {_HOW_TO_BUILD}")


@functools.cache
def has_kernels(device_type: str) -> bool:
    """Returns whether the compiled operators take steps on devices of this type, such as "cpu" or "cuda".

    Parameters on other devices are copied to the CPU and back at every step.

    Args:
        device_type: The type of a torch.device.

    Returns:
        False also if the operators were not found.

    Example:
        >>> import sing
        >>> sing.has_kernels("cpu")
        True
    """
    return not _problem() and bool(operators.has_kernels(device_type))


def why_no_cuda() -> str:
    """Why the operators were built without CUDA kernels, as their build recorded it; empty if they have them."""
    return str(operators.why_no_cuda())


class _Operators:
    """torch.ops.sing, with ValueError for what the library refuses and OSError for what the system refuses."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = getattr(torch.ops.sing, name).default

        def call(*arguments: Any) -> Any:
            try:
                return operator(*arguments)
            except RuntimeError as error:
                kind, _, message = str(error).partition(": ")
                if kind == "ValueError":
                    raise ValueError(message) from None
                if kind.startswith("OSError "):
                    # Python makes a FileNotFoundError of the number 2, and so on.
                    raise OSError(int(kind.removeprefix("OSError ")), message) from None
                raise

        setattr(self, name, call)
        return call


operators = _Operators()
