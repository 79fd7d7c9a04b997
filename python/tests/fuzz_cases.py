"""Generates random cases for the fuzz test: parameters in all shapes and memory layouts, options, and actions between steps.

A case depends only on its seed. Each action has its own seed, and gradients are drawn from it and the parameter's key, so an action
or a parameter can be removed from a failing case without changing the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "bfloat16", "float16")
POLICIES = ("skip_tensor", "skip_step", "throw", "pass_through")
LAYOUTS = ("contiguous", "permuted", "channels_last", "strided", "offset")
ROUND_TRIPS = ("state_dict", "state_dict_fresh", "file", "file_fresh", "copy", "pickle")
# Torch optimizers for sing.attach, and the library's options that describe them.
ATTACHED: dict[str, dict[str, Any]] = {
    "attached SGD": {"decoupled_decay": False, "decay_vectors": True, "master_weights": False, "learning_rate_factor": 1.0},
    "attached AdamW": {
        "decoupled_decay": True, "decay_vectors": True, "master_weights": False, "learning_rate_factor": 1.0, "softplus_beta": None,
    },
}  # fmt: skip
RULE_NAMES = ("SING", "AdamW", "SGD", "Lion", "NAdam", "Lamb", "Lars", "Adafactor", "Muon", *ATTACHED)
# The weights with which rules are drawn: the three that everything else is built on are drawn more often.
RULE_WEIGHTS = (8, 4, 4, 1, 1, 2, 1, 2, 1, 1, 1)


@dataclass(frozen=True)
class Parameter:
    key: int
    shape: tuple[int, ...]
    dtype: str
    layout: str
    gradient_dtype: str


@dataclass(frozen=True)
class Group:
    parameters: tuple[Parameter, ...]
    options: dict[str, Any]


# Defines the actions. They refer to groups by number, modulo the current number of groups; an action on a missing key does nothing.


@dataclass(frozen=True)
class Step:
    seed: int
    is_wild: bool  # gradients of every kind, not only ordinary ones
    scaler: str = ""  # "", "sing" or "torch"
    scale: float = 1.0


@dataclass(frozen=True)
class SetOptions:
    group: int
    options: dict[str, Any]


@dataclass(frozen=True)
class SetShared:
    """Sets an option that applies to the whole optimizer."""

    name: str
    value: Any


@dataclass(frozen=True)
class RefusedOptions:
    """Sets a value that the next step must refuse without changing anything, then restores the old value."""

    group: int
    options: dict[str, Any]


@dataclass(frozen=True)
class ReplaceParameter:
    key: int
    new: Parameter
    keeps_state: bool  # the old parameter's state moves to the new one, if the shapes allow it
    leaves_old_state: bool  # the old parameter's state stays in optimizer.state for a while


@dataclass(frozen=True)
class ReplaceList:
    """Gives a group another list object: its parameters reordered, the last one replaced, one more or one less."""

    group: int
    seed: int
    new: Parameter
    change: str  # "reorder", "exchange", "append" or "remove"


@dataclass(frozen=True)
class SwapGroups:
    first: int
    second: int


@dataclass(frozen=True)
class MoveParameter:
    """Moves a parameter to another group, or to a new group with its own options; its state is kept where possible."""

    key: int
    to: int
    is_new: bool


@dataclass(frozen=True)
class AddGroup:
    group: Group


@dataclass(frozen=True)
class RemoveGroup:
    group: int


@dataclass(frozen=True)
class NewMemory:
    """Makes `parameter.data` another tensor with the same values, as after `model.to(memory_format=...)`."""

    key: int
    layout: str


@dataclass(frozen=True)
class RoundTrip:
    kind: str


@dataclass(frozen=True)
class Remember:
    """Saves the state, as a dictionary or a file, and the weights."""

    is_file: bool


@dataclass(frozen=True)
class Rewind:
    """Restores what was last saved, if the groups still have the same parameters."""


@dataclass(frozen=True)
class Evaluate:
    """Calls eval() and then train()."""


@dataclass(frozen=True)
class Case:
    seed: int
    rule: str
    is_named: bool
    threads: int
    shared: dict[str, Any]  # options of the whole optimizer
    groups: tuple[Group, ...]
    actions: tuple[Any, ...] = field(default=())

    def without_action(self, index):
        return replace(self, actions=self.actions[:index] + self.actions[index + 1 :])

    def without_parameter(self, key):
        groups = tuple(replace(g, parameters=tuple(p for p in g.parameters if p.key != key)) for g in self.groups)
        return replace(self, groups=tuple(g for g in groups if g.parameters))

    def describe(self):
        lines = [f"seed {self.seed}: sing.{self.rule}, {'named' if self.is_named else 'unnamed'}, {self.threads} threads, {self.shared}"]
        for group in self.groups:
            lines.append(f"  group {group.options}")
            lines += [f"    {parameter}" for parameter in group.parameters]
        return "\n".join([*lines, *(f"  {i}: {action}" for i, action in enumerate(self.actions))])


# Drawing


def pick(random, choices, weights=None):
    probabilities = None if weights is None else np.array(weights) / sum(weights)
    return choices[int(random.choice(len(choices), p=probabilities))]


def chance(random, probability):
    return bool(random.random() < probability)


def draw_shape(random):
    kind = pick(random, ("small", "zero", "ones", "long", "large"), (70, 6, 8, 12, 4))
    if kind == "long":
        return pick(random, ((1, 5000), (3000, 1), (2, 4099), (1500, 3), (8200,), (7, 1, 600), (2, 2, 1025)))
    if kind == "large":
        return pick(random, ((40000,), (33, 1024), (1, 66000), (9000, 4)))
    rank = int(random.integers(0, 6))
    shape = [int(random.integers(1, 8 if rank < 4 else 5)) for _ in range(rank)]
    if kind == "zero" and rank:
        shape[int(random.integers(rank))] = 0
    if kind == "ones" and rank > 1:
        shape[1:] = [1] * (rank - 1)
    return tuple(shape)


def draw_parameter(random, key, rule):
    # A torch optimizer keeps 16-bit state for 16-bit parameters, which would not test SING.
    dtype = pick(random, DTYPES, (6, 3, 0, 0) if rule in ATTACHED else (6, 3, 2, 2))
    is_mixed = dtype != "float64" and rule not in ATTACHED and chance(random, 0.1)
    return Parameter(
        key=key,
        shape=draw_shape(random),
        dtype=dtype,
        layout=pick(random, LAYOUTS, (5, 3, 3, 2, 2)),
        gradient_dtype=pick(random, ("float32", "bfloat16", "float16")) if is_mixed else dtype,
    )


def draw_lr(random):
    return float(10 ** random.uniform(-3, -0.3))


def draw_axis(random, parameters):
    ranks = [len(each.shape) for each in parameters if len(each.shape) >= 2]
    return int(random.integers(min(ranks))) if ranks else 0


# These options decide which state exists, so they cannot change.
FIXED = ("lookahead", "master_weights", "momentum", "orthogonalize")


def draw_options(random, rule, parameters):
    """Draws options that may change between steps, each with some probability, for these parameters."""
    drawn = {
        "lr": draw_lr(random),
        "weight_decay": pick(random, (0.0, 0.01, 0.3)),
        "centralize": chance(random, 0.7),
        "centralize_axis": draw_axis(random, parameters),
        "normalize": pick(random, ("unit_norm", "size_calibrated", "off")),
        "norm_epsilon": pick(random, (1e-8, 1e-3, 0.0)),
        "reference_size": pick(random, (589824.0, 12.0)),
        "lookahead_period": int(random.integers(1, 6)),
        "lookahead_alpha": pick(random, (0.5, 0.8, 0.0, 1.0)),
        "decay_vectors": chance(random, 0.5),
        "maximize": chance(random, 0.2),
    }
    if rule in ATTACHED:
        del drawn["decay_vectors"]
    elif rule not in ("Adafactor", "Muon"):
        drawn["decoupled_decay"] = chance(random, 0.6)
    if rule in ("SING", "AdamW", "Lion", "NAdam", "Lamb", "Muon", "attached AdamW"):
        drawn["betas"] = (pick(random, (0.9, 0.0, 0.5)), pick(random, (0.999, 0.9, 0.99)))
    if rule in ("SING", "AdamW", "Adafactor"):
        drawn["softplus_beta"] = pick(random, (None, 50.0, 1.0, 1000.0))
    if rule in ("SING", "AdamW", "NAdam", "Lamb", "Lars", "attached AdamW"):
        drawn["eps"] = pick(random, (1e-8, 1e-4))
    if rule == "NAdam":
        drawn["momentum_decay"] = pick(random, (0.004, 0.1))
    if rule in ("Lamb", "Lars"):
        drawn["always_adapt"] = chance(random, 0.5)
    if rule == "Lamb":
        drawn["bias_correction"] = chance(random, 0.5)
        drawn["norm_limit"] = pick(random, (None, 10.0, 0.5))
        drawn["clip_norm"] = pick(random, (None, 1.0, 0.3))
    if rule == "Lars":
        drawn["trust_coefficient"] = pick(random, (0.001, 0.1))
    if rule == "Adafactor":
        drawn["decay_power"] = pick(random, (0.8, 0.5))
        drawn["scale_parameter"] = chance(random, 0.5)
        drawn["relative_step"] = chance(random, 0.3)
        drawn["clip_threshold"] = pick(random, (1.0, 0.2))
    if rule == "Muon":
        drawn["epsilon"] = pick(random, (1e-8, 1e-4))  # torch's Muon calls another option eps
        drawn["nesterov"] = chance(random, 0.5)
        drawn["rate_adjustment"] = pick(random, ("original", "match_rms_adamw"))
    kept = {name: value for name, value in drawn.items() if chance(random, 0.5)}
    if "norm_epsilon" not in kept and "eps" in kept:
        kept["norm_epsilon"] = drawn["norm_epsilon"]  # otherwise, for SING, eps would set it too
    aside = random.spawn(1)[0]  # leaves the later draws as they are without this option
    if rule not in ATTACHED and rule != "Lamb" and chance(aside, 0.3):
        kept["clip_norm"] = pick(aside, (None, 1.0, 0.3))
    return kept


def draw_fixed_options(random, rule):
    options: dict[str, Any] = {"lookahead": chance(random, 0.6)}
    if rule not in ATTACHED:
        options["master_weights"] = chance(random, 0.4)
    if rule in ("SGD", "Lars", "attached SGD"):
        options["momentum"] = pick(random, (0.9, 0.5, 0.0))
        options["nesterov"] = options["momentum"] > 0 and chance(random, 0.4)
    if rule == "Muon":
        options["orthogonalize"] = chance(random, 0.7)
    return options


class _Keys:
    """Issues keys for parameters and remembers them, so that actions can choose from them."""

    def __init__(self, rule):
        self.rule = rule
        self.used = []

    def draw(self, random):
        self.used.append(len(self.used))
        return draw_parameter(random, self.used[-1], self.rule)


def draw_group(random, rule, keys):
    count = int(random.integers(1, 5))
    parameters = tuple(keys.draw(random) for _ in range(count))
    return Group(parameters, {**draw_options(random, rule, parameters), **draw_fixed_options(random, rule)})


def draw_action(random, rule, keys, groups):
    kind = pick(random, ("options", "shared", "refused", "edit", "memory", "round_trip", "evaluate"), (8, 5, 2, 8, 2, 5, 1))
    group = int(random.integers(6))
    if kind == "options":
        options = draw_options(random, rule, groups[group % len(groups)].parameters)
        if "lr" in options and chance(random, 0.3) and rule not in ATTACHED:  # torch would compute in the tensor's float32
            options["lr"] = ("tensor", options["lr"])
        return SetOptions(group, options)
    if kind == "shared":
        if chance(random, 0.7):
            return SetShared("non_finite", pick(random, POLICIES))
        return SetShared("learning_rate_factor", pick(random, (1.0, 0.25, 2.0)))
    if kind == "refused":
        refused = [{"lr": -1.0}, {"lr": float("nan")}, {"centralize_axis": 9}, {"centralize": "yes"}, {"lookahead_period": 0}]
        return RefusedOptions(group, pick(random, refused))
    if kind == "memory":
        return NewMemory(pick(random, keys.used), pick(random, LAYOUTS)) if keys.used else Evaluate()
    if kind == "round_trip":
        return RoundTrip(pick(random, ROUND_TRIPS))
    if kind == "evaluate":
        return Evaluate()
    return draw_edit(random, rule, keys, group)


def draw_edit(random, rule, keys, group):
    kind = pick(random, ("replace", "list", "swap", "move", "add", "remove"), (4, 3, 2, 2, 2, 1))
    if kind == "replace" and keys.used:
        key = pick(random, keys.used)
        return ReplaceParameter(key, keys.draw(random), chance(random, 0.5), chance(random, 0.3))
    if kind == "list":
        change = pick(random, ("reorder", "exchange", "append", "remove"))
        return ReplaceList(group, int(random.integers(2**31)), keys.draw(random), change)
    if kind == "swap":
        return SwapGroups(group, int(random.integers(6)))
    if kind == "move" and keys.used:
        return MoveParameter(pick(random, keys.used), group, chance(random, 0.4))
    if kind == "remove":
        return RemoveGroup(group)
    return AddGroup(draw_group(random, rule, keys))


def draw_step(random):
    scaler = pick(random, ("", "sing", "torch"), (8, 1, 1))
    return Step(
        seed=int(random.integers(2**31)),
        is_wild=chance(random, 0.4),
        scaler=scaler,
        scale=float(2.0 ** random.integers(0, 16)) if scaler else 1.0,
    )


def make_case(seed):
    random = np.random.default_rng(seed)
    rule = pick(random, RULE_NAMES, RULE_WEIGHTS)
    keys = _Keys(rule)
    groups = tuple(draw_group(random, rule, keys) for _ in range(int(random.integers(1, 4))))
    shared = {"non_finite": pick(random, POLICIES), "learning_rate_factor": pick(random, (1.0, 0.5))}
    actions = []
    for _ in range(int(random.integers(3, 9))):
        while chance(random, 0.45):
            actions.append(draw_action(random, rule, keys, groups))
        actions.append(draw_step(random))
    if chance(random, 0.25):
        first, second = sorted(int(each) for each in random.integers(0, len(actions), 2))
        actions.insert(second, Rewind())
        actions.insert(first, Remember(chance(random, 0.5)))
    threads = pick(random, (1, 2), (19, 1))
    return Case(seed, rule, chance(random, 0.5), threads, shared, groups, tuple(actions))


# Values


GRADIENT_KINDS = ("normal", "missing", "zero", "constant", "row_constant", "offset", "sparse", "spike", "tiny", "huge", "overflow",
                  "inf", "nan")  # fmt: skip
WILD = (10, 4, 1, 1, 2, 2, 1, 1, 2, 1, 2, 1, 1)
CALM = (20, 2, 0.2, 0.2, 0.2, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0)


def draw_values(random, shape):
    return random.standard_normal(shape) * pick(random, (1.0, 1e-2, 10.0))


def draw_gradient(random, parameter, is_wild):
    """Returns the kind, the values (before they are rounded to the gradient's type) and the memory layout."""
    kind = pick(random, GRADIENT_KINDS, WILD if is_wild else CALM)
    layout = pick(random, (parameter.layout, *LAYOUTS, "expanded"), (4, 2, 1, 1, 1, 1, 0.3))
    values = random.standard_normal(parameter.shape) * 10 ** random.uniform(-3, 2)
    largest = {"float16": 1e3, "float64": 1e150}.get(parameter.gradient_dtype, 1e17)
    if kind == "zero":
        values = np.zeros(parameter.shape)
    elif kind == "constant":
        values = np.full(parameter.shape, random.standard_normal())
    elif kind == "row_constant" and values.ndim:
        axis = int(random.integers(values.ndim))
        values = values + 0 * values
        kept = [1] * values.ndim
        kept[axis] = values.shape[axis]
        values = np.broadcast_to(random.standard_normal(kept), parameter.shape)
    elif kind == "offset":
        values = values + values.std() * 10 ** random.uniform(0, 3) if values.size else values
    elif kind == "sparse":
        values = values * (random.random(parameter.shape) < 0.1)
    elif kind == "spike" and values.size:
        flat = values.reshape(-1).copy()
        flat[int(random.integers(flat.size))] *= 1e3
        values = flat.reshape(parameter.shape)
    elif kind == "tiny":
        values = values * 10 ** random.uniform(-180 if parameter.gradient_dtype == "float64" else -38, -15)
    elif kind == "huge" and values.size:
        values = values / np.abs(values).max() * largest / max(1.0, values.size) ** 0.5
    elif kind == "overflow" and values.size:
        values = values / np.abs(values).max() * largest * 1e6 if parameter.gradient_dtype != "float16" else values * np.inf
    elif kind in ("inf", "nan") and values.size:
        flat = values.reshape(-1).copy()
        flat[int(random.integers(flat.size))] = float(kind) * pick(random, (1.0, -1.0))
        values = flat.reshape(parameter.shape)
    if layout == "expanded":
        values = np.broadcast_to(values.reshape(-1)[:1].reshape([1] * values.ndim), parameter.shape) if values.size else values
    return kind, values, layout
