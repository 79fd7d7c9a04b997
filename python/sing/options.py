"""Names, defaults and bounds of the options, in the words of torch and of the SING paper's authors."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Field(NamedTuple):
    """One option: a row of the library's own list."""

    name: str
    kind: str  # bool, int, float, optional_float or choice
    default: Any
    low: float | None
    high: float | None
    open_high: bool
    help: str
    choices: list[str]


def _flag(name: str, default: bool, help: str) -> Field:
    return Field(name, "bool", default, None, None, False, help, [])


# Python's names where torch's users expect another one than the library's.
TORCH_NAMES = {"learning_rate": "lr", "epsilon": "eps"}
CLASS_NAMES = {
    "adamw": "AdamW",
    "sgd": "SGD",
    "adabelief": "AdaBelief",
    "adafactor": "Adafactor",
    "nadam": "NAdam",
    "radam": "RAdam",
    "adabound": "AdaBound",
    "adamod": "AdaMod",
    "eadam": "EAdam",
    "sadam": "SAdam",
    "nvlamb": "NVLamb",
    "adanorm": "AdaNorm",
    "adahessian": "AdaHessian",
    "schedule_free_adamw": "ScheduleFreeAdamW",
}
# Rules that take curvature, which has the loss's scale whether or not gradients are normalized.
TAKES_CURVATURE = {"adahessian"}
# Rules that keep an average of the weights, which eval() puts in their place.
AVERAGING = {"schedule_free_adamw"}
# What the library standardizes gradients with: the parameter becomes its gradient.
NO_OPTIMIZERS = {"gradient"}
# Options of the package that are no group option in the library.
EXTRA_FIELDS = [
    _flag("maximize", False, "go up instead of down"),
    _flag("capturable", True, "taken for compatibility: a step on a CUDA device is always capturable"),
    Field("learning_rate_factor", "float", 1.0, 0.0, None, False, "multiplies the learning rate of every group", []),
]
LOOKAHEAD_FIELD = _flag("lookahead", True, "draw the weights to a slow copy")
# Not options, but kept beside them in every group.
COUNTERS = {"lookahead_step": 0}
# One value for the whole optimizer.
SHARED = ("non_finite", "learning_rate_factor")
# What may stand in a group beside options: torch's, schedulers' and frameworks' own keys are left alone.
KNOWN_KEYS = {"params", "param_names", "initial_lr", "name", "differentiable", *COUNTERS}

AUTHORS_TYPES = {
    "softplus": "bool",
    "beta_softplus": "float",
    "grad_central": "bool",
    "grad_norm": "bool",
    "lookahead_active": "bool",
    "la_mergetime": "int",
    "la_alpha": "float",
}
# Theirs to ours.
AUTHORS_KEYS = {
    "grad_central": "centralize",
    "lookahead_active": "lookahead",
    "la_mergetime": "lookahead_period",
    "la_alpha": "lookahead_alpha",
    "la_step": "lookahead_step",
}
# Rules whose Nesterov step is none without a momentum.
NEEDS_MOMENTUM = ("sgd", "lars")


