"""The hooks of an attached optimizer: they hand it standardized gradients, keep its slow weights and carry both through files."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.optim import Optimizer

from sing.lookahead import Lookahead, merge
from sing.parameters import names_of, state_dtype
from sing.standardize import DEFAULTS, Outcome, Standardize, check_axis, check_gradient, standardize_all

COUNTER = "lookahead_step"  # of a group, from 0, in its keys so that state_dict() carries it
SLOW = "slow"  # of a parameter, in the host's state for the same reason
ATTRIBUTE = "_sing_attachment"


class Swap(NamedTuple):
    """A gradient taken from a parameter, and what the host sees in its place."""

    parameter: Tensor
    original: Tensor
    given: Tensor | None
    version: int  # of `given` when it was handed over


class Job(NamedTuple):
    """A parameter with a gradient."""

    name: str
    parameter: Tensor
    gradient: Tensor
    options: Standardize
    lookahead: bool


class Attachment:
    """What `attach` keeps beside an optimizer; `sing.attachment(optimizer)` returns it.

    skipped_steps, skipped_tensors: what the `non_finite` policy left out since attach().
    """

    def __init__(self, group_keys: dict[str, Any], non_finite: str) -> None:
        self.group_keys = group_keys
        self.non_finite = non_finite
        self.skipped_steps = 0
        self.skipped_tensors = 0
        self._may_nest = False
        self._handles: list[Any] = []
        self._norms: dict[str, Tensor | float] = {}
        self._swaps: list[Swap] = []
        self._grad_scale: Tensor | None = None
        self._copies: dict[Tensor, Tensor] = {}  # of weights before their first update, until the host has state for them
        self._updated: dict[Tensor, None] = {}
        self._evaluations = 0  # of the closure; -1: the step had none
        self._refused = False
        self._loading: tuple[dict[Any, Tensor], list[dict[str, Any]], list[dict[str, Any]]] | None = None

    def grad_norms(self) -> dict[str, float]:
        """Norm of each parameter's gradient in the last step, before standardizing. Waits for the device.

        Without waiting they are not kept: with "pass_through" a GPU's are missing.
        """
        return {name: float(norm) for name, norm in self._norms.items()}

    def register(self, optimizer: Optimizer) -> None:
        self._may_nest = sum("step" in vars(kind) for kind in type(optimizer).__mro__) > 2  # its own, a base's, Optimizer's
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
            optimizer.register_load_state_dict_pre_hook(self._before_load),
            optimizer.register_load_state_dict_post_hook(self._after_load),
        ]
        setattr(optimizer, ATTRIBUTE, self)
        setattr(optimizer, "__reduce_ex__", types.MethodType(_reduce_attached, optimizer))

    def unregister(self, optimizer: Optimizer) -> None:
        self._give_back(optimizer, after_failure=True)
        for handle in self._handles:
            handle.remove()
        delattr(optimizer, ATTRIBUTE)
        delattr(optimizer, "__reduce_ex__")

    def fill_groups(self, optimizer: Optimizer) -> None:
        """Groups are filled when first seen, because add_param_group() has no hook."""
        for group in optimizer.param_groups:
            for key, value in self.group_keys.items():
                group.setdefault(key, value)

    # Torch calls the pre-hook before the closure, so with a closure the gradients are standardized after each evaluation.
    @_disable_dynamo
    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
        if self._may_nest and _is_nested(optimizer):
            return None
        self._give_back(optimizer, after_failure=True)
        self._copies, self._updated, self._norms = {}, {}, {}
        self._evaluations, self._refused = -1, False
        self.fill_groups(optimizer)
        if callable(kwargs.get("closure")):
            return args, {**kwargs, "closure": self._wrapped(optimizer, kwargs["closure"])}
        if len(args) > 1 and callable(args[1]):
            return (args[0], self._wrapped(optimizer, args[1]), *args[2:]), kwargs
        self._hand_over(optimizer)
        return None

    def _wrapped(self, optimizer: Optimizer, closure: Callable[[], Any]) -> Callable[[], Any]:
        self._evaluations = 0

        def evaluate() -> Any:
            # The closure may accumulate into p.grad or set it to zero in place: it must meet its own tensors.
            self._give_back(optimizer)
            loss = closure()
            self._evaluations += 1
            self._hand_over(optimizer)
            return loss

        return evaluate

    @torch.no_grad()
    def _hand_over(self, optimizer: Optimizer) -> None:
        """Puts standardized gradients in the place of the parameters' own."""
        jobs = list(_jobs(optimizer))
        self._check(jobs)
        scale = getattr(optimizer, "grad_scale", None)
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and found_inf.item() != 0:
            self._refuse_step()  # the host sees found_inf too, and changes nothing
            return
        results = standardize_all(
            [job.gradient for job in jobs],
            [job.options for job in jobs],
            1.0 if scale is None else scale,
            in_place=False,
            wait=self.non_finite != "pass_through",
        )
        self._norms = {job.name: result.norm for job, result in zip(jobs, results) if result.norm is not None}
        refused = self._refused_jobs(jobs, results)
        refuse_all = self.non_finite == "skip_step" and len(refused) > 0
        if refuse_all:
            self._refuse_step()
        else:
            self.skipped_tensors += len(refused)
        for index, (job, result) in enumerate(zip(jobs, results)):
            given = None if refuse_all or index in refused else result.gradient
            self._swaps.append(Swap(job.parameter, job.gradient, given, 0 if given is None else given._version))
            job.parameter.grad = given
            if given is not None:
                self._updated[job.parameter] = None
                if job.lookahead and job.parameter not in self._copies:
                    self._copy(optimizer, job.parameter)
        if scale is not None:
            # 1, not None: a fused host divides by it.
            self._grad_scale, optimizer.grad_scale = scale, torch.ones_like(scale)  # type: ignore[attr-defined]

    def _refuse_step(self) -> None:
        self._refused = True
        self.skipped_steps += 1

    def _refused_jobs(self, jobs: list[Job], results: list[Outcome]) -> set[int]:
        if self.non_finite == "pass_through":
            return set()
        refused = {index for index, finite in enumerate(_read([result.finite for result in results])) if not finite}
        if refused and self.non_finite == "throw":
            names = ", ".join(jobs[index].name for index in sorted(refused))
            raise FloatingPointError(f"[attach] wanted finite gradients, got others in {names}")
        return refused

    def _check(self, jobs: list[Job]) -> None:
        for job in jobs:
            check_gradient(job.gradient, f"attach, parameter '{job.name}'")
            check_axis(job.gradient.dim(), job.options, f"attach, parameter '{job.name}'")
        waits = self.non_finite != "pass_through" or any(job.lookahead for job in jobs)
        if waits and any(job.gradient.is_cuda for job in jobs) and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                "[attach] a CUDA graph can only capture steps with lookahead=None and non_finite='pass_through'; "
                "sing.SING(capturable=True) has no such limit"
            )

    def _copy(self, optimizer: Optimizer, parameter: Tensor) -> None:
        # Looked up without optimizer.state[...], which would make an entry that hosts take for their own.
        if SLOW not in optimizer.state.get(parameter, {}):
            self._copies[parameter] = parameter.detach().to(state_dtype(parameter.dtype), copy=True)

    def _give_back(self, optimizer: Optimizer, *, after_failure: bool = False) -> None:
        """After a step in which the host raised, only what nobody has touched since is taken for ours."""
        for swap in self._swaps:
            untouched = swap.given is not None and swap.given._version == swap.version
            if swap.parameter.grad is swap.given and (untouched or not after_failure):
                swap.parameter.grad = swap.original
        self._swaps = []
        if self._grad_scale is not None:
            optimizer.grad_scale, self._grad_scale = self._grad_scale, None  # type: ignore[attr-defined]

    @_disable_dynamo
    @torch.no_grad()
    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._may_nest and _is_nested(optimizer):
            return
        self._give_back(optimizer)
        if self._evaluations == 0:
            raise RuntimeError(
                f"[attach] {type(optimizer).__name__}.step() was given a closure and never called it: "
                "it stepped with gradients that were not standardized"
            )
        if self._refused and not self._updated:
            return
        for parameter, copy in self._copies.items():
            state = optimizer.state[parameter]
            if SLOW in state:
                raise RuntimeError(f"[attach] {type(optimizer).__name__} keeps a '{SLOW}' of its own in its state: use lookahead=None")
            state[SLOW] = copy
        for group in optimizer.param_groups:
            if group["lookahead"]:
                self._look_ahead(optimizer, group)
        self._copies, self._updated = {}, {}

    def _look_ahead(self, optimizer: Optimizer, group: dict[str, Any]) -> None:
        options = Lookahead(group["lookahead_period"], group["lookahead_alpha"])
        group[COUNTER] += 1
        if group[COUNTER] % options.period != 0:
            return
        fast = [each for each in dict.fromkeys(group["params"]) if each in self._updated and SLOW in optimizer.state[each]]
        if fast:
            merge(fast, [optimizer.state[each][SLOW] for each in fast], options.alpha)

    # Torch rounds a loaded state to the parameter's type: slow weights of 16-bit parameters go round it. A loaded group
    # replaces the old one, so the keys of a state saved before attach() are put back.
    def _before_load(self, optimizer: Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
        state = {key: dict(value) if isinstance(value, dict) else value for key, value in state_dict["state"].items()}
        slow = {key: value.pop(SLOW) for key, value in state.items() if isinstance(value, dict) and SLOW in value}
        self.fill_groups(optimizer)
        own_keys = [{key: group[key] for key in self.group_keys if key != COUNTER} for group in optimizer.param_groups]
        parameters = _match(optimizer, state_dict["param_groups"])
        for key, value in slow.items():
            if key in parameters and parameters[key].shape != value.shape:
                wanted, got = tuple(parameters[key].shape), tuple(value.shape)
                raise ValueError(f"[attach] slow weights of parameter {key}: wanted shape {wanted}, got {given}")
        self._loading = slow, own_keys, state_dict["param_groups"]
        return {**state_dict, "state": state}

    @torch.no_grad()
    def _after_load(self, optimizer: Optimizer) -> None:
        assert self._loading is not None
        slow, own_keys, saved_groups = self._loading
        self._loading = None
        for key, parameter in _match(optimizer, saved_groups).items():
            if key in slow:
                dtype = state_dtype(parameter.dtype)
                # A copy: merges happen in place, and the dictionary may be another optimizer's live state.
                optimizer.state[parameter][SLOW] = slow[key].to(parameter.device, dtype, copy=True)
        for group, keys in zip(optimizer.param_groups, own_keys):
            for key, value in {**keys, COUNTER: 0}.items():
                group.setdefault(key, value)


_HOOKED_STEP = Optimizer.profile_hook_step(lambda optimizer: None).__code__


def _is_nested(optimizer: Optimizer) -> bool:
    """Whether the hooks run for a step() inside another of the same optimizer, as when a subclass calls super().step().

    Seen from the stack, because a flag would stay set after a step that raised.
    """
    found, frame = 0, sys._getframe()
    while frame is not None and found < 2:
        found += frame.f_code is _HOOKED_STEP and frame.f_locals.get("self") is optimizer
        frame = frame.f_back  # type: ignore[assignment]
    return found == 2


def _match(optimizer: Optimizer, saved_groups: list[dict[str, Any]]) -> dict[Any, Tensor]:
    """Parameters by the keys a state_dict has for them; torch itself matches them by order."""
    pairs = (pair for group, saved in zip(optimizer.param_groups, saved_groups) for pair in zip(saved["params"], group["params"]))
    return dict(pairs)


def _jobs(optimizer: Optimizer) -> Iterator[Job]:
    """The parameters that have a gradient, each once."""
    seen: set[int] = set()
    for group, names in zip(optimizer.param_groups, names_of(optimizer.param_groups)):
        options = DEFAULTS.overridden(group)
        for name, parameter in zip(names, group["params"]):
            if parameter.grad is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                yield Job(name, parameter, parameter.grad, options, bool(group["lookahead"]))


def _read(flags: list[Tensor | bool | None]) -> list[bool]:
    """Waits once for each device, not once for each flag."""
    values = {place: bool(flag) for place, flag in enumerate(flags) if not isinstance(flag, Tensor)}
    waiting: dict[torch.device, dict[int, Tensor]] = {}
    for place, flag in enumerate(flags):
        if isinstance(flag, Tensor):
            waiting.setdefault(flag.device, {})[place] = flag
    for entries in waiting.values():
        values.update(zip(entries, torch.stack(list(entries.values())).tolist()))
    return [values[place] for place in range(len(flags))]


def _reduce_attached(optimizer: Optimizer, protocol: Any) -> Any:
    """Hooks are no part of what torch pickles and copies; ours are registered again."""
    mine: Attachment = getattr(optimizer, ATTRIBUTE)
    return _rebuild_attached, (type(optimizer), optimizer.__getstate__(), mine.group_keys, mine.non_finite)


def _rebuild_attached(kind: type[Optimizer], state: dict[str, Any], group_keys: dict[str, Any], non_finite: str) -> Optimizer:
    optimizer = kind.__new__(kind)
    optimizer.__setstate__(state)
    Attachment(group_keys, non_finite).register(optimizer)
    return optimizer
