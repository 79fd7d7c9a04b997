"""Centralizing and normalizing gradients by the library's kernels, and `standardize_`, which does it in place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sing.operators import operators, require
from sing.option_sets import Standardize
from sing.parameters import kernel_device
from sing.sharding import ShardSums, check_placements, is_dtensor, like, local


class Outcome(NamedTuple):
    """A standardized gradient; its norm before that, without the loss scale, and whether it was finite (None: not waited for)."""

    gradient: Tensor
    norm: float | None
    finite: bool | None


class Job(NamedTuple):
    """A gradient to be standardized, and what it is called in messages."""

    name: str
    gradient: Tensor
    options: Standardize


def check_job(job: Job, where: str) -> None:
    """Refuses a gradient that cannot be standardized."""
    who, gradient = f"[{where} '{job.name}']", job.gradient
    if is_dtensor(gradient):
        check_placements(gradient, who)
    if gradient.layout != torch.strided:
        raise TypeError(f"{who} wanted a dense gradient, got {gradient.layout}")
    if gradient.is_meta:
        raise TypeError(f"{who} wanted memory, got a gradient on the meta device")
    if not gradient.is_floating_point():
        raise TypeError(f"{who} wanted a floating-point gradient, got {gradient.dtype}")
    if gradient.element_size() == 1:
        raise TypeError(f"{who} wanted at least 16 bits per element, got {gradient.dtype}")
    check_axis(job.options, gradient, who)


def check_axis(options: Standardize, tensor: Tensor, who: str) -> None:
    """Refuses an axis that the tensor does not have."""
    axis, rank = options.centralize_axis, tensor.dim()
    if rank >= 2 and axis >= rank:
        raise ValueError(f"{who} wanted centralize_axis below the rank {rank}, got {axis}")


def standardize_all(
    jobs: list[Job],
    loss_scale: float | Tensor = 1.0,
    *,
    where: str,
    in_place: bool = False,
    into: list[Tensor] | None = None,
    wait: bool = True,
) -> list[Outcome]:
    """Standardizes gradients.

    Args:
        jobs: The gradients, checked by check_job().
        loss_scale: The factor that the gradients were multiplied by.
        where: The caller, for messages.
        in_place: Write into the gradients themselves.
        into: Tensors like the gradients to write into. Without them and `in_place`, the results are new tensors.
        wait: Wait for norms and flags. Without it (and with a number for the loss scale) nothing waits for a CUDA device, whose
            norms and flags are then None.

    Returns:
        One outcome per job, in their order.
    """
    require(where)
    scale = float(loss_scale)
    read: list[Tensor] = []
    written: list[Tensor] = []
    calls: dict[tuple[torch.device, Standardize], list[int]] = {}
    for place, (name, whole, options) in enumerate(jobs):
        gradient = local(whole)
        device = kernel_device(gradient, name, where)
        if device == gradient.device and operators.takes_order(gradient, "gradient"):
            read.append(gradient)
            written.append(gradient if in_place else local(into[place]) if into else torch.empty_like(gradient))
        else:
            copy = torch.empty(gradient.shape, dtype=gradient.dtype, device=device).copy_(gradient)
            read.append(copy)
            written.append(copy)
        calls.setdefault((device, options), []).append(place)
    found: dict[int, tuple[float, int]] = {}
    shard_sums = ShardSums()
    for (device, options), places in calls.items():
        stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
        text = json.dumps({**options.as_group_keys(), "non_finite": "pass_through"})
        sources, results = [read[place] for place in places], [written[place] for place in places]
        shards = shard_sums.describe([jobs[place].gradient for place in places], [jobs[place].name for place in places], where)
        address = shard_sums.on_device_address if device.type == "cuda" else shard_sums.address
        try:
            norms, flags = operators.standardize(
                sources, results, shards, address if shards != "[]" else 0, text, scale, stream, wait or device.type == "cpu"
            )
        except RuntimeError:
            shard_sums.raise_failure()
            raise
        found.update(zip(places, zip(norms, flags)))
    outcomes = []
    for place, job in enumerate(jobs):
        target = job.gradient if in_place else into[place] if into else None
        if target is None:
            result = like(job.gradient, written[place].to(job.gradient.device))
        else:
            result = target
            if local(target) is not written[place]:
                local(target).copy_(written[place])  # the gradient was copied for the kernels
        norm, flag = found.get(place, (None, None))
        outcomes.append(Outcome(result, norm, None if flag is None else bool(flag)))
    return outcomes


def _jobs(tensors: Tensor | Iterable[Any], options: Standardize) -> Iterator[Job]:
    """Returns everything in `tensors` that has a gradient, each once."""
    seen: set[int] = set()
    for index, each in enumerate([tensors] if isinstance(tensors, Tensor) else tensors):
        is_group = isinstance(each, Mapping)
        mine = options.overridden(each) if is_group else options
        for place, entry in enumerate(each["params"] if is_group else [each]):
            name, tensor = entry if isinstance(entry, tuple) else (f"{index}.{place}" if is_group else str(index), entry)
            if not isinstance(tensor, Tensor):
                raise TypeError(f"[sing.standardize_ '{name}'] wanted a tensor, got {type(tensor).__name__}")
            gradient = tensor.grad if tensor.requires_grad or isinstance(tensor, torch.nn.Parameter) else tensor
            if gradient is not None and id(gradient) not in seen:
                seen.add(id(gradient))
                yield Job(name, gradient, mine)


@torch.no_grad()
def standardize_(
    tensors: Tensor | Iterable[Any],
    *,
    loss_scale: float | Tensor = 1.0,
    error_if_nonfinite: bool = False,
    **options: Any,
) -> None:
    """Centralizes and normalizes gradients in place; call it between backward() and the step of any optimizer.

    Args:
        tensors: Parameters, whose `.grad` is standardized if there is one; or gradients, which are tensors that do not require a
            gradient themselves; or (name, tensor) pairs of either; or parameter groups, whose keys take precedence over `options`.
        loss_scale: The factor that the gradients were multiplied by. Normalization removes it, so it then hardly matters.
        error_if_nonfinite: Raise if a gradient is infinite or NaN, or its sum of squares overflows float32. This waits for the
            device. Otherwise such a gradient stays non-finite.
        options: Fields of `sing.Standardize`.

    Raises:
        FloatingPointError: A gradient is not finite, and error_if_nonfinite is True; no gradient was changed.
        TypeError, ValueError: A tensor or an option is refused; no gradient was changed.

    Example:
        >>> layer = torch.nn.Linear(3, 2, bias=False)
        >>> layer.weight.grad = torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        >>> standardize_(layer.parameters())
        >>> layer.weight.grad
        tensor([[-0.5000,  0.0000,  0.5000],
                [ 0.5000,  0.0000, -0.5000]])
    """
    where = "sing.standardize_"
    jobs = list(_jobs(tensors, Standardize.from_keywords(options, where)))
    for job in jobs:
        check_job(job, where)
    results = standardize_all(jobs, loss_scale, where=where, in_place=not error_if_nonfinite, wait=error_if_nonfinite)
    if not error_if_nonfinite:
        return
    for job, result in zip(jobs, results):
        if not result.finite:
            raise FloatingPointError(f"[{where} '{job.name}'] wanted a finite gradient, got one that is not")
    for job, result in zip(jobs, results):
        job.gradient.copy_(result.gradient)
