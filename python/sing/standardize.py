"""Centralize and normalize gradients: the equations in plain PyTorch, and `standardize_`, which applies them in place."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sing.native import has_kernels
from sing.parameters import memory_order, state_dtype

NORMALIZE = ("off", "unit_norm", "size_calibrated")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclasses.dataclass(frozen=True)
class Standardize:
    """How a gradient is standardized; the same fields, with the same defaults, as in the C++ library.

    centralize: subtract each row's mean from tensors of rank 2 and more.
    centralize_axis: the axis whose entries are rows; 0 is the paper's.
    normalize: norm given to each tensor's gradient: "off", "unit_norm" (1, the paper's) or "size_calibrated",
        sqrt(size / reference_size).
    norm_epsilon: added to the norm.
    reference_size: size of a tensor whose calibrated norm is 1.

    >>> Standardize(normalize="unit")
    Traceback (most recent call last):
    ...
    ValueError: [standardize] normalize: wanted one of off, unit_norm, size_calibrated, got 'unit'
    """

    centralize: bool = True
    centralize_axis: int = 0
    normalize: str = "unit_norm"
    norm_epsilon: float = 1e-8
    reference_size: float = 589824

    def __post_init__(self) -> None:
        self._check("centralize", isinstance(self.centralize, bool), "True or False")
        axis = self.centralize_axis
        is_axis = isinstance(axis, int) and not isinstance(axis, bool) and axis >= 0
        self._check("centralize_axis", is_axis, "a whole number of at least 0")
        self._check("normalize", self.normalize in NORMALIZE, f"one of {', '.join(NORMALIZE)}")
        self._check("norm_epsilon", _is_number(self.norm_epsilon) and self.norm_epsilon >= 0, "a number of at least 0")
        self._check("reference_size", _is_number(self.reference_size) and self.reference_size >= 1, "a number of at least 1")

    def _check(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ValueError(f"[standardize] {name}: wanted {wanted}, got {getattr(self, name)!r}")

    @classmethod
    def named(cls, where: str, options: Mapping[str, Any]) -> Standardize:
        """From keyword arguments; an unknown one is an error that names the nearest."""
        for name in options:
            if name not in FIELDS:
                nearest = difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.6)
                hint = f"; did you mean '{nearest[0]}'?" if nearest else f": wanted one of {', '.join(FIELDS)}"
                raise TypeError(f"[{where}] unknown option '{name}'{hint}")
        return cls(**options)

    def overridden(self, group: Mapping[str, Any]) -> Standardize:
        """With what the keys of a parameter group say instead."""
        return dataclasses.replace(self, **{name: group[name] for name in FIELDS if name in group})

    def target(self, size: int) -> float:
        """The norm a tensor of that many elements is given."""
        return math.sqrt(size / self.reference_size) if self.normalize == "size_calibrated" else 1.0


FIELDS = tuple(field.name for field in dataclasses.fields(Standardize))
DEFAULTS = Standardize()


# Above these a sum of squares overflows; in types of up to 32 bits that counts as non-finite on every device.
_LARGEST_NORM = {torch.float32: math.sqrt(torch.finfo(torch.float32).max), torch.float64: math.sqrt(torch.finfo(torch.float64).max)}


class Standardized(NamedTuple):
    """What `standardize_reference` finds; no number in it has been waited for."""

    gradient: Tensor
    norm: Tensor  # 0-d, of the raw gradient, loss scale removed
    finite: Tensor  # 0-d bool


class Outcome(NamedTuple):
    """What `standardize_all` finds: numbers from kernels, 0-d tensors from the equations, None if not waited for."""

    gradient: Tensor
    norm: Tensor | float | None
    finite: Tensor | bool | None


def _without_row_means(values: Tensor, axis: int) -> Tensor:
    """The second mean removes what rounding left of the first, which for rows far from 0 is not small."""
    others = [dimension for dimension in range(values.dim()) if dimension != axis]
    centred = values - values.mean(others, keepdim=True)
    return centred.sub_(centred.mean(others, keepdim=True))


def standardize_reference(gradient: Tensor, options: Standardize = DEFAULTS, loss_scale: float | Tensor = 1.0) -> Standardized:
    """Equations 1 to 3 of docs/algorithm.md for one gradient, on any device, without synchronization.

    The result is a new tensor in the accumulation type, which for 16-bit gradients is float32.

    >>> gradient = torch.tensor([[1.0, 3.0], [2.0, 6.0]])
    >>> standardize_reference(gradient).gradient
    tensor([[-0.3162,  0.3162],
            [-0.6325,  0.6325]])
    """
    work = gradient.detach().to(state_dtype(gradient.dtype))
    # Doubles, as in the library, wherever the device has them: the factor of a tiny norm overflows float32.
    scalar = torch.float32 if work.device.type == "mps" else torch.float64
    squares = (work * work).sum()
    norm = squares.to(scalar).sqrt()
    centred, centred_norm = work, norm
    if options.centralize and work.dim() >= 2 and work.numel() > 0:
        check_axis(work.dim(), options, "standardize")
        centred = _without_row_means(work, options.centralize_axis)
        centred_norm = (centred * centred).sum().to(scalar).sqrt()
    if options.normalize == "off":
        factor = torch.ones_like(norm) / loss_scale
    else:
        factor = options.target(work.numel()) / (centred_norm + options.norm_epsilon * loss_scale)
    # What centring leaves of a row-constant gradient is rounding noise, and must not be blown up to the target norm.
    only_noise = (norm > 0) & (centred_norm <= 8 * torch.finfo(work.dtype).eps * norm)
    factor = torch.where(only_noise | torch.isinf(factor), torch.zeros_like(factor), factor)
    return Standardized(centred * factor.to(work.dtype), norm / loss_scale, torch.isfinite(squares))


def check_axis(rank: int, options: Standardize, where: str) -> None:
    if options.centralize and rank >= 2 and options.centralize_axis >= rank:
        raise ValueError(f"[{where}] centralize_axis: wanted one below the rank {rank}, got {options.centralize_axis}")


def check_gradient(gradient: Tensor, where: str) -> None:
    """Refuses what cannot be standardized: `where` names the tensor."""
    kind = type(gradient).__name__
    if kind in ("DTensor", "FlatParameter"):
        raise TypeError(f"[{where}] wanted a whole tensor, got a {kind}: norms over shards are not supported")
    if gradient.layout != torch.strided:
        raise TypeError(f"[{where}] wanted a dense gradient, got {gradient.layout}")
    if not gradient.is_floating_point():
        raise TypeError(f"[{where}] wanted a floating-point gradient, got {gradient.dtype}")
    if gradient.element_size() == 1:
        raise TypeError(f"[{where}] wanted at least 16 bits an element, got {gradient.dtype}")


def _gradients(tensors: Tensor | Iterable[Any], options: Standardize) -> Iterator[tuple[str, Tensor, Standardize]]:
    """(name, gradient, options) of everything in `tensors` that has a gradient, each once."""
    seen: set[int] = set()
    for index, each in enumerate([tensors] if isinstance(tensors, Tensor) else tensors):
        is_group = isinstance(each, Mapping)
        mine = options.overridden(each) if is_group else options
        for place, entry in enumerate(each["params"] if is_group else [each]):
            name, tensor = entry if isinstance(entry, tuple) else (f"{index}.{place}" if is_group else str(index), entry)
            if not isinstance(tensor, Tensor):
                raise TypeError(f"[standardize_ {name}] wanted a tensor, got {type(tensor).__name__}")
            gradient = tensor.grad if tensor.requires_grad or isinstance(tensor, torch.nn.Parameter) else tensor
            if gradient is not None and id(gradient) not in seen:
                seen.add(id(gradient))
                check_gradient(gradient, f"standardize_ {name}")
                yield name, gradient, mine


def _is_capturing(tensor: Tensor) -> bool:
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _run_kernels(gradients: list[Tensor], written: list[Tensor], options: Standardize, loss_scale: float, wait: bool) -> list[float]:
    device = gradients[0].device
    stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
    text = json.dumps({**dataclasses.asdict(options), "non_finite": "pass_through"})
    norms = torch.ops.sing.standardize(gradients, written, text, loss_scale, stream, wait or device.type == "cpu")
    return norms  # type: ignore[no-any-return]


def standardize_all(
    gradients: list[Tensor], options: list[Standardize], loss_scale: float | Tensor = 1.0, *, in_place: bool, wait: bool = True
) -> list[Outcome]:
    """Standardizes gradients, by the compiled kernels where there are some, into themselves or into tensors like them.

    Without `wait` (and with a number for the loss scale) nothing waits for the device, whose norms and flags may then be None.
    """
    results: dict[int, Outcome] = {}
    kernel_calls: dict[tuple[torch.device, Standardize], list[tuple[int, tuple[int, ...]]]] = {}
    for place, (gradient, mine) in enumerate(zip(gradients, options)):
        order = memory_order(gradient)
        if order is None or not has_kernels(gradient.device.type) or _is_capturing(gradient):
            scale = loss_scale.to(gradient.device) if isinstance(loss_scale, Tensor) else loss_scale
            found = standardize_reference(gradient, mine, scale)
            result = gradient.copy_(found.gradient) if in_place else found.gradient.to(gradient.dtype)
            results[place] = Outcome(result, found.norm, found.finite)
            continue
        if gradient.dim() >= 2 and mine.centralize:
            mine = dataclasses.replace(mine, centralize_axis=order.index(mine.centralize_axis))
        kernel_calls.setdefault((gradient.device, mine), []).append((place, order))
    for (_, mine), entries in kernel_calls.items():
        read = [gradients[place] for place, _ in entries]
        written = read if in_place else [torch.empty_like(each) for each in read]
        orders = [order for _, order in entries]
        views = [[each.permute(order) for each, order in zip(tensors, orders)] for tensors in (read, written)]
        norms = _run_kernels(views[0], views[1], mine, float(loss_scale), wait)
        for (place, _), gradient, norm in itertools.zip_longest(entries, written, norms):
            largest = _LARGEST_NORM.get(gradient.dtype, _LARGEST_NORM[torch.float32])
            finite = None if norm is None else norm * float(loss_scale) <= largest
            results[place] = Outcome(gradient, norm, finite)
    return [results[place] for place in range(len(gradients))]


@torch.no_grad()
def standardize_(
    tensors: Tensor | Iterable[Any],
    *,
    loss_scale: float | Tensor = 1.0,
    error_if_nonfinite: bool = False,
    **options: Any,
) -> None:
    """Centralizes and normalizes gradients in place; call it between backward() and the step of any optimizer.

    tensors: parameters, whose `.grad` is meant (those without one are left out); or gradients, which are tensors that do not
        require one; or (name, tensor) pairs of either; or parameter groups, whose keys take the place of `options`.
    loss_scale: what the gradients were multiplied by. It hardly matters with normalization, which removes it.
    error_if_nonfinite: raise FloatingPointError, before anything is written, if a gradient is infinite or NaN (or its sum of
        squares overflows float32). This waits for the device. Otherwise such a gradient stays non-finite.
    options: `centralize`, `centralize_axis`, `normalize`, `norm_epsilon`, `reference_size`; see `sing.Standardize`.

    >>> layer = torch.nn.Linear(3, 2, bias=False)
    >>> layer.weight.grad = torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    >>> standardize_(layer.parameters())
    >>> layer.weight.grad
    tensor([[-0.5000,  0.0000,  0.5000],
            [ 0.5000,  0.0000, -0.5000]])
    """
    jobs = list(_gradients(tensors, Standardize.named("standardize_", options)))
    for name, gradient, mine in jobs:
        check_axis(gradient.dim(), mine, f"standardize_ {name}")
    gradients, every = [gradient for _, gradient, _ in jobs], [mine for *_, mine in jobs]
    results = standardize_all(gradients, every, loss_scale, in_place=not error_if_nonfinite, wait=error_if_nonfinite)
    if not error_if_nonfinite:
        return
    for (name, _, _), result in zip(jobs, results):
        if not result.finite:
            raise FloatingPointError(f"[standardize_ {name}] wanted a finite gradient, got one that is not")
    for gradient, result in zip(gradients, results):
        gradient.copy_(result.gradient)
