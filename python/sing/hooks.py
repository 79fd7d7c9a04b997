"""The hooks of an attached optimizer: they give it standardized gradients and keep its slow weights."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.optim import Optimizer

from sing.option_sets import Lookahead, Standardize
from sing.options import COUNTER, lookahead_keys  # COUNTER is in the groups' keys, so that state_dict() carries it
from sing.parameters import names_of, state_dtype
from sing.sharding import local, placed_as
from sing.standardize import Job, Outcome, check_axis, check_job, standardize_all

SLOW = "slow"  # a parameter's slow weights, in the host's state for the same reason
ATTRIBUTE = "_sing_attachment"
WHERE = "sing.attach"


class Swap(NamedTuple):
    """A parameter's gradient, and the tensor that the host sees in its place."""

    parameter: Tensor
    original: Tensor
    given: Tensor | None
    version: int  # version of `given` when it was handed over


class Updated(NamedTuple):
    """A parameter that has a gradient."""

    parameter: Tensor
    job: Job
    lookahead: bool


class Attachment:
    """The record that `attach` keeps for an optimizer; `sing.attachment(optimizer)` returns it.

    Attributes:
        skipped_steps: Steps that the `non_finite` policy has skipped since attach().
        skipped_tensors: Gradients that it has skipped.
    """

    def __init__(self, group_keys: dict[str, Any], non_finite: str) -> None:
        self._optimizer: Callable[[], Optimizer | None] = lambda: None
        self.group_keys = group_keys
        self.non_finite = non_finite
        self.skipped_steps = 0
        self.skipped_tensors = 0
        self._may_nest = False
        self._handles: list[Any] = []
        self._norms: dict[str, float] = {}
        self._swaps: list[Swap] = []
        self._grad_scale: Tensor | None = None
        self._copies: dict[Tensor, Tensor] = {}  # weights before their first update, until the host has state for them
        self._updated: dict[Tensor, None] = {}
        self._results: dict[Tensor, Tensor] = {}  # standardized gradients by parameter, at addresses that a CUDA graph may keep
        self._evaluations = 0  # calls of the closure in this step; -1: the step had none
        self._refused = False
        self._loading: tuple[dict[Any, Tensor], list[dict[str, Any]], list[dict[str, Any]]] | None = None

    def grad_norms(self) -> dict[str, float]:
        """Norms of the last step's gradients, before they were standardized.

        Returns:
            The norms by the parameters' names, or positions where they have none. With non_finite="pass_through" those on a GPU
            are missing, because the step does not wait for them.
        """
        return dict(self._norms)

    def register(self, optimizer: Optimizer) -> None:
        self._may_nest = sum("step" in vars(kind) for kind in type(optimizer).__mro__) > 2  # more than its own and Optimizer's
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
            optimizer.register_load_state_dict_pre_hook(self._before_load),
            optimizer.register_load_state_dict_post_hook(self._after_load),
        ]
        self._optimizer = weakref.ref(optimizer)
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
            if isinstance(group.get("lookahead"), Lookahead):
                group.update(lookahead_keys(group["lookahead"], WHERE))
            for key, value in self.group_keys.items():
                group.setdefault(key, value)

    def reset_lookahead(self) -> None:
        """Restarts LookAhead from the current weights. Call it after changing weights by hand.

        Example:
            >>> import torch, sing
            >>> weight = torch.nn.Parameter(torch.zeros(2))
            >>> optimizer = sing.attach(torch.optim.SGD([weight], lr=0.1))
            >>> weight.grad = torch.ones(2)
            >>> optimizer.step()
            >>> sing.attachment(optimizer).reset_lookahead()
            >>> optimizer.param_groups[0]["lookahead_step"]
            0
        """
        optimizer = self._optimizer()
        assert optimizer is not None
        for group in optimizer.param_groups:
            group[COUNTER] = 0
        forget_slow_weights(optimizer)

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
            # The closure may accumulate into p.grad or set it to zero in place, so it has to see its own tensors.
            self._give_back(optimizer)
            loss = closure()
            self._evaluations += 1
            self._hand_over(optimizer)
            return loss

        return evaluate

    @torch.no_grad()
    def _hand_over(self, optimizer: Optimizer) -> None:
        """Replaces the parameters' gradients by standardized ones."""
        updated = list(_updated(optimizer))
        self._check(updated, optimizer)
        jobs = [each.job for each in updated]
        scale = getattr(optimizer, "grad_scale", None)
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and found_inf.item() != 0:
            self._refuse_step()  # the host sees found_inf too, and changes nothing
            return
        waits = self.non_finite != "pass_through"
        into = None if waits else [self._result_for(each) for each in updated]
        results = standardize_all(jobs, 1.0 if scale is None else scale, where=WHERE, into=into, wait=waits)
        self._norms = {job.name: result.norm for job, result in zip(jobs, results) if result.norm is not None}
        refused = self._refused_jobs(jobs, results)
        refuse_all = self.non_finite == "skip_step" and len(refused) > 0
        if refuse_all:
            self._refuse_step()
        else:
            self.skipped_tensors += len(refused)
        for index, ((parameter, job, lookahead), result) in enumerate(zip(updated, results)):
            given = None if refuse_all or index in refused else result.gradient
            assert parameter.grad is not None
            self._swaps.append(Swap(parameter, parameter.grad, given, _version_of(given)))
            parameter.grad = given
            if given is not None:
                self._updated[parameter] = None
                if lookahead and parameter not in self._copies:
                    self._copy(optimizer, parameter)
        if scale is not None:
            # 1, not None: a fused host divides by it.
            self._grad_scale, optimizer.grad_scale = scale, torch.ones_like(scale)  # type: ignore[attr-defined]

    def _result_for(self, updated: Updated) -> Tensor:
        """The tensor for a parameter's standardized gradient, the same from step to step."""
        def kind_of(tensor: Tensor) -> tuple[Any, ...]:
            return tensor.device, tensor.dtype, tensor.shape, tensor.stride()

        known, gradient = self._results.get(updated.parameter), updated.job.gradient
        if known is None or known.is_inference() or kind_of(known) != kind_of(gradient):
            self._results[updated.parameter] = torch.empty_like(gradient)
        return self._results[updated.parameter]

    def _refuse_step(self) -> None:
        self._refused = True
        self.skipped_steps += 1

    def _refused_jobs(self, jobs: list[Job], results: list[Outcome]) -> set[int]:
        if self.non_finite == "pass_through":
            return set()
        refused = {index for index, result in enumerate(results) if not result.finite}
        if refused and self.non_finite == "throw":
            names = ", ".join(f"'{jobs[index].name}'" for index in sorted(refused))
            raise FloatingPointError(f"[{WHERE}] wanted finite gradients, got non-finite ones in {names}")
        return refused

    def _check(self, updated: list[Updated], optimizer: Optimizer) -> None:
        for each in updated:
            check_job(each.job, f"{WHERE}, parameter")
            slow = optimizer.state.get(each.parameter, {}).get(SLOW) if each.lookahead else None
            if slow is not None and slow.shape != each.parameter.shape:
                raise ValueError(
                    f"[{WHERE}, parameter '{each.job.name}'] wanted slow weights of shape {list(each.parameter.shape)}, got "
                    f"{list(slow.shape)}; change state[parameter]['slow'] with the parameter, or call reset_lookahead()"
                )
        waits = self.non_finite != "pass_through" or any(each.lookahead for each in updated)
        if waits and any(each.parameter.is_cuda for each in updated) and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"[{WHERE}] wanted lookahead=False and non_finite='pass_through' in a captured CUDA graph, got others; sing.SING has "
                "no such limit"
            )

    def _copy(self, optimizer: Optimizer, parameter: Tensor) -> None:
        # Looked up without optimizer.state[...], which would create an entry that hosts mistake for their own.
        if SLOW not in optimizer.state.get(parameter, {}):
            self._copies[parameter] = parameter.detach().to(state_dtype(parameter.dtype), copy=True)

    def _give_back(self, optimizer: Optimizer, *, after_failure: bool = False) -> None:
        """Restores the parameters' own gradients. After a step that raised, only those whose replacement is unchanged."""
        for swap in self._swaps:
            untouched = swap.given is not None and _version_of(swap.given) == swap.version
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
                f"[{WHERE}] wanted a host that calls its closure, got {type(optimizer).__name__}, which stepped with gradients that "
                "were not standardized"
            )
        if self._refused and not self._updated:
            return
        for parameter, copy in self._copies.items():
            state = optimizer.state[parameter]
            if SLOW in state:
                raise RuntimeError(
                    f"[{WHERE}] wanted a host without '{SLOW}' in its state, got {type(optimizer).__name__}; use lookahead=False"
                )
            state[SLOW] = copy
        for group in optimizer.param_groups:
            if group["lookahead"]:
                self._look_ahead(optimizer, group)
        self._copies, self._updated = {}, {}

    def _look_ahead(self, optimizer: Optimizer, group: dict[str, Any]) -> None:
        options = Lookahead().overridden(group)
        group[COUNTER] += 1
        if group[COUNTER] % options.period != 0:
            return
        fast = [each for each in dict.fromkeys(group["params"]) if each in self._updated and SLOW in optimizer.state[each]]
        if fast:
            _merge([local(each) for each in fast], [local(optimizer.state[each][SLOW]) for each in fast], options.alpha)

    # torch rounds a loaded state to the parameter's type, so the slow weights of 16-bit parameters are kept from it. A loaded
    # group replaces the old one, so the keys of a state saved before attach() are put back.
    def _before_load(self, optimizer: Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
        state = {key: dict(value) if isinstance(value, dict) else value for key, value in state_dict["state"].items()}
        slow = {key: value.pop(SLOW) for key, value in state.items() if isinstance(value, dict) and SLOW in value}
        self.fill_groups(optimizer)
        own_keys = [{key: group[key] for key in self.group_keys if key != COUNTER} for group in optimizer.param_groups]
        parameters = _match(optimizer, state_dict["param_groups"])
        for key, value in slow.items():
            if key in parameters and parameters[key].shape != value.shape:
                wanted, got = tuple(parameters[key].shape), tuple(value.shape)
                raise ValueError(f"[{WHERE}] wanted slow weights of shape {wanted} for parameter {key}, got {got}")
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


def forget_slow_weights(optimizer: Optimizer) -> None:
    """Removes the slow weights from the host's state; entries that held nothing else go too."""
    for parameter in list(optimizer.state):
        state = optimizer.state[parameter]
        if isinstance(state, dict) and state.pop(SLOW, None) is not None and not state:
            del optimizer.state[parameter]


_HOOKED_STEP = Optimizer.profile_hook_step(lambda optimizer: None).__code__


def _is_nested(optimizer: Optimizer) -> bool:
    """Returns whether the hooks run for a step() inside another of the same optimizer, as when a subclass calls super().step().

    It inspects the stack, because a flag would stay set after a step that raised.
    """
    found, frame = 0, sys._getframe()
    while frame is not None and found < 2:
        found += frame.f_code is _HOOKED_STEP and frame.f_locals.get("self") is optimizer
        frame = frame.f_back  # type: ignore[assignment]
    return found == 2


def _version_of(tensor: Tensor | None) -> int:
    """How often a tensor was written to; tensors made in inference mode do not count it."""
    return 0 if tensor is None or tensor.is_inference() else tensor._version


def _match(optimizer: Optimizer, saved_groups: list[dict[str, Any]]) -> dict[Any, Tensor]:
    """Parameters by the keys a state_dict has for them; torch itself matches them by order."""
    pairs = (pair for group, saved in zip(optimizer.param_groups, saved_groups) for pair in zip(saved["params"], group["params"]))
    return dict(pairs)


def _updated(optimizer: Optimizer) -> Iterator[Updated]:
    """The parameters that have a gradient, each once. Wrong options are refused before the host steps."""
    seen: set[int] = set()
    for group, names in zip(optimizer.param_groups, names_of(optimizer.param_groups)):
        options = Standardize().overridden(group)
        Lookahead().overridden(group)
        for name, parameter in zip(names, group["params"]):
            check_axis(options, parameter, f"[{WHERE}, parameter '{name}']")
            if parameter.grad is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                gradient = placed_as(parameter, parameter.grad, f"[{WHERE}] gradient of '{name}'")
                yield Updated(parameter, Job(name, gradient, options), bool(group["lookahead"]))


def _merge(fast: list[Tensor], slow: list[Tensor], alpha: float) -> None:
    """Equation 8 of docs/algorithm.md, in the type of the slow weights: both get alpha fast + (1 - alpha) slow."""
    torch._foreach_mul_(slow, 1 - alpha)
    torch._foreach_add_(slow, fast, alpha=alpha)
    torch._foreach_copy_(fast, slow)


def _reduce_attached(optimizer: Optimizer, protocol: Any) -> Any:
    """torch neither pickles nor copies hooks; ours are registered again."""
    mine: Attachment = getattr(optimizer, ATTRIBUTE)
    return _rebuild_attached, (type(optimizer), optimizer.__getstate__(), mine.group_keys, mine.non_finite)


def _rebuild_attached(kind: type[Optimizer], state: dict[str, Any], group_keys: dict[str, Any], non_finite: str) -> Optimizer:
    optimizer = kind.__new__(kind)
    optimizer.__setstate__(state)
    Attachment(group_keys, non_finite).register(optimizer)
    return optimizer
