"""sing.Optimizer: a torch.optim.Optimizer whose step, state and counters are the library's."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch._compile import _disable_dynamo  # torch.compiler.disable would import dynamo with the package
from torch.optim import Optimizer as TorchOptimizer
from torch.optim.optimizer import ParamsT

from sing import official
from sing.library import LibraryOptimizer
from sing.operators import operators, require
from sing.options import COUNTER, SHARED, Schema, scalar
from sing.parameters import check_parameter, names_of
from sing.sharding import is_dtensor


class Optimizer(TorchOptimizer):
    """Base of all optimizers of the package: sing.SING, sing.PlugSING and the plain rules (sing.AdamW, sing.Lion, ...).

    It has the interface of torch.optim.Optimizer, and in addition grad_norms() and status() to inspect a run, save() and load()
    for the state files of the C++ library, eval() and train() to evaluate on LookAhead's slow weights, reset_lookahead() for
    weights changed by hand, and upload() for CUDA graphs.

    Args:
        params: Parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with `params` and any of
            the options.
        positional: The arguments that torch's optimizer of this name takes after `params`, in its order.
        slow_weights_for_evaluation: eval() puts LookAhead's slow weights in place of the parameters.
        options: The options of the class.

    Example:
        >>> import torch, sing
        >>> optimizer = sing.AdamW(torch.nn.Linear(4, 3).parameters(), lr=1e-3)
        >>> isinstance(optimizer, sing.Optimizer) and isinstance(optimizer, torch.optim.Optimizer)
        True
    """

    _schema: Schema
    # torch.amp.GradScaler then hands over its scale instead of dividing the gradients by it.
    _step_supports_amp_scaling: ClassVar[bool] = True
    # Flags per device that a step requested by sing.GradScaler sets if a gradient is not finite.
    _found_inf_per_device: dict[torch.device, Tensor] | None = None
    _norm_scale: Tensor | float = 1.0
    _library: LibraryOptimizer | None = None
    _slow_in_use: bool = False
    # Parameters whose slow weights are to be taken from them at their next step.
    _anew: Collection[Tensor] = ()
    slow_weights_for_evaluation: bool = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "_schema" in vars(cls):
            setattr(cls, "__signature__", cls._schema.signature())

    def __init__(self, params: ParamsT, *positional: Any, slow_weights_for_evaluation: bool = False, **options: Any) -> None:
        where = self._schema.where
        require(where)
        options = self._schema.by_name(positional, options)
        defaults = {**self._schema.defaults(), **self._schema.canonical(options, where, strict=True)}
        self._schema.check(defaults, where)
        self.slow_weights_for_evaluation = bool(slow_weights_for_evaluation)
        super().__init__(params, defaults)

    # Groups

    @_disable_dynamo
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters, at any time.

        Args:
            param_group: `params`, and any of the options; what it leaves out is the optimizer's default. A tensor listed twice
                is one parameter.

        Raises:
            TypeError, ValueError: A parameter or an option is refused; the optimizer is unchanged.

        Example:
            >>> import torch, sing
            >>> body, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
            >>> optimizer = sing.SING(body.parameters(), lr=1e-2)
            >>> optimizer.add_param_group({"params": head.parameters(), "lr": 1e-1})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.01, 0.1]
        """
        where = f"{self._schema.where} group {len(self.param_groups)}"
        if not isinstance(param_group, dict):
            raise TypeError(f"[{where}] wanted a dict, got {type(param_group).__name__}")
        self._refuse_slow_weights("add_param_group()")
        options = {key: value for key, value in param_group.items() if key != "params"}
        group = {**self._schema.canonical(options, where, strict=False), "params": _without_repeats(param_group["params"])}
        complete = {**self.defaults, **group}
        self._schema.check(complete, where)
        operators.check_options(json.dumps({"rule": self._schema.rule, **self._schema.overrides(complete)}))
        for key in SHARED:
            if key in group and self.param_groups and group[key] != self.param_groups[0][key]:
                present = self.param_groups[0][key]
                raise ValueError(f"[{where}] wanted one {key} for the whole optimizer, {present!r}, got {group[key]!r}")
        if complete.get("base_learning_rate", 0) is None and scalar(complete["lr"]) > 0:
            group["base_learning_rate"] = scalar(complete["lr"])  # before any scheduler changes lr
        super().add_param_group(group)
        try:
            for parameter, name in zip(group["params"], names_of(self.param_groups)[-1]):
                check_parameter(parameter, name, self._schema.where)
            if any(map(is_dtensor, group["params"])):
                self._ready_library().publish(self.state)
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    # The step

    @_disable_dynamo
    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient. Gradients are not changed.

        Args:
            closure: Reevaluates the model and returns the loss.

        Returns:
            What the closure returns, or None.

        Raises:
            RuntimeError: A gradient is not finite and `non_finite` is "throw"; nothing was changed. On a CUDA device status()
                raises instead.
            RuntimeError: eval() was called, and train() was not.
            ValueError: A gradient does not fit its parameter, or an option was set to a wrong value; nothing was changed.
        """
        self._refuse_slow_weights("step()")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        prepared = self._prepare()
        if prepared is None:
            return loss
        library, loss_scale = prepared
        if self._anew:
            self._restart_lookahead(self._anew)
            self._anew = ()
        watched = self._found_inf_per_device
        if watched is not None:
            library.forget_non_finite()
        library.step(self._gradients(library), loss_scale)
        if watched is not None:
            library.write_found_inf(watched)
        if library.has_news():
            library.publish(self.state)
        return loss

    def _prepare(self) -> tuple[LibraryOptimizer, float] | None:
        """Returns the library with the groups' current options, and the loss scale; None if the step must be skipped."""
        if not self.param_groups:
            return None
        non_finite, loss_scale = self.param_groups[0]["non_finite"], 1.0
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None:
            non_finite, loss_scale = "skip_step", self._take_scale(getattr(self, "grad_scale", None))
            if self._must_read(found_inf) and float(found_inf) > 0:
                self._ready_library().count_skipped_step()
                return None
        library = self._ready_library()
        library.sync_options(self.param_groups, non_finite)
        return library, loss_scale

    def _must_read(self, found_inf: Tensor | float) -> bool:
        """Reading a CUDA tensor waits for the device. It need not be read while the gradients are as the scaler saw them."""
        if self._found_inf_per_device is not None:
            return False
        return not isinstance(found_inf, Tensor) or not found_inf.is_cuda or getattr(self, "grad_scale", None) is None

    def _take_scale(self, scale: Tensor | float | None) -> float:
        self._norm_scale = 1.0
        if scale is None:
            return 1.0
        is_normalized = all(group["normalize"] != "off" for group in self.param_groups) and not self._schema.takes_curvature
        if isinstance(scale, Tensor) and scale.is_cuda and is_normalized:
            # A normalized gradient has no scale, but the norms reported do.
            self._norm_scale = scale.clone()
            return 1.0
        return scalar(scale)

    def _gradients(self, library: LibraryOptimizer) -> list[Tensor | None]:
        gradients = library.gradients()
        if any(group["maximize"] for group in self.param_groups):
            upward = {id(each) for group in self.param_groups if group["maximize"] for each in group["params"]}
            gradients = [
                -gradient if gradient is not None and id(each) in upward else gradient
                for each, gradient in zip(library.parameters, gradients)
            ]
        return gradients

    def upload(self) -> None:
        """Makes changed options take effect in steps that were captured in a CUDA graph.

        Call it after changing an option and before the next replay, while the captured gradients are still in place. A learning
        rate that is a CUDA tensor needs no call.
        """
        prepared = self._prepare()
        if prepared is not None:
            library, loss_scale = prepared
            library.upload(self._gradients(library), loss_scale)

    # The library's optimizer

    def _ready_library(self) -> LibraryOptimizer:
        """Returns the library's optimizer for the current parameters and state, and rebuilds it if they were replaced."""
        library = self._library
        if library is not None and library.fits(self.param_groups, self.state):
            library.add_new_groups(self.param_groups)
            return library
        skipped = [0, 0]
        if library is not None:
            self._refuse_slow_weights("a change of parameters or state")
            library.write_counters()
            skipped = library.skipped()
        self._library = self._built(self.param_groups, self.state)
        self._library.set_skipped(skipped)
        return self._library

    def _built(self, groups: list[dict[str, Any]], state: Any, anew: Collection[Tensor] = ()) -> LibraryOptimizer:
        with torch.no_grad():
            library = LibraryOptimizer(self._schema, groups)
            library.take_state(state, anew)
        return library

    def _refuse_slow_weights(self, what: str) -> None:
        if self._slow_in_use:
            raise RuntimeError(f"[{self._schema.where}] wanted train() before {what}, got it while slow weights are in use")

    # State

    @_disable_dynamo
    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state as torch.optim's: state by position, and the groups.

        It is exact: a run that is resumed from it gives the same bits as an uninterrupted one. The state of sing.AdamW, and of
        sing.SING around it, loads into torch.optim.AdamW; that of SGD and RAdam into theirs.

        Returns:
            A dict of "state" and "param_groups". Its tensors share the optimizer's memory, except the steps.
        """
        self._refuse_slow_weights("state_dict()")
        self._write_counters()
        found: dict[str, Any] = super().state_dict()
        groups = [{**self._schema.peers_options(group), **group} for group in found["param_groups"]]
        return {**found, "state": _with_torchs_steps(found["state"]), "param_groups": groups}

    @_disable_dynamo
    def create_state(self) -> None:
        """Allocates the state of all parameters, which otherwise happens in a parameter's first step.

        For DTensors this happens when they are added: torch.distributed.checkpoint needs the same entries on all processes, and
        treats an optimizer without state as a new one.
        """
        library = self._ready_library()
        library.create_state()
        library.publish(self.state)

    def _write_counters(self) -> None:
        if self._library is not None and self.param_groups:
            self._ready_library().write_counters()

    @_disable_dynamo
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the result of state_dict(), or the state of torch.optim.AdamW, SGD or RAdam for these rules, or of the authors'
        SING.

        Nothing is cast: the float32 state of 16-bit parameters is loaded as float32. As with torch's optimizers, options in the
        dictionary replace the present ones. A dictionary of torch.optim.AdamW has no options of SING; these keep their values,
        and LookAhead restarts at the next step.

        Args:
            state_dict: The state of an optimizer with parameters of the same shapes.

        Raises:
            ValueError: It is the state of another model or rule; the optimizer is unchanged.
        """
        self._refuse_slow_weights("load_state_dict()")
        before = (self.param_groups, self.state, self._library)
        given: dict[int, dict[str, Any]] = {}
        foreign: list[bool] = []  # one per group: whether another optimizer wrote it

        def take(_: TorchOptimizer, found: dict[str, Any]) -> dict[str, Any]:
            found = official.from_official(found) if official.is_official(found) else found
            given.update(_in_order(found, self._schema.where))
            foreign.extend(COUNTER not in group for group in found["param_groups"])
            return {**found, "state": {}, "param_groups": self._loaded_groups(found["param_groups"])}  # torch would cast state

        def place(_: TorchOptimizer) -> None:
            self._place_state(given, before[0], foreign)

        pre, post = self.register_load_state_dict_pre_hook(take), self.register_load_state_dict_post_hook(place, prepend=True)
        try:
            super().load_state_dict(state_dict)
        except BaseException:
            self.param_groups, self.state, self._library = before
            raise
        finally:
            pre.remove()
            post.remove()

    def _loaded_groups(self, saved: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the saved groups under our names; options that a saved group lacks keep their current values."""
        if len(saved) != len(self.param_groups):
            return saved  # torch refuses it
        groups, schema = [], self._schema
        for index, (theirs, ours) in enumerate(zip(saved, self.param_groups)):
            # A peer's name of an option is used if ours is absent. Unknown keys are kept, as torch keeps them.
            names = {key: schema.targets.get(key, key) for key in theirs if schema.accepts(key)}
            options = {key: theirs[key] for key, name in names.items() if name == key or name not in theirs}
            others = {key: value for key, value in theirs.items() if key not in names}
            given = schema.canonical(options, f"{schema.where} group {index}", strict=False)
            present = {key: ours[key] for key in self.defaults if key in ours}
            groups.append({**self.defaults, **present, COUNTER: 0, **others, **given})
        return groups

    def _place_state(self, given: dict[int, dict[str, Any]], old_groups: list[dict[str, Any]], foreign: list[bool]) -> None:
        """Builds the library's optimizer with loaded groups and state; torch has replaced the groups and emptied the state."""
        state: Any = defaultdict(dict)
        anew: set[Tensor] = set()
        position = 0
        for index, group in enumerate(self.param_groups):
            self._schema.check(group, f"{self._schema.where} group {index}")
            for parameter in group["params"]:
                entry = dict(given.get(position, {}))
                if foreign[index]:
                    entry = self._foreign_entry(entry)
                    anew.add(parameter)
                if entry:
                    state[parameter] = entry
                position += 1
        library = self._built(self.param_groups, state, anew)
        for group, old in zip(self.param_groups, old_groups):
            _keep_learning_rate_tensor(group, old)
        self.state, self._library, self._anew = state, library, anew

    def _foreign_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Converts a parameter's state that another optimizer wrote. torch has None for state that it does not keep."""
        found = {key: value for key, value in entry.items() if value is not None}
        if found and not self._schema.peer.counts_steps:
            found.setdefault("step", 1)
        return found

    def _complete(self, group: dict[str, Any]) -> None:
        for key, value in self.defaults.items():
            group.setdefault(key, value)

    def __getstate__(self) -> dict[str, Any]:
        self._refuse_slow_weights("a copy")
        self._write_counters()
        return {**super().__getstate__(), "slow_weights_for_evaluation": self.slow_weights_for_evaluation}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._library = None  # rebuilt when it is needed
        for group in self.param_groups:
            self._complete(group)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a state file (docs/state_files.md), which the C++ library can read; the file is written completely or not at all.

        Args:
            path: The file, which is replaced if it exists.

        Raises:
            OSError: The file cannot be written: FileNotFoundError, PermissionError, IsADirectoryError and so on.
        """
        self._refuse_slow_weights("save()")
        name = self._checked_path(path)
        library = self._ready_library()
        if self.param_groups:
            library.sync_options(self.param_groups, self.param_groups[0]["non_finite"])
        library.save(name)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads a state file of save() or of the C++ library: options, counters and state.

        Args:
            path: The file.

        Raises:
            OSError: The file cannot be read: FileNotFoundError, PermissionError, IsADirectoryError and so on.
            RuntimeError: The file is damaged or belongs to other parameters. In each case the optimizer is unchanged.
        """
        self._refuse_slow_weights("load()")
        library = self._ready_library()
        library.load(self._checked_path(path))
        for index, group in enumerate(self.param_groups):
            rate = group["lr"]
            group.update(self._schema.from_library(library.options_of(index)))
            group["learning_rate_factor"] = library.learning_rate_factor
            if isinstance(rate, Tensor):
                group["lr"] = rate.fill_(group["lr"])
        library.write_counters()
        self.state = defaultdict(dict)
        library.publish(self.state)

    def _checked_path(self, path: str | os.PathLike[str]) -> str:
        name = os.fsdecode(path)
        if "\0" in name:
            raise ValueError(f"[{self._schema.where}] wanted a path without null characters, got {name!r}")
        return name

    def to_official_state_dict(self) -> dict[str, Any]:
        """The state as the authors' SING writes and reads it.

        Returns:
            A dict of "state" and "param_groups".

        Raises:
            ValueError: The options have no counterpart in their class.
        """
        return official.to_official(self.state_dict(), self._schema.rule)

    def from_official_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state of the authors' SING, as load_state_dict() also does.

        Args:
            state_dict: The state dictionary of the authors' optimizer.

        Raises:
            ValueError: It is not such a state, or that of another model.
        """
        self.load_state_dict(official.from_official(state_dict))

    # Inspection

    def grad_norms(self) -> dict[str, float]:
        """Norms of the last gradients, before they were standardized and without the loss scale. Waits for the device.

        Returns:
            The norms by the parameters' names, or positions where they have none.
        """
        library = self._ready_library()
        scale = scalar(self._norm_scale)
        return {name: norm / scale for name, norm in zip(library.names, library.gradient_norms())}

    def status(self) -> dict[str, int]:
        """Counts of steps and tensors that were skipped because a gradient was not finite. Waits for the device.

        Returns:
            "skipped_steps" and "skipped_tensors".

        Raises:
            RuntimeError: A step on a CUDA device found a non-finite gradient, and `non_finite` is "throw".
        """
        library = self._ready_library()
        library.check_status()
        skipped_steps, skipped_tensors = library.skipped()
        return {"skipped_steps": skipped_steps, "skipped_tensors": skipped_tensors}

    # Curvature

    def set_curvature(self, curvatures: Mapping[Tensor, Tensor]) -> None:
        """Gives estimates of the Hessian's diagonal (sing.AdaHessian) for the next steps.

        Args:
            curvatures: Estimates by parameter, of the shape and type of its gradient. The gradient itself takes the place of
                those that are not given.

        Raises:
            TypeError: A key or an estimate is not a tensor.
            ValueError: The rule takes no curvature, or an estimate does not fit a parameter.
        """
        where = self._schema.where
        if curvatures and not self._schema.takes_curvature:
            raise ValueError(f"[{where}] wanted a rule that takes curvature, got '{self._schema.rule}'")
        library = self._ready_library()
        places = {id(each): i for i, each in enumerate(library.parameters)}
        found: dict[int, Tensor] = {}
        for parameter, curvature in curvatures.items():
            if not (isinstance(parameter, Tensor) and isinstance(curvature, Tensor)):
                got = f"{type(parameter).__name__} and {type(curvature).__name__}"
                raise TypeError(f"[{where}] wanted a tensor of curvature for each parameter, got {got}")
            if id(parameter) not in places:
                raise ValueError(f"[{where}] wanted curvature of a parameter, got that of another tensor {list(parameter.shape)}")
            found[places[id(parameter)]] = curvature.detach()
        library.set_curvature(found)

    # Slow weights

    @_disable_dynamo
    @torch.no_grad()
    def reset_lookahead(self) -> None:
        """Restarts LookAhead from the current weights. Call it after changing weights by hand.

        Without it, the next merge draws the weights back towards what they were before the change. With `master_weights`, the
        changed elements of 16-bit parameters are taken into the float32 weights. Moments stay as they are.

        Example:
            >>> import torch, sing
            >>> weight = torch.nn.Parameter(torch.zeros(2))
            >>> optimizer = sing.SING([weight])
            >>> weight.grad = torch.ones(2)
            >>> optimizer.step()
            >>> weight.data.fill_(3.0)
            tensor([3., 3.])
            >>> optimizer.reset_lookahead()
            >>> optimizer.state[weight]["slow"]
            tensor([3., 3.])
        """
        self._refuse_slow_weights("reset_lookahead()")
        library = self._ready_library()
        self._restart_lookahead(list(self.state))
        library.restart_lookahead_steps()
        library.write_counters()

    def _restart_lookahead(self, parameters: Collection[Tensor]) -> None:
        for parameter in parameters:
            entry = self.state.get(parameter, {})
            weights: Tensor = parameter
            if "master" in entry:
                master = entry["master"]
                weights = master.copy_(torch.where(master.to(parameter.dtype) == parameter, master, parameter.to(master.dtype)))
            if "slow" in entry:
                entry["slow"].copy_(weights)

    @torch.no_grad()
    def eval(self) -> None:
        """Replaces the parameters by LookAhead's slow weights, if slow_weights_for_evaluation is set.

        With sing.ScheduleFreeAdamW the option is not needed: the rule's average, or the slow weights if LookAhead is on, replaces
        them.
        """
        self._use_slow_weights(True)

    @torch.no_grad()
    def train(self, mode: bool = True) -> None:
        """Restores exactly the weights that eval() replaced.

        Args:
            mode: False does what eval() does.
        """
        self._use_slow_weights(not mode)

    def _use_slow_weights(self, slow: bool) -> None:
        if not (self.slow_weights_for_evaluation or self._schema.averages) or slow == self._slow_in_use:
            return
        self._ready_library().use_slow_weights(slow)
        self._slow_in_use = slow


class HostedOptimizer(Optimizer):
    """Base of sing.SING and sing.PlugSING, which wrap a rule, their host.

    Args:
        params: As for sing.Optimizer.
        positional: The arguments of torch.optim.AdamW after `params`, in its order.
        host: The rule's name in the program and in docs/optimizers.md.
        options: The options of the host and of all optimizers.

    Attributes:
        host: The rule's name.
    """

    def __init__(self, params: ParamsT, *positional: Any, host: str = "adamw", **options: Any) -> None:
        self._schema = self._schema.around(host)
        self.host = host
        super().__init__(params, *positional, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "host": self.host}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "host" in state:
            self._schema = self._schema.around(state["host"])
        super().__setstate__(state)


def _with_torchs_steps(state: dict[Any, Any]) -> dict[Any, Any]:
    """State whose steps are floating-point numbers on the CPU, as torch's optimizers count them. Waits once per device."""
    steps = {key: torch.as_tensor(entry["step"]) for key, entry in state.items() if isinstance(entry, dict) and "step" in entry}
    found = dict(state)
    for device in {each.device for each in steps.values()}:
        keys = [key for key, each in steps.items() if each.device == device]
        counts = torch.stack([steps[key] for key in keys]).to("cpu", torch.float64)
        found.update({key: {**state[key], "step": count.clone()} for key, count in zip(keys, counts)})
    return found


def _without_repeats(params: Any) -> Any:
    """Returns a list with each tensor once. Anything but a list of tensors is returned unchanged, for torch to judge."""
    if isinstance(params, (Tensor, set)) or not isinstance(params, Iterable):
        return params
    kept, seen = [], set()
    for each in params:
        tensor = each[1] if isinstance(each, tuple) and len(each) == 2 else each
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept.append(each)
    return kept


def _in_order(state_dict: dict[str, Any], where: str) -> dict[int, dict[str, Any]]:
    """Returns the saved state by a parameter's position, whatever numbers the dictionary gives to the parameters."""
    numbers = [each for group in state_dict["param_groups"] for each in group["params"]]
    unknown = [each for each, entry in state_dict["state"].items() if entry and each not in numbers]
    if unknown:
        raise ValueError(f"[{where}] wanted state of {len(numbers)} parameters, got state of parameter {unknown[0]}")
    return {place: state_dict["state"][each] for place, each in enumerate(numbers) if state_dict["state"].get(each)}


def _keep_learning_rate_tensor(group: dict[str, Any], old: dict[str, Any]) -> None:
    """A captured graph reads the learning rate from the tensor it was captured with: the loaded value goes there."""
    if isinstance(old["lr"], Tensor):
        old["lr"].fill_(scalar(group["lr"]))
        group["lr"] = old["lr"]
