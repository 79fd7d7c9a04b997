"""Centralization, normalization and LookAhead around any torch optimizer: `attach`, `detach`, `attachment`."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch.optim import Optimizer

from sing import _fields
from sing.hooks import ATTRIBUTE, SLOW, WHERE, Attachment, forget_slow_weights
from sing.operators import require
from sing.option_sets import Lookahead, Standardize
from sing.options import COUNTER, lookahead_keys
from sing.parameters import state_dtype

__all__ = ["Attachment", "attach", "attachment", "detach"]

OptimizerT = TypeVar("OptimizerT", bound=Optimizer)

_NON_FINITE = next(field for field in _fields.OTHERS if field.name == "non_finite")


def _check_host(optimizer: Any) -> None:
    kind = type(optimizer).__name__
    if not isinstance(optimizer, Optimizer) or "_optimizer_step_pre_hooks" not in vars(optimizer):
        hint = "; attach to the optimizer inside it" if hasattr(optimizer, "optimizer") else ""
        raise TypeError(f"[{WHERE}] wanted a torch.optim.Optimizer with step hooks, got {kind}{hint}")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError(
            f"[{WHERE}] wanted an optimizer that takes any gradients, got LBFGS: it estimates curvature from their differences, "
            "which standardizing removes"
        )
    if hasattr(optimizer, ATTRIBUTE):
        raise ValueError(f"[{WHERE}] wanted an optimizer that is not attached, got an attached {kind}; sing.detach() it first")
    taken = [key for key in (*Standardize.named_fields(), "lookahead", COUNTER) if key in optimizer.defaults]
    if taken and type(optimizer).__module__.startswith("sing."):
        raise ValueError(
            f"[{WHERE}] wanted an optimizer of torch or another package, got sing.{kind}, which takes centralize, normalize and "
            "lookahead itself"
        )
    if taken:
        raise ValueError(f"[{WHERE}] wanted an optimizer without options named {', '.join(taken)}, got {kind}, which has them")
    for group in optimizer.param_groups:
        if group.get("differentiable"):
            raise ValueError(f"[{WHERE}] wanted differentiable=False, got True")
    for index, parameter in enumerate(each for group in optimizer.param_groups for each in group["params"]):
        slow, wanted = optimizer.state.get(parameter, {}).get(SLOW), state_dtype(parameter.dtype)
        if slow is not None and slow.dtype != wanted:
            raise ValueError(
                f"[{WHERE}] wanted slow weights of {wanted} for parameter {index}, got {slow.dtype}; attach before load_state_dict()"
            )


def attach(
    optimizer: OptimizerT,
    *,
    lookahead: bool | Lookahead = True,
    non_finite: str = "skip_tensor",
    **options: Any,
) -> OptimizerT:
    """Makes any torch optimizer step with centralized and normalized gradients and LookAhead.

    Every option is also a key of the parameter groups (LookAhead's are `lookahead`, `lookahead_period` and `lookahead_alpha`):
    a group that has it already keeps its own value.

    The gradients that the host sees are copies; after step() every `.grad` is the same tensor with the same values.
    LookAhead's slow weights are in `optimizer.state[p]["slow"]` (float32 for 16-bit parameters) and its counter in the group's
    `lookahead_step`: state_dict() and load_state_dict() carry both, and copies and pickles of the optimizer stay attached.
    An optimizer that evaluates its closure several times gets standardized gradients after each evaluation.

    With normalization the scale of a gradient does not matter: clipping its norm first has no effect, and a GradScaler's scale
    need not be removed (a fused host is told that the scale is 1). The host keeps its own weight decay and epsilon.

    Args:
        optimizer: Any `torch.optim.Optimizer`, with whatever groups, schedulers, closures or GradScaler it is used with. Only
            LBFGS is refused: it estimates curvature from differences of gradients, which lose their meaning.
        lookahead: True (the defaults of `sing.Lookahead`), a `sing.Lookahead`, or False.
        non_finite: What happens to an infinite or NaN gradient: "skip_tensor" skips the parameter, "skip_step" skips all
            parameters, "throw" raises FloatingPointError with nothing changed, "pass_through" passes the gradient to the host. All
            but the last wait for the device once per step.
        options: Fields of `sing.Standardize`.

    Returns:
        The optimizer.

    Raises:
        TypeError, ValueError: The optimizer or an option is refused; the optimizer is unchanged.
        RuntimeError: The compiled operators were not found.

    Example:
        >>> model = torch.nn.Linear(4, 4)
        >>> optimizer = attach(torch.optim.NAdam(model.parameters(), lr=0.01), normalize="size_calibrated")
        >>> model(torch.ones(2, 4)).square().sum().backward()
        >>> optimizer.step()
        >>> list(attachment(optimizer).grad_norms())
        ['0', '1']
    """
    require(WHERE)
    standardize = Standardize.from_keywords(options, WHERE, others=("lookahead", "non_finite"))
    merging = lookahead_keys(lookahead, WHERE)
    _NON_FINITE.check(non_finite, WHERE)
    _check_host(optimizer)
    group_keys = {
        **standardize.as_group_keys(),
        **Lookahead().as_group_keys(),
        **merging,
        COUNTER: 0,
    }
    for group in optimizer.param_groups:
        standardize.overridden(group)
        Lookahead().overridden(group)
        lookahead_keys(group.get("lookahead", True), WHERE)
    mine = Attachment(group_keys, non_finite)
    mine.fill_groups(optimizer)
    mine.register(optimizer)
    return optimizer


def attachment(optimizer: Optimizer) -> Attachment:
    """Returns the record that `attach` keeps for the optimizer: gradient norms, and counts of skipped steps and gradients.

    Args:
        optimizer: An attached optimizer.

    Returns:
        Its sing.Attachment.

    Raises:
        ValueError: The optimizer is not attached.

    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> optimizer = attach(torch.optim.SGD([weight], lr=0.1))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> optimizer.step()
        >>> attachment(optimizer).grad_norms()
        {'0': 5.0}
    """
    mine = getattr(optimizer, ATTRIBUTE, None)
    if mine is None:
        raise ValueError(f"[sing.attachment] wanted an attached optimizer, got a plain {type(optimizer).__name__}")
    return mine  # type: ignore[no-any-return]


def detach(optimizer: OptimizerT) -> OptimizerT:
    """Undoes everything that `attach` did, including slow weights and group keys.

    Args:
        optimizer: An attached optimizer.

    Returns:
        The optimizer.

    Raises:
        ValueError: The optimizer is not attached.

    Example:
        >>> optimizer = attach(torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1))
        >>> "centralize" in detach(optimizer).param_groups[0]
        False
    """
    mine = attachment(optimizer)
    mine.unregister(optimizer)
    for group in optimizer.param_groups:
        for key in mine.group_keys:
            group.pop(key, None)
    forget_slow_weights(optimizer)
    return optimizer