class Schema:
    """The options of one rule under their Python names."""

    def __init__(self, rule: str, found: Mapping[str, Any], changed: Mapping[str, Any], is_published: bool) -> None:
        self.rule = rule
        self.is_published = is_published  # takes the authors' names; their eps serves the norm too
        rows = [*found["rules"][rule]["fields"], *found["common"]]
        self.fields = {row["name"]: Field(**row) for row in rows}
        for name, value in changed.items():
            self.fields[name] = self.fields[name]._replace(default=value)
        place = list(self.fields).index("lookahead_period")
        listed = list(self.fields.items())
        self.fields = dict([*listed[:place], ("lookahead", LOOKAHEAD_FIELD), *listed[place:]])
        self.fields.update({each.name: each for each in EXTRA_FIELDS})
        self.has_betas = "beta1" in self.fields and "beta2" in self.fields

    def python_name(self, name: str) -> str:
        if self.has_betas and name in ("beta1", "beta2"):
            return "betas"
        return TORCH_NAMES.get(name, name)

    def keyword_fields(self) -> Iterator[tuple[str, Field]]:
        """(Python name, field), each name once; `betas` stands for beta1 and beta2."""
        seen = set()
        for name, field in self.fields.items():
            key = self.python_name(name)
            if key not in seen:
                seen.add(key)
                yield key, field

    def defaults(self) -> dict[str, Any]:
        values = {key: field.default for key, field in self.keyword_fields()}
        if self.has_betas:
            values["betas"] = (self.fields["beta1"].default, self.fields["beta2"].default)
        return {**values, **COUNTERS}

    def canonical(self, given: Mapping[str, Any], where: str, *, strict: bool) -> dict[str, Any]:
        """`given` under the Python names. Unknown names are refused; in a group (not strict) only those near a known one."""
        result: dict[str, Any] = {}
        self._check_twice(given, where)
        known = {**{key: key for key, _ in self.keyword_fields()}, **{name: self.python_name(name) for name in self.fields}}
        for key, value in given.items():
            if key == "betas" and self.has_betas:
                result["betas"] = value
            elif self.has_betas and key in ("beta1", "beta2"):
                pair = list(result.get("betas", (self.fields["beta1"].default, self.fields["beta2"].default)))
                pair[key == "beta2"] = value
                result["betas"] = tuple(pair)
            elif key in known:
                result[known[key]] = value
            elif self.is_published and (key in AUTHORS_KEYS or key in AUTHORS_TYPES):
                self._take_authors(result, key, value, given)
            else:
                self._check_unknown(key, [*known, *(AUTHORS_TYPES if self.is_published else ())], where, strict)
                result[key] = value
        if self.is_published and "eps" in result and "norm_epsilon" not in result:
            result["norm_epsilon"] = result["eps"]
        return result

    def _check_twice(self, given: Mapping[str, Any], where: str) -> None:
        names = {name: self.python_name(name) for name in self.fields}
        if self.is_published:
            names.update(AUTHORS_KEYS)
        for key in given:
            ours = names.get(key, key)
            if ours != key and ours in given:
                raise TypeError(f"[{where}] {ours} is given twice, as '{ours}' and as '{key}'")

    def _take_authors(self, result: dict[str, Any], key: str, value: Any, given: Mapping[str, Any]) -> None:
        if key in AUTHORS_KEYS:
            result[AUTHORS_KEYS[key]] = value
        elif key == "grad_norm":
            result["normalize"] = "unit_norm" if value else "off"
        elif not given.get("softplus", True):
            result["softplus_beta"] = None
        else:
            result["softplus_beta"] = float(given.get("beta_softplus", 50.0))

    @staticmethod
    def _check_unknown(key: str, known: list[str], where: str, strict: bool) -> None:
        if key in KNOWN_KEYS:
            return
        nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.6 if strict else 0.8)
        if strict or nearest:
            hint = f"; did you mean '{nearest[0]}'?" if nearest else f": wanted one of {', '.join(sorted(known))}"
            raise TypeError(f"[{where}] unknown option '{key}'{hint}")

    def check(self, group: Mapping[str, Any], where: str) -> None:
        """Refuses values of a wrong kind or out of bounds."""
        for name, field in self.fields.items():
            key = self.python_name(name)
            value = group[key]
            if key == "betas":
                if not (isinstance(value, (tuple, list)) and len(value) == 2):
                    raise ValueError(f"[{where}] betas: wanted two numbers, got {value!r}")
                value = value[name == "beta2"]
            check_value(field, key, value, where)
        if self.rule in NEEDS_MOMENTUM and group.get("nesterov") and not group.get("momentum"):
            raise ValueError(f"[{where}] nesterov needs a momentum above 0, got {group.get('momentum')!r}")

    def overrides(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """The group's options as the library names them; a tensor learning rate is left out."""
        found: dict[str, Any] = {"lookahead": bool(group["lookahead"])}
        extra = {each.name for each in EXTRA_FIELDS}
        for name, field in self.fields.items():
            if name in extra or name in ("non_finite", "lookahead"):
                continue
            if not group["lookahead"] and name.startswith("lookahead_"):
                continue
            value = group[self.python_name(name)]
            if name in ("beta1", "beta2") and self.has_betas:
                value = value[name == "beta2"]
            if isinstance(value, Tensor):
                if name == "learning_rate":
                    continue
                value = value.item()
            if field.kind == "int":
                value = int(value)
            elif field.kind == "bool":
                value = bool(value)
            elif field.kind in ("float", "optional_float") and value is not None:
                value = float(value)
            found[name] = value
        return found

    def from_library(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Group keys from the library's names."""
        found: dict[str, Any] = {self.python_name(name): value for name, value in options.items() if name in self.fields}
        if self.has_betas:
            found["betas"] = (options["beta1"], options["beta2"])
        return found


def check_value(field: Field, key: str, value: Any, where: str) -> None:
    if isinstance(value, Tensor):
        if key != "lr" or value.numel() != 1 or not value.is_floating_point():
            raise TypeError(f"[{where}] {key}: wanted {_wanted(field)}, got a tensor {tuple(value.shape)} of {value.dtype}")
        return
    if field.kind == "optional_float" and value is None:
        return
    if field.kind == "choice":
        if value not in field.choices:
            raise ValueError(f"[{where}] {key}: wanted {_wanted(field)}, got {value!r}")
        return
    if field.kind == "bool":
        if not isinstance(value, (bool, int)) or value not in (0, 1):
            raise TypeError(f"[{where}] {key}: wanted True or False, got {value!r}")
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        if not (hasattr(value, "__float__") and not isinstance(value, (str, bytes))):
            raise TypeError(f"[{where}] {key}: wanted {_wanted(field)}, got {value!r}")
    number = float(value)
    is_low = field.low is not None and number < field.low
    is_high = field.high is not None and (number >= field.high if field.open_high else number > field.high)
    if is_low or is_high or not math.isfinite(number) or (field.kind == "int" and number != int(number)):
        raise ValueError(f"[{where}] {key}: wanted {_wanted(field)}, got {value!r}")


def _wanted(field: Field) -> str:
    if field.kind == "choice":
        return "one of " + ", ".join(repr(each) for each in field.choices)
    text = "a whole number" if field.kind == "int" else "a number"
    if field.high is not None:
        text += f" in [{field.low:g}, {field.high:g}{')' if field.open_high else ']'}"
    elif field.low is not None:
        text += f" of at least {field.low:g}"
    return text + (" or None" if field.kind == "optional_float" else "")


def all_schemas(found: Mapping[str, Any]) -> dict[str, Schema]:
    """SING as published, then a class for each rule that optimizes, then one for each second name of a rule."""
    paper = found["paper"]
    schemas = {"SING": Schema(paper["rule"], found, paper["options"], is_published=True)}
    for rule in found["rules"]:
        if rule not in NO_OPTIMIZERS:
            schemas[CLASS_NAMES.get(rule, rule.capitalize())] = Schema(rule, found, {}, is_published=False)
    for name, form in found["forms"].items():
        schemas[CLASS_NAMES[name]] = Schema(form["rule"], found, form["options"], is_published=False)
    return schemas


def scalar(value: float | Tensor) -> float:
    return float(value.item()) if isinstance(value, torch.Tensor) else float(value)
