"""The names and the order that torch and other packages have for the options of a rule, and the arguments that only they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Conversion = Callable[[Any, str], "dict[str, Any]"]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class PeerNames(NamedTuple):
    """The arguments of the usual implementation of a rule, torch's where torch has one, as far as they differ from ours.

    Attributes:
        positional: The arguments after `params` in their order.
        names: A peer's name of an option, and the library's.
        conversions: A peer's name of an option, and the function of (value, where) that gives the library's options for it.
        fixed: Arguments that a peer has and the library does not: the name, and the only value that is accepted.
        ignored: Arguments that change no result.
        counts_steps: Whether the peer's state has the number of steps. Where it has none, the rule does not depend on it.
    """

    positional: tuple[str, ...] = ("lr",)
    names: Mapping[str, str] = NOTHING
    conversions: Mapping[str, Conversion] = NOTHING
    fixed: Mapping[str, Any] = NOTHING
    ignored: tuple[str, ...] = ()
    counts_steps: bool = True


# Arguments that torch's optimizers have for how a step is computed. A step of the library is one call for all tensors, and on a
# CUDA device it is always capturable.
IGNORED = ("foreach", "fused", "capturable")
# Arguments of all optimizers that are refused unless they have this value, and why.
FIXED = {"differentiable": False}
REASONS = {
    "differentiable": "a step is not recorded by autograd",
    "amsgrad": "sing.SAdam has it: softplus_beta=None makes it AMSGrad",
    "dampening": "the gradient enters the momentum as a whole",
}


def _numbers(name: str, count: int, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)) or len(value) != count:
        raise TypeError(f"[{where}] wanted {name} as {count} numbers, got {value!r}")
    return tuple(value)


def _adafactor_eps(value: Any, where: str) -> dict[str, Any]:
    square, scale = _numbers("eps", 2, value, where)
    return {"scale_epsilon": scale, **({} if square is None else {"square_epsilon": square})}


def _decay_power(value: Any, where: str) -> dict[str, Any]:
    return {"decay_power": -value}


def _newton_coefficients(value: Any, where: str) -> dict[str, Any]:
    a, b, c = _numbers("ns_coefficients", 3, value, where)
    return {"newton_a": a, "newton_b": b, "newton_c": c}


def _rate_adjustment(value: Any, where: str) -> dict[str, Any]:
    return {"rate_adjustment": "original" if value is None else value}


def _hessian_power(value: Any, where: str) -> dict[str, Any]:
    if value not in (1, 0.5):
        raise ValueError(f"[{where}] wanted hessian_power as 1 or 0.5, got {value!r}")
    return {"half_power": value == 0.5}


ADAM = ("lr", "betas", "eps", "weight_decay")
TORCH_DECAY = {"decoupled_weight_decay": "decoupled_decay"}  # torch.optim
OTHER_DECAY = {"weight_decouple": "decoupled_decay"}  # adabelief-pytorch and pytorch_optimizer
NO_AMSGRAD = {"amsgrad": False}

# By the optimizer's name in the program. Where two packages disagree about the order, only the learning rate has a position.
PEERS = {
    "adamw": PeerNames((*ADAM, "amsgrad"), names=TORCH_DECAY, fixed=NO_AMSGRAD),
    "sgd": PeerNames(("lr", "momentum", "dampening", "weight_decay", "nesterov"), fixed={"dampening": 0}, counts_steps=False),
    "adabelief": PeerNames(
        (*ADAM, "amsgrad", "weight_decouple", "fixed_decay", "rectify", "degenerated_to_sgd", "print_change_log"),
        names=OTHER_DECAY,
        fixed={**NO_AMSGRAD, "fixed_decay": False, "degenerated_to_sgd": True},
        ignored=("print_change_log",),
    ),
    "adafactor": PeerNames(
        names={"d": "clip_threshold"},
        conversions={"eps": _adafactor_eps, "beta2_decay": _decay_power, "decay_rate": _decay_power},
        fixed={"beta1": None, "warmup_init": False},
    ),
    "nadam": PeerNames((*ADAM, "momentum_decay", "decoupled_weight_decay"), names=TORCH_DECAY),
    "yogi": PeerNames(
        ("lr", "betas", "eps", "initial_accumulator", "weight_decay"),
        names={**OTHER_DECAY, "initial_accumulator": "initial_moment"},
    ),
    "radam": PeerNames((*ADAM, "decoupled_weight_decay"), names={**TORCH_DECAY, **OTHER_DECAY}),
    "adabound": PeerNames(
        ("lr", "betas", "final_lr", "gamma", "eps", "weight_decay", "amsbound"),
        names={**OTHER_DECAY, "final_lr": "final_learning_rate"},
        fixed={"amsbound": False},
    ),
    "adamod": PeerNames(("lr", "betas", "beta3", "eps", "weight_decay"), names=OTHER_DECAY),
    "eadam": PeerNames((*ADAM, "amsgrad"), fixed=NO_AMSGRAD),
    "sadam": PeerNames((*ADAM, "amsgrad")),
    "lion": PeerNames(("lr", "betas", "weight_decay"), names=OTHER_DECAY, counts_steps=False),
    "lamb": PeerNames(
        (*ADAM, "clamp_value", "adam", "debias"),
        names={"clamp_value": "norm_limit"},
        fixed={"adam": False, "debias": False},
    ),
    "nvlamb": PeerNames(
        ("lr", "bias_correction", *ADAM[1:], "grad_averaging", "max_grad_norm", "trust_clip", "always_adapt"),
        names={"max_grad_norm": "clip_norm"},
        fixed={"grad_averaging": True, "trust_clip": False, "caution": False, "corrected_weight_decay": False},
    ),
    "lars": PeerNames(
        ("lr", "momentum", "dampening", "weight_decay", "nesterov", "trust_coeff", "eps", "trust_clip", "always_adapt"),
        names={"trust_coeff": "trust_coefficient"},
        fixed={"dampening": 0, "trust_clip": False},
        counts_steps=False,
    ),
    "adanorm": PeerNames(
        ("lr", "betas", "r", "weight_decay", "weight_decouple", "fixed_decay", "ams_bound", "eps"),
        names={**OTHER_DECAY, "r": "norm_decay"},
        fixed={"fixed_decay": False, "ams_bound": False},
    ),
    "schedule_free_adamw": PeerNames(
        (*ADAM, "warmup_steps", "r", "weight_lr_power"),
        names={"warmup_steps": "own_warmup_steps", "r": "step_power", "weight_lr_power": "rate_power"},
    ),
    "muon": PeerNames(
        ("lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn"),
        names={"eps": "norm_floor", "ns_steps": "newton_steps"},
        conversions={"ns_coefficients": _newton_coefficients, "adjust_lr_fn": _rate_adjustment},
    ),
    "adahessian": PeerNames((*ADAM, "hessian_power"), conversions={"hessian_power": _hessian_power}),
}
