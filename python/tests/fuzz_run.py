"""Runs a case of the fuzz test on the library and on the float64 implementation, and compares them after every step."""

from __future__ import annotations

import copy
import io
import os
import pathlib
import pickle
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch

import float64_sing as oracle
import fuzz_cases as cases
import sing

# The bounds are of first order and ignore that the library may compute a constant in a different order.
SAFETY = 2.0
_FILLER = 7.0  # fills the memory around and between a parameter's elements


class Mismatch(AssertionError):
    """Raised when the library differs from the float64 implementation."""


@dataclass
class Live:
    """Holds a parameter of the case: torch's tensor and the float64 one."""

    spec: cases.Parameter
    tensor: torch.nn.Parameter
    trained: oracle.Trained
    memory: torch.Tensor | None  # the memory that the tensor is a view of
    name: str


@dataclass
class Record:
    """Counts what a run tried and how sharp the comparisons were."""

    kinds: Counter = field(default_factory=Counter)  # number of actions and gradients of each kind
    steps: int = 0
    compared: int = 0  # number of parameters compared after a step
    blurred: int = 0  # how many of them have a bound above a hundredth of the step
    closeness: float = 0.0  # largest ratio of a difference to its bound


def to_numpy(tensor):
    return tensor.detach().to(torch.float64).contiguous().numpy().copy()


def laid_out(values, dtype, layout, random):
    """Returns a tensor of these values in this memory layout, and the memory that it is a view of."""
    values = torch.from_numpy(np.array(values, dtype=np.float64, order="C")).to(getattr(torch, dtype))
    shape, rank = values.shape, values.dim()
    if layout == "expanded":
        first = values.reshape(-1)[:1].reshape([1] * rank) if values.numel() else values
        return first.expand(shape), first
    order = list(range(rank))
    if layout == "permuted":
        order = [int(each) for each in random.permutation(rank)]
    if layout == "channels_last" and rank in (4, 5):
        order = [0, *range(2, rank), 1]
    sizes = [shape[axis] for axis in order]
    step = [2 if layout == "strided" and cases.chance(random, 0.6) else 1 for _ in order]
    before = int(random.integers(1, 6)) if layout == "offset" else 0
    padded = [size * each for size, each in zip(sizes, step)]
    memory = torch.full((before + int(np.prod(padded, dtype=np.int64)) + 1,), _FILLER, dtype=values.dtype)
    view = memory[before : memory.numel() - 1].view(padded)
    for axis, each in enumerate(step):
        view = view[(slice(None),) * axis + (slice(None, None, each),)]
    view = view.permute([order.index(axis) for axis in range(rank)])
    view.copy_(values)
    return view, memory


