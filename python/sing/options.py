"""The options of the optimizers and of their parts, under the names that torch's users and the paper's authors know."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from sing import _fields
from sing.field import Field, nearest_name, unknown_option

# Python's names where torch's users expect another one than the library's: of options, and of a parameter's state.
TORCH_NAMES = {"learning_rate": "lr", "epsilon": "eps"}
STATE_NAMES = {
    "first_moment": "exp_avg",
    "second_moment": "exp_avg_sq",
    "largest_second_moment": "max_exp_avg_sq",
    "mean_step_size": "exp_avg_lr",
    "belief": "exp_avg_var",
    "momentum": "momentum_buffer",
    "row_second_moment": "exp_avg_sq_row",
    "column_second_moment": "exp_avg_sq_col",
    "gradient_norm": "exp_grad_norm",
    "fast": "z",
    "largest_rate": "lr_max",
    "curvature_moment": "exp_hessian_diag_sq",
}
# Options of the package that are no group option in the library.
EXTRA_FIELDS = [
    Field("maximize", "bool", False, "go up instead of down"),
    Field("capturable", "bool", True, "has no effect: a step on a CUDA device is always capturable"),
    Field("learning_rate_factor", "float", 1.0, "multiplies the learning rate of every group", low=0.0),
]
LOOKAHEAD_FIELD = Field("lookahead", "bool", True, "draw the weights to a slow copy")
SHARED_FIELDS = [*_fields.STANDARDIZE, LOOKAHEAD_FIELD, *_fields.LOOKAHEAD, *_fields.OTHERS, *EXTRA_FIELDS]  # of all classes
# Kept in every group, and not an option: the steps that drive LookAhead.
COUNTER = "lookahead_step"
# Options that have one value for the whole optimizer.
SHARED = ("non_finite", "learning_rate_factor")
# Keys of torch, its schedulers and frameworks that may be in a group and are left alone.
FOREIGN_KEYS = {"params", "param_names", "initial_lr", "name", "differentiable", COUNTER}

# The option names of the paper's authors, with their types.
AUTHORS_TYPES = {
    "softplus": "bool",
    "beta_softplus": "float",
    "grad_central": "bool",
    "grad_norm": "bool",
    "lookahead_active": "bool",
    "la_mergetime": "int",
    "la_alpha": "float",
}
# The authors' names whose meaning is that of one option here.
AUTHORS_KEYS = {
    "grad_central": "centralize",
    "lookahead_active": "lookahead",
    "la_mergetime": "lookahead_period",
    "la_alpha": "lookahead_alpha",
    "la_step": COUNTER,
}


class Schema:
    """The options of one optimizer class under their Python names."""

    def __init__(self, class_name: str) -> None:
        made = _fields.CLASSES[class_name]
        rule = _fields.RULES[made["rule"]]
        self.where = f"sing.{class_name}"
        self.rule: str = made["rule"]
        self.takes_curvature: bool = rule["takes_curvature"]
        self.averages: bool = rule["averages"]  # eval() replaces the weights by an average that the rule keeps
        self.is_published: bool = made["is_published"]  # takes the authors' names; their eps serves the norm too
        fields = [*rule["fields"], *SHARED_FIELDS]
        self.fields: dict[str, Field] = {
            field.name: field._replace(default=made["options"].get(field.name, field.default)) for field in fields
        }
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
        return {**values, COUNTER: 0}

    def signature(self) -> inspect.Signature:
        """What `inspect.signature` shows for the class: `lr` may be given by position, as in torch."""
        parameter, defaults = inspect.Parameter, self.defaults()
        listed = [parameter("params", parameter.POSITIONAL_OR_KEYWORD)]
        for key, _ in self.keyword_fields():
            kind = parameter.POSITIONAL_OR_KEYWORD if key == "lr" else parameter.KEYWORD_ONLY
            listed.append(parameter(key, kind, default=defaults[key]))
        listed.append(parameter("slow_weights_for_evaluation", parameter.KEYWORD_ONLY, default=False))
        return inspect.Signature(listed)

    def canonical(self, given: Mapping[str, Any], where: str, *, strict: bool) -> dict[str, Any]:
        """`given` under the Python names. Unknown names are refused; in a group (not strict) only those near a known one."""
        result: dict[str, Any] = {}
        self._check_twice(given, where)
        known = {**{key: key for key, _ in self.keyword_fields()}, **{name: self.python_name(name) for name in self.fields}}
        for key, value in given.items():
            if self.has_betas and key in ("beta1", "beta2"):
                pair = list(result.get("betas", (self.fields["beta1"].default, self.fields["beta2"].default)))
                pair[key == "beta2"] = value
                result["betas"] = tuple(pair)
            elif key in known:
                result[known[key]] = value
            elif self.is_published and (key in AUTHORS_KEYS or key in AUTHORS_TYPES):
                result.update(self._from_authors(key, value, given))
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
                raise TypeError(f"[{where}] wanted {ours} once, got it as '{ours}' and as '{key}'")

    @staticmethod
    def _from_authors(key: str, value: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        if key in AUTHORS_KEYS:
            return {AUTHORS_KEYS[key]: value}
        if key == "grad_norm":
            return {"normalize": "unit_norm" if value else "off"}
        return {"softplus_beta": float(given.get("beta_softplus", 50.0)) if given.get("softplus", True) else None}

    @staticmethod
    def _check_unknown(key: str, known: list[str], where: str, strict: bool) -> None:
        if key not in FOREIGN_KEYS and (strict or nearest_name(key, known, closeness=0.8)):
            raise unknown_option(key, sorted(known), where)

    def check(self, group: Mapping[str, Any], where: str) -> None:
        """Refuses values of a wrong kind or out of bounds; what they mean together is checked by the library."""
        for name, field in self.fields.items():
            key = self.python_name(name)
            value = group[key]
            if key == "betas":
                if not (isinstance(value, (tuple, list)) and len(value) == 2):
                    raise ValueError(f"[{where}] wanted betas as two numbers, got {value!r}")
                place = int(name == "beta2")
                key, value = f"betas[{place}]", value[place]
            if key == "lr" and isinstance(value, Tensor) and value.numel() == 1 and value.is_floating_point():
                continue
            field.check(value, where, key)

    def overrides(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """The group's options as the library names them; a tensor learning rate is left out."""
        found: dict[str, Any] = {"lookahead": group["lookahead"]}
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
                continue
            if field.kind == "int":
                value = int(value)
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


