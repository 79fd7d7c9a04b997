"""What a parameter must be to be optimized, and how it lies in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type of a parameter's state: never below float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check_parameter(parameter: Tensor, name: str) -> None:
    """Refuses what cannot be optimized right, naming the parameter."""
    who = f"[sing] parameter '{name}':"
    kind = type(parameter).__name__
    is_shard = kind in ("DTensor", "FlatParameter") or getattr(parameter, "_is_flat_param", False)
    if is_shard or getattr(parameter, "_fsdp_flattened", False) or hasattr(parameter, "ds_tensor"):
        raise TypeError(
            f"{who} wanted a whole tensor, got a shard ({kind}): rows and norms are those of the whole tensor, and sharded "
            "norms are not supported"
        )
    if parameter.layout != torch.strided:
        raise TypeError(f"{who} wanted a dense tensor, got one of layout {parameter.layout}")
    if parameter.dtype not in DTYPES:
        raise TypeError(f"{who} wanted {', '.join(DTYPES.values())}, got {parameter.dtype}")
    if parameter.is_meta:
        raise TypeError(f"{who} wanted memory, got a tensor on the meta device: load the model first")
    if any(stride == 0 and size > 1 for stride, size in zip(parameter.stride(), parameter.shape)):
        raise ValueError(f"{who} elements share memory (an expanded tensor): clone it first")


def memory_order(tensor: Tensor) -> tuple[int, ...] | None:
    """The order of axes in which a dense tensor is contiguous, as channels_last ones are; None: it has gaps."""
    order = tuple(range(tensor.dim()))
    if tensor.is_contiguous():
        return order
    by_stride = tuple(sorted(order, key=tensor.stride, reverse=True))
    return by_stride if tensor.permute(by_stride).is_contiguous() else None


def suits_kernels(parameter: Tensor, group: Mapping[str, Any], rule: str) -> bool:
    """Whether the compiled kernels see this tensor's rows and matrices where they are."""
    order = memory_order(parameter)
    if order is None:
        return False
    if parameter.dim() < 2 or order == tuple(range(parameter.dim())):
        return True
    axis = int(group["centralize_axis"])
    is_row_kept = not group["centralize"] or (axis < len(order) and order[axis] == axis)
    is_matrix_kept = rule != "adafactor" or order[-2:] == (parameter.dim() - 2, parameter.dim() - 1)
    is_first_kept = rule != "muon" or order[0] == 0
    return is_row_kept and is_matrix_kept and is_first_kept


def names_of(groups: list[dict[str, Any]]) -> list[list[str]]:
    """Names by group: those given, or each parameter's position in the optimizer."""
    names, count = [], 0
    for group in groups:
        given = group.get("param_names")
        names.append([str(each) for each in given] if given else [str(count + i) for i in range(len(group["params"]))])
        count += len(group["params"])
    return names