class Runner:
    """Runs one case."""

    _own_options: ClassVar[dict[str, Any]] = {}  # options that only the float64 implementation has
    _error: ClassVar[type[Exception]] = RuntimeError  # raised under "throw"

    def __init__(self, case, optimizer_class=oracle.Optimizer):
        self.case = case
        self.record = Record()
        self.live: dict[int, Live] = {}
        self.keys: list[list[int]] = []  # for each group, the keys of its parameters
        self.policy = case.shared["non_finite"]
        self.factor = case.shared["learning_rate_factor"]
        self.history: list[str] = []
        self.abandoned: list[torch.Tensor] = []  # parameters in no group, whose state may still exist
        self.kept = None  # set by do_Remember
        self.where = "start"
        self.model = optimizer_class(case.rule, [])
        self.library = self._made([self._new_group(group) for group in case.groups])
        for index, group in enumerate(case.groups):
            self._model_group(index, group)

    def run(self):
        threads = torch.get_num_threads()
        torch.set_num_threads(self.case.threads)
        try:
            for index, action in enumerate(self.case.actions):
                self.where = f"action {index}, {type(action).__name__}"
                self.record.kinds[type(action).__name__] += 1
                getattr(self, f"do_{type(action).__name__}")(action)
        finally:
            torch.set_num_threads(threads)
        return self.record

    def fail(self, message):
        raise Mismatch(f"{self.where}: {message}")

    # Overridden for an attached optimizer

    def _made(self, groups, **options):
        """Returns an optimizer over these groups."""
        return getattr(sing, self.case.rule)(groups, slow_weights_for_evaluation=True, **{**self._shared(), **options})

    def _defaults(self):
        return self.library.defaults

    def _shared(self):
        return {"non_finite": self.policy, "learning_rate_factor": self.factor}

    def _status(self):
        return self.library.status()

    def _norms(self):
        return self.library.grad_norms()

    # Building

    def _new_live(self, spec):
        random = np.random.default_rng((self.case.seed, 1, spec.key))
        view, memory = laid_out(cases.draw_values(random, spec.shape), spec.dtype, spec.layout, random)
        tensor = torch.nn.Parameter(view)
        if spec.gradient_dtype != spec.dtype:
            tensor.grad_dtype = None
        trained = oracle.Trained(to_numpy(tensor), spec.dtype)
        self.live[spec.key] = Live(spec, tensor, trained, memory, f"p{spec.key}")
        return self.live[spec.key]

    def _new_group(self, group):
        members = [self._new_live(spec) for spec in group.parameters]
        self.keys.append([each.spec.key for each in members])
        params = [(each.name, each.tensor) if self.case.is_named else each.tensor for each in members]
        return {"params": params, **group.options}

    def _model_group(self, index, group):
        options = {**self._defaults(), **group.options, **self._shared()}
        self.model.groups.append(oracle.Group(options, [self.live[key].trained for key in self.keys[index]]))

    def _members(self):
        return [self.live[key] for keys in self.keys for key in keys]

    def _group_of(self, key):
        return next((index for index, keys in enumerate(self.keys) if key in keys), None)

    # Options

    def do_SetOptions(self, action):
        if not self.keys:
            return
        index = action.group % len(self.keys)
        options = dict(action.options)
        if "centralize_axis" in options:
            options["centralize_axis"] = min(options["centralize_axis"], self._rank(index) - 1)
        self._set(index, options)

    def _rank(self, index):
        """Returns the smallest rank of the group's parameters that have rows."""
        return min((len(s) for key in self.keys[index] if len(s := self.live[key].spec.shape) >= 2), default=1)

    def _set(self, index, options):
        group, model = self.library.param_groups[index], self.model.groups[index].options
        for name, value in options.items():
            if isinstance(value, tuple) and value[0] == "tensor":
                value = float(np.float32(value[1]))
                group[name] = torch.tensor(value, dtype=torch.float32)
            else:
                group[name] = value
            model[name] = value

    def _keep_axis(self, index):
        """Corrects the axis after an edit, because an axis that a parameter of the group lacks would be refused."""
        if self.model.groups[index].options["centralize_axis"] >= max(self._rank(index), 1):
            self._set(index, {"centralize_axis": 0})

    def do_SetShared(self, action):
        if action.name == "non_finite":
            self.policy = action.value
        else:
            self.factor = action.value
        for group, model in zip(self.library.param_groups, self.model.groups):
            group[action.name] = action.value
            model.options.update(self._shared())

    def do_RefusedOptions(self, action):
        if not self.keys:
            return
        index = action.group % len(self.keys)
        if "centralize_axis" in action.options and self._rank(index) < 2:
            return  # no parameter has rows, so any axis is allowed
        group = self.library.param_groups[index]
        before = self._snapshot()
        kept = {name: group[name] for name in action.options if name in group}  # attach() fills a new group at its first step
        group.update(action.options)
        self._give_gradients(cases.Step(0, False))
        try:
            self.library.step()
        except (TypeError, ValueError, RuntimeError):
            pass
        else:
            self.fail(f"{action.options} was taken")
        for name in action.options:
            del group[name]
        group.update(kept)
        self._expect_unchanged(before)

    # Edits of the groups

    def do_ReplaceParameter(self, action):
        index = self._group_of(action.key)
        if index is None:
            return
        old = self.live[action.key]
        spec = action.new
        if action.keeps_state:
            spec = replace(spec, shape=old.spec.shape, dtype=old.spec.dtype, gradient_dtype=old.spec.gradient_dtype)
        new = self._new_live(spec)
        place = self.keys[index].index(action.key)
        self._put(index, [new.spec.key if i == place else key for i, key in enumerate(self.keys[index])], in_place=place)
        if action.keeps_state:
            new.trained.steps, new.trained.state = old.trained.steps, old.trained.state
            new.trained.is_lost = old.trained.is_lost
            if old.tensor in self.library.state:
                self.library.state[new.tensor] = self.library.state.pop(old.tensor)
        elif action.leaves_old_state:
            self.abandoned.append(old.tensor)
        else:
            self.library.state.pop(old.tensor, None)

    def _put(self, index, keys, in_place=None):
        """Gives a group other parameters, either in its list or by another list."""
        gone = [key for key in self.keys[index] if key not in keys]
        self.keys[index] = keys
        group = self.library.param_groups[index]
        tensors = [self.live[key].tensor for key in keys]
        if in_place is None:
            group["params"] = tensors
        else:
            group["params"][in_place] = tensors[in_place]
        if "param_names" in group or (self.case.is_named and keys):
            group["param_names"] = [self.live[key].name for key in keys]
        self.model.groups[index].members = [self.live[key].trained for key in keys]
        self._keep_axis(index)
        return gone

    def _must_stay(self, index):
        """torch treats an empty group as one without names and refuses named groups next to it."""
        return self.case.is_named and len(self.keys[index]) < 2

    def do_ReplaceList(self, action):
        if not self.keys:
            return
        index = action.group % len(self.keys)
        random = np.random.default_rng(action.seed)
        keys = [self.keys[index][i] for i in random.permutation(len(self.keys[index]))]
        if action.change == "exchange" or (action.change == "remove" and not self._must_stay(index)):
            keys = keys[:-1]
        if action.change in ("exchange", "append"):
            keys.append(self._new_live(action.new).spec.key)
        for key in self._put(index, keys):
            self.library.state.pop(self.live[key].tensor, None)

    def do_SwapGroups(self, action):
        if not self.keys:
            return
        a, b = action.first % len(self.keys), action.second % len(self.keys)
        for each in (self.keys, self.library.param_groups, self.model.groups):
            each[a], each[b] = each[b], each[a]

    def do_MoveParameter(self, action):
        source = self._group_of(action.key)
        if source is None or self._must_stay(source):
            return
        target = len(self.keys) if action.is_new else action.to % len(self.keys)
        if target == source:
            return
        self._put(source, [key for key in self.keys[source] if key != action.key])
        if action.is_new:
            live, options = self.live[action.key], self.library.param_groups[source]
            params = [(live.name, live.tensor) if self.case.is_named else live.tensor]
            options = {name: value for name, value in options.items() if name not in ("param_names", "lookahead_step")}
            self.library.add_param_group({**options, "params": params})
            self.keys.append([action.key])
            self.model.groups.append(oracle.Group(dict(self.model.groups[source].options), [live.trained]))
        else:
            self._put(target, [*self.keys[target], action.key])
        source_options, target_options = (self.model.groups[i].options for i in (source, target))
        if any(bool(source_options.get(name)) != bool(target_options.get(name)) for name in cases.FIXED):
            live = self.live[action.key]  # the parameters of the other group have different state, so this one starts anew
            self.library.state.pop(live.tensor, None)
            live.trained.steps, live.trained.state = 0, {}

    def do_AddGroup(self, action):
        group = self._new_group(action.group)
        self.library.add_param_group({**group, **self._shared()})
        self._model_group(len(self.keys) - 1, action.group)

    def do_RemoveGroup(self, action):
        if len(self.keys) < 2:
            return
        index = action.group % len(self.keys)
        for key in self.keys[index]:
            self.library.state.pop(self.live[key].tensor, None)
        for each in (self.keys, self.library.param_groups, self.model.groups):
            del each[index]

    def do_NewMemory(self, action):
        if self._group_of(action.key) is None:
            return
        live = self.live[action.key]
        random = np.random.default_rng((self.case.seed, 2, action.key))
        view, live.memory = laid_out(to_numpy(live.tensor), live.spec.dtype, action.layout, random)
        live.tensor.data = view

    # Round trips

    def _forget_abandoned(self):
        """Removes the state of parameters that are in no group, because torch's state_dict() has no place for it."""
        for tensor in self.abandoned:
            self.library.state.pop(tensor, None)
        self.abandoned = []

    def _fresh(self, keeps_fixed):
        """Makes another optimizer over the same parameters, with other options."""
        groups = []
        for index, keys in enumerate(self.keys):
            params = [(self.live[key].name, self.live[key].tensor) if self.case.is_named else self.live[key].tensor for key in keys]
            fixed = {name: self.model.groups[index].options[name] for name in cases.FIXED if name in self.library.defaults}
            groups.append({"params": params, **(fixed if keeps_fixed else {})})
        return self._made(groups, lr=0.7, **({"non_finite": "pass_through", "learning_rate_factor": 3.0} if self._shared() else {}))

    def do_RoundTrip(self, action):
        if not self.keys or (action.kind == "file" and not self._members()):
            return
        self._forget_abandoned()
        before = self._snapshot()
        if action.kind in ("copy", "pickle"):
            whole = ({key: live.tensor for key, live in self.live.items()}, self.library)
            tensors, self.library = copy.deepcopy(whole) if action.kind == "copy" else pickle.loads(pickle.dumps(whole))
            for key, tensor in tensors.items():
                self.live[key].tensor, self.live[key].memory = tensor, None
                if self.live[key].spec.gradient_dtype != self.live[key].spec.dtype:
                    tensor.grad = None
                    tensor.grad_dtype = None
        elif action.kind.startswith("state_dict"):
            saved = self._dictionary_bytes()
            if action.kind == "state_dict_fresh":
                self.library = self._fresh(keeps_fixed=False)
            self.library.load_state_dict(torch.load(io.BytesIO(saved), weights_only=True))
        else:
            saved = self._file_bytes()
            if action.kind == "file_fresh":
                self.library = self._fresh(keeps_fixed=True)
            self._load_file(saved)
        if not action.kind.startswith("file"):
            # These counters belong to the run, not to the optimizer: only a state file has them.
            self.model.skipped_steps, self.model.skipped_tensors = self._status().values()
        self._expect_options()
        self._expect_unchanged(before)

    # Going back

    def do_Remember(self, action):
        if not self.keys:
            return
        self._forget_abandoned()
        saved = self._file_bytes() if action.is_file else self._dictionary_bytes()
        weights = {key: live.tensor.detach().clone() for key, live in self.live.items()}
        numbers = {key: copy.deepcopy(live.trained) for key, live in self.live.items()}
        groups = [(dict(group.options), group.steps) for group in self.model.groups]
        skipped = (self.model.skipped_steps, self.model.skipped_tensors)
        self.kept = (action.is_file, copy.deepcopy(self.keys), saved, weights, numbers, groups, skipped, self.policy, self.factor)

    def do_Rewind(self, action):
        if self.kept is None or self.kept[1] != self.keys:
            return
        self._forget_abandoned()
        is_file, _, saved, weights, numbers, groups, skipped, self.policy, self.factor = self.kept
        for live in self._members():
            live.tensor.data.copy_(weights[live.spec.key])
            vars(live.trained).update(copy.deepcopy(vars(numbers[live.spec.key])))
        for group, (options, steps) in zip(self.model.groups, groups):
            group.options, group.steps = dict(options), steps
        if is_file:
            self._load_file(saved)
            self.model.skipped_steps, self.model.skipped_tensors = skipped
        else:
            self.library.load_state_dict(torch.load(io.BytesIO(saved), weights_only=True))
            self.model.skipped_steps, self.model.skipped_tensors = self._status().values()
        self._expect_options()
        self._expect_counters()
        for live in self._members():
            if live.trained.steps and not live.trained.is_lost:
                found = self._numbers(live)
                for name, value in live.trained.state.items():
                    self._expect_same(live, name, value, found[name])

    def _dictionary_bytes(self):
        file = io.BytesIO()
        torch.save(self.library.state_dict(), file)
        return file.getvalue()

    def _file_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            self.library.save(os.path.join(folder, "state.safetensors"))
            return pathlib.Path(folder, "state.safetensors").read_bytes()

    def _load_file(self, saved):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "state.safetensors").write_bytes(saved)
            self.library.load(os.path.join(folder, "state.safetensors"))
        for group, model in zip(self.library.param_groups, self.model.groups):
            group["maximize"] = model.options["maximize"]  # an option of the package, not of the library

    def _expect_options(self):
        for index, (group, model) in enumerate(zip(self.library.param_groups, self.model.groups)):
            for name, value in model.options.items():
                if name in ("lookahead_step", "differentiable") or (name not in group and self._own_options):
                    continue
                found = group[name]
                if isinstance(found, torch.Tensor):  # the group keeps its tensor and copies the loaded value into it
                    found, value = float(found), float(np.float32(value))
                    model.options[name] = value
                if name.startswith("lookahead_") and not model.options["lookahead"]:
                    model.options[name] = found  # has no effect
                elif found != value:
                    self.fail(f"group {index}: wanted {name} {value!r}, got {found!r}")

    def do_Evaluate(self, action):
        before = self._snapshot()
        self.library.eval()
        for live in self._members():
            slow = live.trained.state.get("slow")
            if slow is not None and live.trained.steps and not live.trained.is_lost:
                expected = oracle.rounded_to(slow, live.spec.dtype)
                if not np.array_equal(to_numpy(live.tensor), expected):
                    self.fail(f"{live.name}: eval() did not give the slow weights")
        self.library.train()
        self._expect_unchanged(before)

    # Checks that nothing changed

    def _numbers(self, live):
        found = self.library.state.get(live.tensor) or {}
        return {name: to_numpy(value) for name, value in found.items() if name != "step"}

    def _snapshot(self):
        return {live.name: (to_numpy(live.tensor), self._numbers(live)) for live in self._members()}

    def _expect_unchanged(self, before):
        for live in self._members():
            value, state = before[live.name]
            self._expect_same(live, "value", value, to_numpy(live.tensor))
            found = self._numbers(live)
            for name in state.keys() | found.keys():
                if live.trained.steps == 0 and (name not in state or name not in found):
                    continue  # state may exist before it is used
                if name not in state or name not in found:
                    self.fail(f"{live.name}: {name} {'appeared' if name in found else 'went away'}")
                self._expect_same(live, name, state[name], found[name])
        self._expect_counters()

    def _expect_same(self, live, name, before, after):
        if not np.array_equal(before, after, equal_nan=True):
            self.fail(f"{live.name}: {name} changed from {_short(before)} to {_short(after)}")

    def _expect_counters(self):
        status = self._status()
        wanted = {"skipped_steps": self.model.skipped_steps, "skipped_tensors": self.model.skipped_tensors}
        if status != wanted:
            self.fail(f"wanted {wanted}, got {status}")
        for live in self._members():
            state = self.library.state.get(live.tensor) or {}
            if "step" not in state and (live.trained.steps == 0 or not live.trained.state or self._own_options):
                continue
            steps = int(state.get("step", 0))
            if live.trained.value.size and steps != live.trained.steps:
                self.fail(f"{live.name}: wanted {live.trained.steps} updates, got {steps}")

    # The step

    def do_Step(self, action):
        gradients, kinds = self._give_gradients(action)
        self.history.append(f"{self.where}: " + ", ".join(f"{name} {kind}" for name, kind in kinds.items()))
        self.record.kinds.update(f"gradient {kind}" for kind in kinds.values())
        self.record.steps += 1
        before = self._snapshot()
        bits = {live.name: live.tensor.grad.clone() for live in self._members() if live.tensor.grad is not None}
        inputs = {id(live.trained): gradients[live.name] for live in self._members() if live.name in gradients}
        scaler, policy, scale = self._scaler(action), self.policy, 1.0
        if scaler is not None:
            policy, scale = "skip_step", action.scale
        starts = {live.name: live.trained.value for live in self._members()}
        try:
            outcome = self.model.step(inputs, policy, scale)
            wanted_error = False
        except oracle.NonFiniteGradient:
            outcome, wanted_error = oracle.Outcome(True, {}, []), True
        self._library_step(scaler, wanted_error)
        if scaler is not None:
            self._expect_scale(scaler, action, outcome, gradients)
        for live in self._members():
            if live.name in bits and not _same_bits(live.tensor.grad, bits[live.name]):
                self.fail(f"{live.name}: the gradient was written")
            self._expect_filler(live)
        if outcome.is_skipped:
            self._expect_unchanged(before)
            return
        updated = {id(each) for each in outcome.updated}
        norms = self._norms()
        for live in self._members():
            if id(live.trained) not in updated:
                self._expect_same(live, "value", before[live.name][0], to_numpy(live.tensor))
            elif id(live.trained) in outcome.expected:
                self._expect(live, outcome.expected[id(live.trained)], starts[live.name], norms)
            # State may exist before the first update, but has no meaning then.
            live.trained.take(to_numpy(live.tensor), self._numbers(live) if live.trained.steps else {})
        self._expect_counters()
        self._expect_group_steps()

    def _give_gradients(self, action):
        gradients, kinds = {}, {}
        for live in self._members():
            live.tensor.grad = None
            random = np.random.default_rng((self.case.seed, 3, action.seed, live.spec.key))
            kind, values, layout = cases.draw_gradient(random, live.spec, action.is_wild)
            if layout == "expanded" and action.scaler == "torch":
                layout = "contiguous"  # torch's scaler refuses other layouts
            kinds[live.name] = kind
            if kind == "missing":
                continue
            gradient, _ = laid_out(values, live.spec.gradient_dtype, layout, random)
            live.tensor.grad = gradient
            gradients[live.name] = to_numpy(gradient)
        return gradients, kinds

    def _scaler(self, action):
        if not action.scaler or all(live.tensor.grad is None for live in self._members()):
            return None
        kind = sing.GradScaler if action.scaler == "sing" else torch.amp.GradScaler
        scaler = kind("cpu", init_scale=action.scale, growth_interval=10**6)
        scaler.scale(torch.zeros(1))
        return scaler

    def _library_step(self, scaler, wanted_error):
        try:
            if scaler is None:
                self.library.step()
            else:
                scaler.step(self.library)
                scaler.update()
        except self._error as error:
            if not wanted_error or "finite" not in str(error):
                raise
        else:
            if wanted_error:
                self.fail("a gradient that is not finite raised nothing under 'throw'")

    def _expect_scale(self, scaler, action, outcome, gradients):
        """Checks the scale: torch's scaler searches for non-finite elements, ours uses the step's own check."""
        elements = any(not np.isfinite(each).all() for each in gradients.values())
        is_lowered = outcome.is_skipped if action.scaler == "sing" else elements
        wanted = action.scale * (0.5 if is_lowered else 1.0)
        if scaler.get_scale() != wanted:
            self.fail(f"{action.scaler} scaler: wanted scale {wanted}, got {scaler.get_scale()}")

    def _expect_filler(self, live):
        """Checks that the optimizer did not write to the memory around and between the elements."""
        if live.memory is None:
            return
        count = int((live.memory == _FILLER).sum())
        own = int((live.tensor == _FILLER).sum())
        if count - own != live.memory.numel() - live.tensor.numel():
            self.fail(f"{live.name}: memory outside of the parameter was written")

    def _expect(self, live, expected, start, norms):
        trained = live.trained
        value = to_numpy(live.tensor)
        error = SAFETY * expected.value.error
        low, high = (oracle.rounded_to(expected.value.value + sign * error, live.spec.dtype) for sign in (-1, 1))
        is_right = (low <= value) & (value <= high) | ~np.isfinite(error)
        if not is_right.all():
            self._fail_number(live, "value", value, expected.value.value, error, is_right, start)
        state = self._numbers(live)
        if state.keys() != expected.state.keys():
            self.fail(f"{live.name}: wanted state {sorted(expected.state)}, got {sorted(state)}")
        for name, wanted in expected.state.items():
            if state[name].shape != wanted.value.shape:
                self.fail(f"{live.name}: wanted {name} of shape {wanted.value.shape}, got {state[name].shape}")
            error = SAFETY * wanted.error
            is_right = (np.abs(state[name] - wanted.value) <= error) | ~np.isfinite(error)
            if not is_right.all():
                self._fail_number(live, name, state[name], wanted.value, error, is_right, trained.state.get(name))
        self._expect_norm(live, expected.norm, norms)
        self._measure(value, expected, start, live.spec.dtype)

    def _expect_norm(self, live, expected, norms):
        position = [each.name for each in self._members()].index(live.name)
        found = norms[live.name if self.case.is_named else str(position)]
        if not abs(found - float(expected.value)) <= SAFETY * float(expected.error):
            self.fail(f"{live.name}: wanted gradient norm {float(expected.value):.17g}, got {found:.17g}")

    def _measure(self, value, expected, start, dtype):
        self.record.compared += 1
        change = np.abs(expected.value.value - start).max()
        error = SAFETY * expected.value.error.max()
        self.record.blurred += bool(change > 0 and error > 0.01 * change)
        if dtype in ("float32", "float64"):
            with np.errstate(all="ignore"):
                ratio = np.abs(value - expected.value.value) / (SAFETY * expected.value.error)
            self.record.closeness = max(self.record.closeness, float(np.nanmax(np.where(np.isfinite(ratio), ratio, 0.0))))

    def _fail_number(self, live, name, found, wanted, error, is_right, start):
        place = tuple(int(each[0]) for each in np.nonzero(~np.atleast_1d(is_right)))
        found, wanted, error = (np.atleast_1d(np.broadcast_to(each, is_right.shape)) for each in (found, wanted, error))
        before = "" if start is None else f", {np.atleast_1d(start)[place]:.9g} before"
        self.fail(
            f"{live.name} {live.spec}: {name}{list(place)}: wanted {wanted[place]:.9g} within {error[place]:.2g}, "
            f"got {found[place]:.9g}{before}; {int((~is_right).sum())} of {is_right.size} elements are wrong"
        )

    def _expect_group_steps(self):
        if self.record.steps % 3:  # state_dict() has side effects, so it is not called after every step
            return
        self._forget_abandoned()
        for index, (group, model) in enumerate(zip(self.library.state_dict()["param_groups"], self.model.groups)):
            is_counted = group["lookahead"] or not self._own_options  # attach counts only where it is needed
            if is_counted and group["lookahead_step"] != model.steps:
                self.fail(f"group {index}: wanted a LookAhead counter of {model.steps}, got {group['lookahead_step']}")


