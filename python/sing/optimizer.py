"""SINGOptimizer: a torch.optim.Optimizer whose step, state and counters are the library's."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from sing import official, state_file
from sing.engines import EngineSet
from sing.options import AVERAGING, SHARED, TAKES_CURVATURE, Schema, scalar
from sing.parameters import check_parameter, names_of

Function = TypeVar("Function", bound=Callable[..., Any])


def _not_traced(function: Function) -> Function:
    """torch.compile breaks its graph there instead of following what happens inside."""
    return cast(Function, torch.compiler.disable(function))  # type: ignore[no-untyped-call]


class SINGOptimizer(Optimizer):
    """What sing.SING and the classes of the other rules share; they are made from the library's list of rules."""

    _schema: ClassVar[Schema]
    _uses_native: ClassVar[bool] = True
    # torch.amp.GradScaler then hands over its scale instead of dividing the gradients by it.
    _step_supports_amp_scaling: ClassVar[bool] = True
    # Filled by a step that sing.GradScaler asks for.
    _found_inf_per_device: dict[torch.device, Tensor] | None = None
    _norm_scale: Tensor | float = 1.0
    _engines: EngineSet | None = None
    _slow_in_use: bool = False
    slow_weights_for_evaluation: bool = False

    def __init__(
        self, params: ParamsT, lr: float | Tensor | None = None, *, slow_weights_for_evaluation: bool = False, **options: Any
    ) -> None:
        where = f"sing.{type(self).__name__}"
        if lr is not None:
            options["lr"] = lr
        if options.pop("differentiable", False):
            raise ValueError(f"[{where}] differentiable=True is not supported: a step is not recorded by autograd")
        defaults = {**self._schema.defaults(), **self._schema.canonical(options, where, strict=True)}
        self._schema.check(defaults, where)
        self.slow_weights_for_evaluation = bool(slow_weights_for_evaluation)
        super().__init__(params, defaults)

    # Groups

    @_not_traced
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; what it does not set is the optimizer's default. A tensor listed twice is one parameter."""
        if not isinstance(param_group, dict):
            raise TypeError(f"[sing] wanted a parameter group as a dict, got {type(param_group).__name__}")
        where = f"sing group {len(self.param_groups)}"
        if self._slow_in_use:
            raise RuntimeError(f"[{where}] a group was added while slow weights are in use: call train() first")
        options = {key: value for key, value in param_group.items() if key != "params"}
        group = {**self._schema.canonical(options, where, strict=False), "params": _without_repeats(param_group["params"])}
        if group.pop("differentiable", False):
            raise ValueError(f"[{where}] differentiable=True is not supported")
        self._schema.check({**self.defaults, **group}, where)
        for key in SHARED:
            if key in group and self.param_groups and group[key] != self.param_groups[0][key]:
                raise ValueError(f"[{where}] {key} is one for the whole optimizer, {self.param_groups[0][key]!r}")
        if {**self.defaults, **group}.get("base_learning_rate", 0) is None and scalar(group.get("lr", self.defaults["lr"])) > 0:
            group["base_learning_rate"] = scalar(group.get("lr", self.defaults["lr"]))  # before any scheduler changes lr
        super().add_param_group(group)
        try:
            for parameter, name in zip(group["params"], names_of(self.param_groups)[-1]):
                check_parameter(parameter, name)
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    # The step

    @_not_traced
    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient, which is left as it is. Returns what the closure does."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        engines, non_finite, loss_scale = self._prepared()
        if engines is None:
            return loss
        watched = self._found_inf_per_device
        for engine in engines.engines:
            if watched is not None:
                engine.progress()[2].zero_()  # an assignment would wait for the device
            engine.step(self._gradients(engine.parameters), loss_scale)
            if watched is not None:
                engine.write_found_inf(watched)
        if engines.has_news():
            engines.publish(self.state)
        return loss

    def _prepared(self) -> tuple[EngineSet | None, str, float]:
        """Engines ready for a step, the policy and the loss scale; no engines where the step is to be skipped."""
        non_finite, loss_scale = self.param_groups[0]["non_finite"] if self.param_groups else "skip_tensor", 1.0
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None:
            non_finite, loss_scale = "skip_step", self._take_scale(getattr(self, "grad_scale", None))
            if self._must_read(found_inf) and float(found_inf) > 0:
                self._count_skipped()
                return None, non_finite, loss_scale
        engines = self._ready_engines()
        engines.sync_options(self.param_groups, non_finite)
        if len(engines.engines) > 1 and non_finite in ("skip_step", "throw") and not self._all_finite(non_finite):
            self._count_skipped()
            return None, non_finite, loss_scale
        return engines, non_finite, loss_scale

    def _must_read(self, found_inf: Tensor | float) -> bool:
        """Reading a CUDA tensor waits for the device. Without need where the gradients are still as the scaler saw them."""
        if self._found_inf_per_device is not None:
            return False
        return not isinstance(found_inf, Tensor) or not found_inf.is_cuda or getattr(self, "grad_scale", None) is None

    def _take_scale(self, scale: Tensor | float | None) -> float:
        self._norm_scale = 1.0
        if scale is None:
            return 1.0
        is_normalized = all(group["normalize"] != "off" for group in self.param_groups)
        is_normalized = is_normalized and self._schema.rule not in TAKES_CURVATURE
        if isinstance(scale, Tensor) and scale.is_cuda and is_normalized:
            # A normalized gradient has no scale, but the norms reported do.
            self._norm_scale = scale.clone()
            return 1.0
        return scalar(scale)

    def _gradients(self, parameters: list[Tensor]) -> list[Tensor | None]:
        gradients = [each.grad for each in parameters]
        if any(group["maximize"] for group in self.param_groups):
            upward = {id(each) for group in self.param_groups if group["maximize"] for each in group["params"]}
            gradients = [
                -gradient if gradient is not None and id(each) in upward else gradient
                for each, gradient in zip(parameters, gradients)
            ]
        return gradients

    def _all_finite(self, non_finite: str) -> bool:
        """For several engines, which must skip a step together."""
        for group, names in zip(self.param_groups, names_of(self.param_groups)):
            for parameter, name in zip(group["params"], names):
                if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                    for device, found in (self._found_inf_per_device or {}).items():
                        found.fill_(1 if device == parameter.device else 0)
                    if non_finite == "throw":
                        raise RuntimeError(f"[sing] wanted finite gradients, but that of '{name}' is not; the step changed nothing")
                    return False
        return True

    def _count_skipped(self) -> None:
        for engine in self._ready_engines().engines:
            engine.progress()[0] += 1

    def upload(self) -> None:
        """CUDA graphs: makes changed options known to captured steps. Call it before replays after changing one (a learning
        rate that is a CUDA tensor needs no call), with the gradients that were captured still in place."""
        engines, _, loss_scale = self._prepared()
        for engine in engines.engines if engines is not None else []:
            engine.upload(self._gradients(engine.parameters), loss_scale)

    # Engines

    def _ready_engines(self) -> EngineSet:
        engines = self._engines
        if engines is not None and engines.fits(self.param_groups, self.state):
            engines.add_new_groups(self.param_groups)
            return engines
        counts = [0, 0]
        if engines is not None:
            if self._slow_in_use:
                raise RuntimeError("[sing] parameters or state were replaced while slow weights are in use: call train() first")
            engines.write_counters(self.param_groups)
            counts = engines.progress()
        self._engines = self._built(self.param_groups, self.state)
        self._engines.set_progress(counts)
        return self._engines

    def _built(self, groups: list[dict[str, Any]], state: Any) -> EngineSet:
        with torch.no_grad():
            engines = EngineSet(self._schema, groups, native=self._uses_native)
            engines.take_state(groups, state)
        return engines

    def _refuse_slow_weights(self, what: str) -> None:
        if self._slow_in_use:
            raise RuntimeError(f"[sing] {what} was asked for while slow weights are in use: call train() first")

    # State

    @_not_traced
    def state_dict(self) -> dict[str, Any]:
        """As torch.optim's: state by position, and the groups. Exact: loading it goes on with the same bits."""
        self._refuse_slow_weights("state_dict()")
        if self._engines is not None:
            self._ready_engines().write_counters(self.param_groups)
        return super().state_dict()

    @_not_traced
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() gave, or what the authors' SING gave. Nothing is cast: float32 state of 16-bit parameters
        comes back as it was. Raises, with nothing changed, for the state of another model."""
        self._refuse_slow_weights("load_state_dict()")
        before = (self.param_groups, self.state, self._engines)
        given: dict[int, dict[str, Any]] = {}

        def take(_: Optimizer, found: dict[str, Any]) -> dict[str, Any]:
            found = official.from_official(found) if official.is_official(found) else found
            given.update(_in_order(found))
            return {**found, "state": {}}  # torch would cast it

        def place(_: Optimizer) -> None:
            self._place_state(given, before[0])

        pre, post = self.register_load_state_dict_pre_hook(take), self.register_load_state_dict_post_hook(place, prepend=True)
        try:
            super().load_state_dict(state_dict)
        except BaseException:
            self.param_groups, self.state, self._engines = before
            raise
        finally:
            pre.remove()
            post.remove()

    def _place_state(self, given: dict[int, dict[str, Any]], old_groups: list[dict[str, Any]]) -> None:
        """Builds engines with loaded groups and state; torch has replaced the groups and emptied the state."""
        state: Any = defaultdict(dict)
        position = 0
        for index, group in enumerate(self.param_groups):
            for key, value in self.defaults.items():
                group.setdefault(key, value)
            self._schema.check(group, f"sing group {index}")
            for parameter in group["params"]:
                if given.get(position):
                    state[parameter] = dict(given[position])
                position += 1
        engines = self._built(self.param_groups, state)
        for group, old in zip(self.param_groups, old_groups):
            _keep_learning_rate_tensor(group, old)
        self.state, self._engines = state, engines

    def __getstate__(self) -> dict[str, Any]:
        self._refuse_slow_weights("a copy")
        if self._engines is not None:
            self._ready_engines().write_counters(self.param_groups)
        return {**super().__getstate__(), "slow_weights_for_evaluation": self.slow_weights_for_evaluation}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._engines = None  # made anew when needed
        for group in self.param_groups:
            for key, value in self.defaults.items():
                group.setdefault(key, value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state file that the C++ library reads, as a whole or not at all."""
        self._refuse_slow_weights("save()")
        state_file.save(self, os.fspath(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads a state file of the C++ library or of save(): options, counters and state. Raises with nothing changed."""
        self._refuse_slow_weights("load()")
        state_file.load(self, os.fspath(path))

    def to_official_state_dict(self) -> dict[str, Any]:
        """The state as the authors' SING writes and reads it."""
        return official.to_official(self.state_dict(), self._schema.rule)

    def from_official_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the authors' state; load_state_dict() does it too where it meets one."""
        self.load_state_dict(official.from_official(state_dict))

    # Looking in

    def grad_norms(self) -> dict[str, float]:
        """Norm of each parameter's last gradient before standardizing, loss scale removed, by name (or position). Waits for
        the device."""
        engines = self._ready_engines()
        norms: dict[str, float] = {}
        for engine in engines.engines:
            norms.update(zip(engine.names, engine.gradient_norms()))
        scale = scalar(self._norm_scale)
        return {name: norms[name] / scale for group in names_of(self.param_groups) for name in group}

    def status(self) -> dict[str, int]:
        """Steps and tensors skipped because a gradient was not finite. Waits for the device; raises what a step there found
        where non_finite is 'throw'."""
        engines = self._ready_engines()
        for engine in engines.engines:
            engine.check_status()
        skipped_steps, skipped_tensors = engines.progress()
        return {"skipped_steps": skipped_steps, "skipped_tensors": skipped_tensors}

    # Curvature

    def set_curvature(self, curvatures: Mapping[Tensor, Tensor]) -> None:
        """Estimates of the Hessian's diagonal (AdaHessian) for the next steps, of the shape and type of the gradients; the
        gradient takes the place of those that are not given."""
        if curvatures and self._schema.rule not in TAKES_CURVATURE:
            raise ValueError(f"[sing] curvature: wanted a rule that takes it, got '{self._schema.rule}'")
        places = {id(each): (engine, i) for engine in self._ready_engines().engines for i, each in enumerate(engine.parameters)}
        found: dict[int, dict[int, Tensor]] = {id(engine): {} for engine in self._ready_engines().engines}
        for parameter, curvature in curvatures.items():
            if id(parameter) not in places:
                raise ValueError(f"[sing] curvature of a tensor {list(parameter.shape)} that is no parameter of this optimizer")
            if curvature.shape != parameter.shape:
                raise ValueError(f"[sing] curvature: wanted shape {list(parameter.shape)}, got {list(curvature.shape)}")
            engine, index = places[id(parameter)]
            found[id(engine)][index] = curvature.detach()
        for engine in self._ready_engines().engines:
            engine.set_curvature(found[id(engine)])

    # Slow weights

    @torch.no_grad()
    def eval(self) -> None:
        """LookAhead's slow weights take the parameters' place, if slow_weights_for_evaluation was asked for; with
        ScheduleFreeAdamW, without asking, its average (or the slow weights, where LookAhead is on)."""
        self._use_slow_weights(True)

    @torch.no_grad()
    def train(self, mode: bool = True) -> None:
        """Gives back exactly the weights that eval() replaced."""
        self._use_slow_weights(not mode)

    def _use_slow_weights(self, slow: bool) -> None:
        if not (self.slow_weights_for_evaluation or self._schema.rule in AVERAGING) or slow == self._slow_in_use:
            return
        for engine in self._ready_engines().engines:
            engine.use_slow_weights(slow)
        self._slow_in_use = slow


def _without_repeats(params: Any) -> Any:
    """A list with each tensor once. What is no list of tensors is left for torch to judge."""
    if isinstance(params, (Tensor, set)) or not isinstance(params, Iterable):
        return params
    kept, seen = [], set()
    for each in params:
        tensor = each[1] if isinstance(each, tuple) and len(each) == 2 else each
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept.append(each)
    return kept


def _in_order(state_dict: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The saved state by a parameter's position, whatever numbers the dictionary has for the parameters."""
    numbers = [each for group in state_dict["param_groups"] for each in group["params"]]
    unknown = [each for each, entry in state_dict["state"].items() if entry and each not in numbers]
    if unknown:
        raise ValueError(f"[sing] wanted state of {len(numbers)} parameters, got state of parameter {unknown[0]}")
    return {place: state_dict["state"][each] for place, each in enumerate(numbers) if state_dict["state"].get(each)}


def _keep_learning_rate_tensor(group: dict[str, Any], old: dict[str, Any]) -> None:
    """A captured graph reads the learning rate from the tensor it was captured with: the loaded value goes there."""
    if isinstance(old["lr"], Tensor):
        old["lr"].fill_(scalar(group["lr"]))
        group["lr"] = old["lr"]
