"""`param_groups`: groups of a model's parameters, by how weight decay and centralization should treat them."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from sing.field import Field

_WHERE = "sing.param_groups"
_WEIGHT_DECAY = Field("weight_decay", "float", 0.0, "", low=0)
# "Norm" at the end of a class name: LayerNorm, RMSNorm, BatchNorm2d, LlamaRMSNorm, but not NormalizedLinear.
_NORM_CLASS = re.compile(r"Norm(\d?d)?(Act\d?d?)?$|LayerScale")
# Names that models give to the gain of a residual branch when it is a bare parameter: CaiT, ConvNeXt, BEiT, DINOv2.
_LAYER_SCALE_NAME = re.compile(r"(^|\.)(gamma(_\d+)?|lambda_?\d*|layer_?scale\w*|ls\d+)(\.\w+)?$")


def is_norm_parameter(module: nn.Module, name: str, parameter: Tensor) -> bool:
    """Returns whether `parameter`, called `name` in full and held by `module`, belongs to a normalization layer or a LayerScale."""
    by_class = any(_NORM_CLASS.search(kind.__name__) for kind in type(module).__mro__)
    return by_class or (parameter.dim() <= 1 and _LAYER_SCALE_NAME.search(name) is not None)


def output_axis(module: nn.Module, name: str) -> int:
    """Returns the axis of the output channels in a module's weight: 1 if the module stores it transposed, else 0."""
    if name != "weight":
        return 0
    if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
        return 1 if module.groups == 1 else 0  # with groups, axis 1 would mix channels of different ones
    return 1 if type(module).__name__ == "Conv1D" else 0  # transformers' linear layer of GPT-2


def _trainable(model: nn.Module) -> Iterator[tuple[str, str, nn.Module, nn.Parameter]]:
    """Yields (full name, name in its module, module, parameter) once per parameter: a tied weight under its first name."""
    seen: set[int] = set()
    for prefix, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                yield (f"{prefix}.{name}" if prefix else name), name, module, parameter


def _all_names(model: nn.Module) -> dict[nn.Parameter, list[str]]:
    """The names of each trainable parameter; a tied weight has several."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.requires_grad:
            names.setdefault(parameter, []).append(name)
    return names


def _matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name, pattern in itertools.product(names, patterns))


def _check_patterns(patterns: Iterable[str], names: list[str]) -> None:
    for pattern in patterns:
        if not _matches(names, [pattern]):
            raise ValueError(f"[{_WHERE}] wanted patterns that match a trainable parameter, got '{pattern}', which matches none")


def param_groups(
    model: nn.Module,
    weight_decay: float = 0.0,
    *,
    freeze_norms: bool = False,
    no_decay: Iterable[str] = (),
    output_rows: bool = False,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Parameter groups for `sing.SING`, or for any torch optimizer, attached or not.

    Every trainable parameter is in exactly one group; tied weights count once; frozen parameters are left out. Weight decay is 0
    for tensors of rank 0 and 1, for biases, for normalization layers and LayerScales, and for names in `no_decay`. Tensors of
    rank 2 and more with one element per row get `centralize=False`, because subtracting the mean would always leave 0.

    Args:
        model: The model. Patterns (`*`, `?`, `[...]`) are matched against its parameters' names, as in named_parameters(), and
            a tied weight matches under each of its names.
        weight_decay: Weight decay of all other parameters.
        freeze_norms: Set requires_grad to False on normalization layers and LayerScales, as the paper advises for SING.
        no_decay: Patterns of names, in addition to the names that `model.no_weight_decay()` returns (timm's convention).
        output_rows: Centralize over output channels also where a module keeps its weight transposed (ConvTranspose*,
            transformers' Conv1D), by `centralize_axis` 1. False uses axis 0 everywhere, as the paper does.
        overrides: Options by pattern, as {"head.*": {"lr": 1e-3}, "*embedding*": {"normalize": "off"}}; later ones win.

    Returns:
        Groups with `params`, `param_names`, a `name` and `weight_decay`, and other keys only where they are not the default.

    Raises:
        TypeError, ValueError: The model has no trainable parameters, a pattern matches none, or an argument is refused.

    Example:
        >>> model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))
        >>> for group in param_groups(model, weight_decay=0.05, overrides={"2.*": {"lr": 1e-3}}):
        ...     print(group["name"], group["weight_decay"], group["param_names"])
        decay 0.05 ['0.weight']
        no_decay 0.0 ['0.bias', '1.weight', '1.bias']
        decay, lr=0.001 0.05 ['2.weight']
        no_decay, lr=0.001 0.0 ['2.bias']
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"[{_WHERE}] wanted a torch.nn.Module, whose layers say what a parameter is, got {type(model).__name__}"
        )
    _WEIGHT_DECAY.check(weight_decay, _WHERE)
    no_decay, overrides = list(no_decay), overrides or {}
    names = _all_names(model)
    _check_patterns([*no_decay, *overrides], [*itertools.chain(*names.values())])
    if freeze_norms:
        for name, _, module, parameter in list(_trainable(model)):
            if is_norm_parameter(module, name, parameter):
                parameter.requires_grad_(False)
    exempt = [*no_decay, *_exempt_by_model(model)]
    groups: dict[str, dict[str, Any]] = {}
    for name, own_name, module, parameter in _trainable(model):
        decays = parameter.dim() >= 2 and own_name != "bias" and not own_name.endswith("_bias")
        decays = decays and not is_norm_parameter(module, name, parameter) and not _matches(names[parameter], exempt)
        options = _centralization(parameter, output_axis(module, own_name) if output_rows else 0)
        for pattern, values in overrides.items():
            options.update(values if _matches(names[parameter], [pattern]) else {})
        title = ", ".join(["decay" if decays else "no_decay", *(f"{key}={value}" for key, value in sorted(options.items()))])
        fresh = {"name": title, "params": [], "param_names": [], "weight_decay": weight_decay if decays else 0.0, **options}
        group = groups.setdefault(title, fresh)
        group["params"].append(parameter)
        group["param_names"].append(name)
    if not groups:
        raise ValueError(f"[{_WHERE}] wanted a model with trainable parameters, got none")
    return list(groups.values())


def _exempt_by_model(model: nn.Module) -> list[str]:
    named = getattr(model, "no_weight_decay", None)
    return [re.sub(r"([*?[])", r"[\1]", name) for name in named()] if callable(named) else []


def _centralization(parameter: Tensor, axis: int) -> dict[str, Any]:
    if parameter.dim() < 2:
        return {}
    if parameter.numel() == parameter.shape[axis]:
        return {"centralize": False}
    return {"centralize_axis": axis} if axis != 0 else {}
