"""Checks whether a parameter can be optimized, and finds the device that serves it and its name."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from sing.operators import has_kernels, why_no_cuda
from sing.sharding import check_placements, is_dtensor, local

_CPU = torch.device("cpu")
_warned_about: set[str] = set()  # types of devices

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type of a parameter's state: never below float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check_parameter(parameter: Tensor, name: str, where: str) -> None:
    """Refuses a parameter that cannot be optimized correctly, and names it."""
    who = f"[{where}] parameter '{name}':"
    kind = type(parameter).__name__
    is_flat = kind == "FlatParameter" or getattr(parameter, "_is_flat_param", False)
    if is_flat or getattr(parameter, "_fsdp_flattened", False) or hasattr(parameter, "ds_tensor"):
        raise TypeError(
            f"{who} wanted a tensor or a DTensor, got a piece of flattened parameters ({kind}), which does not say where its rows "
            "are; shard with torch.distributed.fsdp.fully_shard, which gives DTensors"
        )
    if is_lazy(parameter):
        raise TypeError(f"{who} wanted a parameter with a shape, got that of a lazy module; run the model once first")
    if is_dtensor(parameter):
        check_placements(parameter, who)
        parameter = local(parameter)
    if parameter.layout != torch.strided:
        raise TypeError(f"{who} wanted a dense tensor, got one of layout {parameter.layout}")
    if parameter.dtype not in DTYPES:
        raise TypeError(f"{who} wanted one of {', '.join(map(str, DTYPES))}, got {parameter.dtype}")
    if parameter.is_meta:
        raise TypeError(f"{who} wanted memory, got a tensor on the meta device; load the model first")
    if _overlaps_itself(parameter):
        raise ValueError(f"{who} wanted memory of its own for each element, got strides {parameter.stride()}; clone it first")


def _overlaps_itself(tensor: Tensor) -> bool:
    """Returns whether elements share memory, as those of an expanded tensor do."""
    if tensor.numel() == 0:
        return False
    reach = 0  # elements spanned by the axes so far
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def kernel_device(tensor: Tensor, name: str, where: str) -> torch.device:
    """The device on which kernels serve a tensor: its own, or the CPU after one warning per type of device."""
    device = tensor.device
    if has_kernels(device.type):
        return device
    if device.type not in _warned_about:
        _warned_about.add(device.type)
        remedy = ""
        if device.type == "cuda":
            remedy = f"; the package was built without CUDA kernels ({why_no_cuda()}): pip install . -C cmake.define.SING_CUDA=ON"
        warnings.warn(
            f"[{where}] '{name}' is on {device}, for which there are no kernels: it is copied to the CPU and back at every "
            f"step{remedy}",
            stacklevel=3,
        )
    return _CPU


def names_of(groups: list[dict[str, Any]]) -> list[list[str]]:
    """Names by group: those given, or each parameter's position in the optimizer."""
    names, count = [], 0
    for group in groups:
        given = group.get("param_names")
        names.append([str(each) for each in given] if given else [str(count + i) for i in range(len(group["params"]))])
        count += len(group["params"])
    return names