class AttachedRunner(Runner):
    """Runs a case for a torch optimizer with sing.attach. It has no state files, no scaler and no change of policy."""

    _error = FloatingPointError

    def __init__(self, case, **arguments):
        self._own_options = cases.ATTACHED[case.rule]
        super().__init__(case, **arguments)

    def _made(self, groups, **options):
        host = getattr(torch.optim, self.case.rule.removeprefix("attached "))
        return sing.attach(host(groups, **{"lr": 0.01, **options}), non_finite=self.policy)

    def _defaults(self):
        return {**self.library.defaults, **sing.attachment(self.library).group_keys, **self._own_options}

    def _shared(self):
        return {}

    def _status(self):
        attachment = sing.attachment(self.library)
        return {"skipped_steps": attachment.skipped_steps, "skipped_tensors": attachment.skipped_tensors}

    def _norms(self):
        return sing.attachment(self.library).grad_norms()

    def do_SetShared(self, action):
        pass

    def do_Evaluate(self, action):
        pass

    def do_RefusedOptions(self, action):
        if "lr" not in action.options:  # torch accepts any value
            super().do_RefusedOptions(action)

    def do_RoundTrip(self, action):
        if not action.kind.startswith("file"):
            super().do_RoundTrip(action)

    def do_Remember(self, action):
        super().do_Remember(replace(action, is_file=False))

    def do_Step(self, action):
        super().do_Step(replace(action, scaler=""))

    def _library_step(self, scaler, wanted_error):
        super()._library_step(scaler, wanted_error)
        if wanted_error:
            self.model.skipped_steps -= 1  # a step that raises is not counted