Options = TypeVar("Options", bound="OptionSet")


class OptionSet:
    """Base of dataclasses whose fields are options of the library: Standardize, Lookahead and the schedules."""

    table: ClassVar[list[Field]]
    prefix: ClassVar[str] = ""  # of the options' names in a parameter group

    def __post_init__(self) -> None:
        for name, field in self.named_fields().items():
            field.check(getattr(self, name), f"sing.{type(self).__name__}", name)

    @classmethod
    def named_fields(cls) -> dict[str, Field]:
        return {field.name.removeprefix(cls.prefix): field for field in cls.table}

    @classmethod
    def from_keywords(cls: type[Options], options: Mapping[str, Any], where: str) -> Options:
        """From keyword arguments of the function `where`; an unknown one is an error that names the nearest."""
        known = cls.named_fields()
        for name in options:
            if name not in known:
                raise unknown_option(name, known, where)
        for name, value in options.items():
            known[name].check(value, where, name)
        return cls(**options)

    def as_group_keys(self) -> dict[str, Any]:
        """The options under their names in a parameter group."""
        return {self.prefix + name: getattr(self, name) for name in self.named_fields()}

    def overridden(self: Options, group: Mapping[str, Any]) -> Options:
        """These options, with what the keys of a parameter group say instead."""
        changed = {name: group[field.name] for name, field in self.named_fields().items() if field.name in group}
        return dataclasses.replace(self, **changed) if changed else self  # type: ignore[type-var]


def scalar(value: float | Tensor) -> float:
    return float(value.item()) if isinstance(value, Tensor) else float(value)


def steps_of(entries: Mapping[str, Any], key: str, where: str) -> int:
    """A count of steps in a parameter's state or in a group; refuses what is no whole number."""
    steps = scalar(entries[key])
    Field(key, "int", 0, "steps taken", low=0).check(steps, where)
    return int(steps)
