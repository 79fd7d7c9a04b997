"""The options of the optimizers and of their parts, under the names that torch's users and the paper's authors know."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from sing import _fields
from sing.field import Field, nearest_name, unknown_option
from sing.peer_names import FIXED, IGNORED, PEERS, REASONS, PeerNames

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
# Options of the package that are not group options in the library.
EXTRA_FIELDS = [
    Field("maximize", "bool", False, "maximize the objective instead of minimizing it"),
    Field("learning_rate_factor", "float", 1.0, "multiplies the learning rate of every group", low=0.0),
]
LOOKAHEAD_FIELD = Field("lookahead", "bool", True, "pull the weights towards a slow copy")
SHARED_FIELDS = [*_fields.STANDARDIZE, LOOKAHEAD_FIELD, *_fields.LOOKAHEAD, *_fields.OTHERS, *EXTRA_FIELDS]  # all classes have these
# A key of every group that is not an option: the number of steps that LookAhead has counted.
COUNTER = "lookahead_step"
# Options that have one value for the whole optimizer.
SHARED = ("non_finite", "learning_rate_factor")
# Keys of torch, its schedulers and frameworks that may be in a group and are left alone.
FOREIGN_KEYS = {"params", "param_names", "initial_lr", "name", COUNTER}
# Prefixes of a rule's name in the names of optimizers around it, as in the program.
SING, PLUG_SING = "sing-", "plugsing-"
# The rules that sing.SING and sing.PlugSING can wrap.
HOSTS = tuple(name for name in _fields.OPTIMIZERS if SING + name in _fields.OPTIMIZERS)
# Names that set an option together.
PAIRS = ({"beta1", "beta2"}, {"softplus", "beta_softplus"})

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
    """The options of one optimizer under their Python names.

    Args:
        class_name: The class that has them.
        optimizer: The optimizer's name in the program: a rule, with or without one of the prefixes.
    """

    def __init__(self, class_name: str, optimizer: str) -> None:
        self.class_name = class_name
        self.optimizer = optimizer
        self.where = f"sing.{class_name}"
        self.prefix = next((each for each in (SING, PLUG_SING) if optimizer.startswith(each)), "")
        self.host = optimizer.removeprefix(self.prefix)
        made = _fields.OPTIMIZERS[optimizer]
        rule = _fields.RULES[made["rule"]]
        self.rule: str = made["rule"]
        self.takes_curvature: bool = rule["takes_curvature"]
        self.is_orthogonal: bool = rule["is_orthogonal"]  # works on whole matrices, whose parts processes exchange
        self.averages: bool = rule["averages"]  # eval() replaces the weights by an average that the rule keeps
        self.takes_authors_names = self.prefix == SING
        self.eps_serves_the_norm = optimizer == SING + "adamw"  # as in the authors' class
        self.fields: dict[str, Field] = {
            field.name: field._replace(default=made["options"].get(field.name, field.default))
            for field in [*rule["fields"], *SHARED_FIELDS]
        }
        self.has_betas = "beta1" in self.fields and "beta2" in self.fields
        self.peer = PEERS.get(self.host, PeerNames())
        self.fixed = {**FIXED, **self.peer.fixed}
        self.ignored = (*IGNORED, *self.peer.ignored)
        # sing.SING takes the place of torch.optim.AdamW, whatever its host.
        self.positional = PEERS["adamw"].positional if self.prefix else self.peer.positional
        self.targets = self._targets()

    def around(self, host: Any) -> Schema:
        """The options of this class around another host."""
        if not isinstance(host, str):
            raise TypeError(f"[{self.where}] wanted host as the name of a rule, got {host!r}")
        if host not in HOSTS:
            nearest = nearest_name(host, HOSTS)
            hint = f"; did you mean '{nearest}'?" if nearest else ""
            raise ValueError(f"[{self.where}] wanted host as one of {', '.join(map(repr, HOSTS))}, got '{host}'{hint}")
        return schema_of(self.class_name, self.prefix + host)

    def python_name(self, name: str) -> str:
        if self.has_betas and name in ("beta1", "beta2"):
            return "betas"
        ours = TORCH_NAMES.get(name, name)
        return name if ours in self.peer.names else ours

    def _targets(self) -> dict[str, str]:
        """Maps every accepted name of an option to its Python name."""
        names = {name: self.python_name(name) for name in self.fields}
        found = {**{key: key for key in names.values()}, **names}
        found.update({theirs: names[ours] for theirs, ours in self.peer.names.items() if ours in names})
        if self.takes_authors_names:
            found.update({theirs: ours for theirs, ours in AUTHORS_KEYS.items() if ours != COUNTER})
            found["grad_norm"] = "normalize"
            if "softplus_beta" in self.fields:
                found["softplus"] = found["beta_softplus"] = "softplus_beta"
        return found

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
        """The signature that `inspect.signature` shows: the arguments of the peer's class in their order, then the others."""
        kinds, defaults = inspect.Parameter, self.defaults()
        listed = {"params": kinds("params", kinds.POSITIONAL_OR_KEYWORD)}

        def add(name: str, default: Any, kind: Any = kinds.KEYWORD_ONLY) -> None:
            listed.setdefault(name, kinds(name, kind, default=default))

        for name in self.positional:
            add(name, self.fixed.get(name, defaults.get(self.targets.get(name, ""))), kinds.POSITIONAL_OR_KEYWORD)
        for key, _ in self.keyword_fields():
            add(key, defaults[key])
        if self.prefix:
            add("host", self.host)
        for name in IGNORED:
            add(name, None)
        for name, value in FIXED.items():
            add(name, value)
        add("slow_weights_for_evaluation", False)
        return inspect.Signature(list(listed.values()))

    def by_name(self, positional: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments after `params` as keywords."""
        if len(positional) > len(self.positional):
            wanted = f"at most {len(self.positional)} arguments by position after params ({', '.join(self.positional)})"
            raise TypeError(f"[{self.where}] wanted {wanted}, got {len(positional)}")
        placed = dict(zip(self.positional, positional))
        for name in placed:
            if name in options:
                raise TypeError(f"[{self.where}] wanted {name} once, got it by position and by name")
        return {**placed, **options}

    def canonical(self, given: Mapping[str, Any], where: str, *, strict: bool) -> dict[str, Any]:
        """`given` under the Python names. Unknown names are refused; in a group (not strict) only those near a known one."""
        result: dict[str, Any] = {}
        self._check_twice(given, where)
        for key, value in given.items():
            result.update(self._translated(key, value, given, result, where, strict))
        if self.eps_serves_the_norm and "eps" in result and "norm_epsilon" not in result:
            result["norm_epsilon"] = result["eps"]
        return result

    def _translated(
        self, key: str, value: Any, given: Mapping[str, Any], result: Mapping[str, Any], where: str, strict: bool
    ) -> dict[str, Any]:
        if self.has_betas and key in ("beta1", "beta2"):
            pair = list(result.get("betas", (self.fields["beta1"].default, self.fields["beta2"].default)))
            pair[key == "beta2"] = value
            return {"betas": tuple(pair)}
        if key == "lookahead":
            return _once(lookahead_keys(value, where), key, given, where)
        if self.takes_authors_names and key in ("grad_norm", "softplus", "beta_softplus") and key in self.targets:
            return self._from_authors(key, value, given)
        if key in self.targets:
            return {self.targets[key]: value}
        if key in self.peer.conversions:
            return {} if value is None else _once(self._converted(key, value, where), key, given, where)
        if key in self.ignored:
            if not (value is None or isinstance(value, bool)):
                raise TypeError(f"[{where}] wanted {key} as True, False or None, got {value!r}")
            return {}
        if key in self.fixed:
            self._check_fixed(key, value, where)
            return {}
        if key not in FOREIGN_KEYS:
            known = [*self.targets, *self.peer.conversions]
            if strict or nearest_name(key, known, closeness=0.8):
                raise unknown_option(key, sorted(known), where)
        return {key: value}

    def accepts(self, key: str) -> bool:
        """Returns whether `key` is an option here, under our name or a peer's."""
        return key in self.targets or key in self.peer.conversions or key in self.ignored or key in self.fixed

    def peers_options(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of a group under the names that the peer's optimizer has, with the peer's own."""
        named = {theirs: group[self.targets[theirs]] for theirs in self.peer.names if theirs in self.targets}
        return {**self.peer.fixed, **named}

    def _converted(self, key: str, value: Any, where: str) -> dict[str, Any]:
        return {self.python_name(name): each for name, each in self.peer.conversions[key](value, where).items()}

    def _check_fixed(self, key: str, value: Any, where: str) -> None:
        if value != self.fixed[key]:
            reason = f": {REASONS[key]}" if key in REASONS else ": the rule has no other form"
            raise ValueError(f"[{where}] wanted {key}={self.fixed[key]!r}, got {value!r}{reason}")

    def _check_twice(self, given: Mapping[str, Any], where: str) -> None:
        names: dict[str, str] = {}
        for key in given:
            ours = self.targets.get(key, key)
            if ours in names and {key, names[ours]} not in PAIRS:
                raise TypeError(f"[{where}] wanted {ours} once, got it as '{names[ours]}' and as '{key}'")
            names[ours] = key

    @staticmethod
    def _from_authors(key: str, value: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        if key == "grad_norm":
            return {"normalize": "unit_norm" if value else "off"}
        return {"softplus_beta": float(given.get("beta_softplus", 50.0)) if given.get("softplus", True) else None}

    def check(self, group: Mapping[str, Any], where: str) -> None:
        """Refuses values of a wrong kind or out of bounds; the library checks their combinations."""
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


@functools.cache
def schema_of(class_name: str, optimizer: str) -> Schema:
    return Schema(class_name, optimizer)


Options = TypeVar("Options", bound="OptionSet")


class OptionSet:
    """Base of dataclasses whose fields are options of the library: Standardize, Lookahead and the schedules."""

    table: ClassVar[list[Field]]
    prefix: ClassVar[str] = ""  # what the options' names in a parameter group begin with

    def __post_init__(self) -> None:
        for name, field in self.named_fields().items():
            field.check(getattr(self, name), f"sing.{type(self).__name__}", name)

    @classmethod
    def named_fields(cls) -> dict[str, Field]:
        return {field.name.removeprefix(cls.prefix): field for field in cls.table}

    @classmethod
    def from_keywords(cls: type[Options], options: Mapping[str, Any], where: str, others: Sequence[str] = ()) -> Options:
        """From keyword arguments of the function `where`; an unknown one is an error that names the nearest.

        `others` are arguments that the function takes in addition, which the error may name too.
        """
        known = cls.named_fields()
        for name in options:
            if name not in known:
                raise unknown_option(name, [*known, *others], where)
        for name, value in options.items():
            known[name].check(value, where, name)
        return cls(**options)

    def as_group_keys(self) -> dict[str, Any]:
        """The options under their names in a parameter group."""
        return {self.prefix + name: getattr(self, name) for name in self.named_fields()}

    def overridden(self: Options, group: Mapping[str, Any]) -> Options:
        """These options, overridden by the keys of a parameter group."""
        changed = {name: group[field.name] for name, field in self.named_fields().items() if field.name in group}
        return dataclasses.replace(self, **changed) if changed else self  # type: ignore[type-var]


def lookahead_keys(value: Any, where: str) -> dict[str, Any]:
    """The keys of a parameter group for True, False or a sing.Lookahead."""
    if isinstance(value, bool):
        return {"lookahead": value}
    if isinstance(value, OptionSet) and value.prefix == "lookahead_":
        return {"lookahead": True, **value.as_group_keys()}
    raise TypeError(f"[{where}] wanted lookahead as True, False or a sing.Lookahead, got {value!r}")


def _once(found: dict[str, Any], key: str, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The options that the argument `key` stands for; refused where another argument gives one of them too."""
    for name in found:
        if name != key and name in given:
            raise TypeError(f"[{where}] wanted {name} once, got it as '{name}' and in '{key}'")
    return found


def scalar(value: float | Tensor) -> float:
    return float(value.item()) if isinstance(value, Tensor) else float(value)


def steps_of(entries: Mapping[str, Any], key: str, where: str) -> int:
    """A count of steps in a parameter's state or in a group; refuses any other value than a whole number."""
    steps = scalar(entries[key])
    Field(key, "int", 0, "steps taken", low=0).check(steps, where)
    return int(steps)