def runner_for(case, **arguments):
    return (AttachedRunner if case.rule in cases.ATTACHED else Runner)(case, **arguments)


def _same_bits(a, b):
    return torch.equal(torch.nan_to_num(a, 1.5), torch.nan_to_num(b, 1.5)) and torch.equal(torch.isnan(a), torch.isnan(b))


def _short(values):
    return np.array2string(np.ravel(values)[:4], precision=6)


# Shrinking


def outcome_of(case, **arguments):
    """Returns the record of a case, and how it fails and what its gradients were, or None if it passes."""
    runner = None
    try:
        runner = runner_for(case, **arguments)
        runner.run()
    except Exception as error:
        where = "" if runner is None or isinstance(error, Mismatch) else f"{runner.where}: "
        history = [] if runner is None else runner.history[-3:]
        failure = "\n".join([f"{type(error).__name__}: {where}{error}", *history])
        return Record() if runner is None else runner.record, failure
    return runner.record, None


def failure_of(case, **arguments):
    return outcome_of(case, **arguments)[1]


def tried(seed):
    """Returns the record of the case with this seed, and its smallest form with the failure, or None if it passes."""
    case = cases.make_case(seed)
    record, failure = outcome_of(case)
    if failure is None:
        return record, None
    smallest = shrunk(case)
    return record, f"tools/fuzz.py --seeds {seed} runs this case again\n{smallest.describe()}\n{failure_of(smallest)}"


def shrunk(case, **arguments):
    """Returns the case without the actions and parameters that its failure does not need."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for index in reversed(range(len(case.actions))):
            smaller = case.without_action(index)
            if failure_of(smaller, **arguments):
                case, is_smaller = smaller, True
        for key in [parameter.key for group in case.groups for parameter in group.parameters]:
            smaller = case.without_parameter(key)
            if smaller.groups and failure_of(smaller, **arguments):
                case, is_smaller = smaller, True
    return case
