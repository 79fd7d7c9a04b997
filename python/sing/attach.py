"""Centralize, normalize and LookAhead around any torch optimizer: `attach`, `detach`, `attachment`."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import torch
from torch.optim import Optimizer

from sing.hooks import ATTRIBUTE, COUNTER, SLOW, Attachment
from sing.lookahead import Lookahead
from sing.parameters import state_dtype
from sing.standardize import FIELDS, Standardize

__all__ = ["Attachment", "attach", "attachment", "detach"]

OptimizerT = TypeVar("OptimizerT", bound=Optimizer)

NON_FINITE = ("skip_tensor", "skip_step", "throw", "pass_through")


def _check_host(optimizer: Any) -> None:
    kind = type(optimizer).__name__
    if not isinstance(optimizer, Optimizer) or "_optimizer_step_pre_hooks" not in vars(optimizer):
        hint = "; attach to the optimizer inside it" if hasattr(optimizer, "optimizer") else ""
        raise TypeError(f"[attach] wanted a torch.optim.Optimizer with step hooks, got {kind}{hint}")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError("[attach] LBFGS is not supported: it estimates curvature from differences of gradients, which standardizing removes")
    if hasattr(optimizer, ATTRIBUTE):
        raise ValueError(f"[attach] this {kind} is attached already; sing.detach() it first")
    taken = [key for key in (*FIELDS, "lookahead", COUNTER) if key in optimizer.defaults]
    if taken and type(optimizer).__module__.startswith("sing."):
        raise ValueError(f"[attach] {kind} standardizes gradients itself")
    if taken:
        raise ValueError(f"[attach] {kind} has options named {', '.join(taken)} of its own")
    for group in optimizer.param_groups:
        if group.get("differentiable"):
            raise ValueError("[attach] wanted an optimizer with differentiable=False, got one with True")
    for index, parameter in enumerate(each for group in optimizer.param_groups for each in group["params"]):
        slow = optimizer.state.get(parameter, {}).get(SLOW)
        if slow is not None and slow.dtype != state_dtype(parameter.dtype):
            raise ValueError(f"[attach] slow weights of parameter {index} were rounded to {slow.dtype}: attach before load_state_dict()")


def attach(
    optimizer: OptimizerT,
    *,
    lookahead: bool | Lookahead | None = True,
    non_finite: str = "skip_tensor",
    **options: Any,
) -> OptimizerT:
    """Makes any torch optimizer step with centralized and normalized gradients and LookAhead; returns the optimizer.

    optimizer: any `torch.optim.Optimizer`, with whatever groups, schedulers, closures or GradScaler it is used with. Only
        LBFGS is refused: it estimates curvature from differences of gradients, which lose their meaning.
    lookahead: True (period 5, alpha 0.5), a `sing.Lookahead`, or None.
    non_finite: what becomes of an infinite or NaN gradient: "skip_tensor" leaves the parameter as if it had none, "skip_step"
        leaves all, "throw" raises FloatingPointError with nothing changed, "pass_through" lets the host see it. All but the
        last wait for the device once a step.
    options: `centralize`, `centralize_axis`, `normalize`, `norm_epsilon`, `reference_size`; see `sing.Standardize`.

    Every option is also a key of the parameter groups (LookAhead's are `lookahead`, `lookahead_period`, `lookahead_alpha`):
    a group that has it already keeps its own value.

    The gradients the host sees are copies; after step() every `.grad` is the tensor it was, with the numbers it had.
    LookAhead's slow weights are in `optimizer.state[p]["slow"]` (float32 for 16-bit parameters) and its counter in the group's
    `lookahead_step`: state_dict() and load_state_dict() carry both, and copies and pickles of the optimizer stay attached.
    An optimizer that evaluates its closure several times gets standardized gradients after each.

    With normalization the scale of a gradient does not matter: clipping its norm first has no effect, and a GradScaler's scale
    need not be removed (a fused host is told that the scale is 1). The host keeps its own weight decay and epsilon.

    >>> model = torch.nn.Linear(4, 4)
    >>> optimizer = attach(torch.optim.NAdam(model.parameters(), lr=0.01), normalize="size_calibrated")
    >>> model(torch.ones(2, 4)).square().sum().backward()
    >>> optimizer.step()
    >>> list(attachment(optimizer).grad_norms())
    ['0', '1']
    """
    standardize = Standardize.named("attach", options)
    merged = Lookahead() if lookahead is True else lookahead or None
    if merged is not None and not isinstance(merged, Lookahead):
        raise TypeError(f"[attach] lookahead: wanted True, None or a sing.Lookahead, got {lookahead!r}")
    if non_finite not in NON_FINITE:
        raise ValueError(f"[attach] non_finite: wanted one of {', '.join(NON_FINITE)}, got {non_finite!r}")
    _check_host(optimizer)
    period_alpha = merged or Lookahead()
    group_keys = {
        **dataclasses.asdict(standardize),
        "lookahead": merged is not None,
        "lookahead_period": period_alpha.period,
        "lookahead_alpha": period_alpha.alpha,
        COUNTER: 0,
    }
    for group in optimizer.param_groups:
        standardize.overridden(group)
        Lookahead(group.get("lookahead_period", period_alpha.period), group.get("lookahead_alpha", period_alpha.alpha))
    mine = Attachment(group_keys, non_finite)
    mine.fill_groups(optimizer)
    mine.register(optimizer)
    return optimizer


def attachment(optimizer: Optimizer) -> Attachment:
    """What `attach` keeps beside the optimizer: gradient norms and counts of what was skipped."""
    mine = getattr(optimizer, ATTRIBUTE, None)
    if mine is None:
        raise ValueError(f"[attachment] wanted an attached optimizer, got a plain {type(optimizer).__name__}")
    return mine  # type: ignore[no-any-return]


def detach(optimizer: OptimizerT) -> OptimizerT:
    """Takes back everything `attach` did, slow weights and group keys included; returns the optimizer.

    >>> optimizer = attach(torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1))
    >>> "centralize" in detach(optimizer).param_groups[0]
    False
    """
    mine = attachment(optimizer)
    mine.unregister(optimizer)
    for group in optimizer.param_groups:
        for key in mine.group_keys:
            group.pop(key, None)
    for parameter in list(optimizer.state):
        state = optimizer.state[parameter]
        if isinstance(state, dict) and state.pop(SLOW, None) is not None and not state:
            del optimizer.state[parameter]
    return optimizer
