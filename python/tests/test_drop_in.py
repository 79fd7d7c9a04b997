"""Tests that a call of torch's optimizer, or of another package's, needs no other change than the class."""

import copy
import inspect

import adabelief_pytorch
import pytest
import pytorch_optimizer
import schedulefree
import timm.optim
import torch
import torch_optimizer
from conftest import same_weights, small_model, train
from peers import default_dtype

import sing
from sing.peer_names import PEERS
from sing.rules import CLASSES

# The class whose order of arguments each class has.
PEERS_OF = {
    "SING": torch.optim.AdamW,
    "PlugSING": torch.optim.AdamW,
    "AdamW": torch.optim.AdamW,
    "SGD": torch.optim.SGD,
    "NAdam": torch.optim.NAdam,
    "RAdam": torch.optim.RAdam,
    "Muon": torch.optim.Muon,
    "AdaBelief": adabelief_pytorch.AdaBelief,
    "Yogi": torch_optimizer.Yogi,
    "AdaBound": torch_optimizer.AdaBound,
    "AdaMod": torch_optimizer.AdaMod,
    "Lamb": torch_optimizer.Lamb,
    "NVLamb": timm.optim.Lamb,
    "Lars": timm.optim.Lars,
    "Lion": timm.optim.Lion,
    "AdaNorm": pytorch_optimizer.AdaNorm,
    "ScheduleFreeAdamW": schedulefree.AdamWScheduleFree,
    "AdaHessian": torch_optimizer.Adahessian,
}


def test_one_changed_line():
    model = small_model()
    named, twin = copy.deepcopy(model), copy.deepcopy(model)
    by_position = sing.SING(model.parameters(), 1e-3, (0.9, 0.99), 1e-8, 0.01, foreach=True, fused=True, amsgrad=False)
    by_name = sing.SING(params=named.parameters(), lr=1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01, differentiable=False)
    plain = sing.SING(twin.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.01, capturable=True, foreach=None)
    for each, optimizer in ((model, by_position), (named, by_name), (twin, plain)):
        train(each, optimizer, 6)
    assert same_weights(model, named)
    assert same_weights(model, twin)


@pytest.mark.parametrize("name", PEERS_OF)
def test_positions_are_the_peers(name):
    ours, theirs = (list(inspect.signature(cls).parameters) for cls in (CLASSES[name], PEERS_OF[name]))
    count = sum(each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for each in inspect.signature(CLASSES[name]).parameters.values())
    assert ours[:count] == theirs[:count]
    assert count >= 4


@pytest.mark.parametrize(
    ("ours", "theirs", "arguments", "options"),
    [
        (sing.AdamW, torch.optim.AdamW, (1e-2, (0.8, 0.9), 1e-6, 0.1, False), {"maximize": True, "foreach": True, "fused": None}),
        (sing.SGD, torch.optim.SGD, (1e-2, 0.9, 0, 0.1, True), {"foreach": False}),
        (sing.NAdam, torch.optim.NAdam, (1e-2, (0.8, 0.9), 1e-6, 0.1, 0.05, True), {}),
        (sing.RAdam, torch.optim.RAdam, (1e-2, (0.8, 0.9), 1e-6, 0.1, True), {"capturable": False}),
        (sing.AdaBelief, adabelief_pytorch.AdaBelief, (1e-2,), {"weight_decay": 0.1, "weight_decouple": False, "print_change_log": False}),
        (sing.Yogi, torch_optimizer.Yogi, (1e-2, (0.8, 0.9), 1e-3, 1e-4, 0.1), {}),
        (sing.AdaBound, torch_optimizer.AdaBound, (1e-2, (0.8, 0.9), 0.05, 0.1, 1e-6, 0.1, False), {}),
        (sing.AdaBound, torch_optimizer.AdaBound, (1e-2,), {"final_lr": 0.05, "gamma": 0.1, "amsbound": False}),
        (sing.AdaMod, torch_optimizer.AdaMod, (1e-2, (0.8, 0.9), 0.7, 1e-6, 0.1), {}),
        (sing.Lamb, torch_optimizer.Lamb, (1e-2, (0.8, 0.9), 1e-6, 0.1, 0.5), {"debias": False}),
        (sing.NVLamb, timm.optim.Lamb, (1e-2, True, (0.8, 0.9), 1e-6, 0.1), {"max_grad_norm": 100.0, "trust_clip": False}),
        (sing.Lars, timm.optim.Lars, (1.0, 0.9, 0, 0.1, True, 0.01), {"always_adapt": True}),
        (sing.Lion, timm.optim.Lion, (1e-2, (0.8, 0.9), 0.1), {}),
        (sing.AdaNorm, pytorch_optimizer.AdaNorm, (1e-2, (0.8, 0.9), 0.8, 0.1, True), {"eps": 0.0, "ams_bound": False}),
        (sing.ScheduleFreeAdamW, schedulefree.AdamWScheduleFree, (1e-2, (0.8, 0.9), 1e-6, 0.1, 3, 0.5, 1.0), {"foreach": False}),
        (sing.Adafactor, torch.optim.Adafactor, (1e-3,), {"beta2_decay": -0.7, "d": 1.0, "eps": (1e-30, 1e-2)}),
    ],
)  # fmt: skip
def test_the_peers_own_call_gives_the_peers_steps(ours, theirs, arguments, options):
    start = [torch.randn(shape, dtype=torch.float64) for shape in ((5, 3), (4,), (2, 3, 2))]
    outcomes = []
    for cls in (ours, theirs):
        weights = [torch.nn.Parameter(each.clone()) for each in start]
        with default_dtype(torch.float64):
            optimizer = cls(weights, *arguments, **options)
            if hasattr(optimizer, "train"):
                optimizer.train()
            for step in range(8):
                for place, weight in enumerate(weights):
                    generator = torch.Generator().manual_seed(10 * step + place)
                    weight.grad = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
                optimizer.step()
        outcomes.append([each.detach() for each in weights])
    for mine, other, old in zip(*outcomes, start, strict=True):
        # Eight steps of at most 64 roundings of 2^-53, in values of about 1.
        assert (mine - other).abs().max() <= 8 * 64 * 2**-53 * max(1.0, other.abs().max().item())
        assert (mine - old).abs().max() > 1e-4


def test_muons_and_adahessians_own_arguments():
    weight = [torch.nn.Parameter(torch.ones(2, 3))]
    group = sing.Muon(weight, 1e-2, 0.2, 0.8, False, (3.0, -4.0, 2.0), 1e-5, 4, "match_rms_adamw").param_groups[0]
    found = [group[key] for key in ("lr", "weight_decay", "momentum", "nesterov", "newton_a", "newton_b", "newton_c", "norm_floor", "newton_steps")]
    assert found == [1e-2, 0.2, 0.8, False, 3.0, -4.0, 2.0, 1e-5, 4]
    assert (group["rate_adjustment"], group["epsilon"]) == ("match_rms_adamw", 1e-8)
    assert sing.Muon(weight, adjust_lr_fn=None).param_groups[0]["rate_adjustment"] == "original"
    assert [sing.AdaHessian(weight, hessian_power=power).param_groups[0]["half_power"] for power in (1, 0.5)] == [False, True]
    with pytest.raises(ValueError, match="wanted hessian_power as 1 or 0.5, got 2"):
        sing.AdaHessian(weight, hessian_power=2)
    with pytest.raises(TypeError, match="wanted ns_coefficients as 3 numbers, got 3.0"):
        sing.Muon(weight, ns_coefficients=3.0)


@pytest.mark.parametrize(
    ("cls", "arguments", "options", "error", "message"),
    [
        (sing.AdamW, (1e-3,), {"amsgrad": True}, ValueError, "wanted amsgrad=False, got True: sing.SAdam has it"),
        (sing.SGD, (1e-3, 0.9, 0.1), {}, ValueError, "wanted dampening=0, got 0.1: the gradient enters the momentum as a whole"),
        (sing.AdaBound, (), {"amsbound": True}, ValueError, "wanted amsbound=False, got True: the rule has no other form"),
        (sing.AdamW, (), {"differentiable": True}, ValueError, "wanted differentiable=False, got True: a step is not recorded"),
        (sing.AdamW, (), {"fused": 1}, TypeError, "wanted fused as True, False or None, got 1"),
        (sing.AdamW, (), {"dampening": 0}, TypeError, "got 'dampening'"),
        (sing.Lion, (), {"eps": 1e-8}, TypeError, "got 'eps'"),
        (sing.AdamW, (1e-3,), {"lr": 1e-3}, TypeError, "wanted lr once, got it by position and by name"),
        (sing.AdamW, (1e-3,), {"learning_rate": 1e-3}, TypeError, "wanted lr once, got it as 'lr' and as 'learning_rate'"),
        (sing.AdaBound, (), {"final_lr": 0.1, "final_learning_rate": 0.1}, TypeError, "wanted final_learning_rate once"),
        (sing.Muon, (), {"newton_a": 1.0, "ns_coefficients": (1.0, 2.0, 3.0)}, TypeError, "wanted newton_a once, got it as 'newton_a' and in"),
        (sing.Lion, (1e-4, (0.9, 0.99), 0.1, 1), {}, TypeError, r"at most 3 arguments by position after params \(lr, betas, weight_decay\), got 4"),
    ],
)  # fmt: skip
def test_refusals(cls, arguments, options, error, message):
    with pytest.raises(error, match=message):
        cls([torch.nn.Parameter(torch.ones(2, 2))], *arguments, **options)


def test_names_of_peers_are_taken_in_groups_too():
    first, second = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = sing.AdaBound([{"params": [first], "final_lr": 0.5, "fused": True}, {"params": [second]}], final_lr=0.25)
    assert [group["final_learning_rate"] for group in optimizer.param_groups] == [0.5, 0.25]
    assert all(key not in group for group in optimizer.param_groups for key in ("final_lr", "fused"))
    with pytest.raises(ValueError, match=r"\[sing.AdaBound group 2\] wanted amsbound=False"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "amsbound": True})
    assert len(optimizer.param_groups) == 2


def test_the_names_of_peers_belong_to_rules_and_options():
    schemas = {cls._schema.optimizer: cls._schema for cls in CLASSES.values()}
    for optimizer, peer in PEERS.items():
        fields = schemas[optimizer].fields
        assert set(peer.names.values()) <= set(fields), optimizer
        known = {*schemas[optimizer].targets, *peer.conversions, *peer.fixed, *peer.ignored}
        assert set(peer.positional) <= known, optimizer
        assert not set(peer.fixed) & set(fields), optimizer


@pytest.mark.parametrize("make", [sing.SING, lambda p, **options: sing.attach(torch.optim.SGD(p, lr=0.1), **options)])
def test_lookahead_takes_the_same_values(make):
    def keys(**options):
        weight = torch.nn.Parameter(torch.ones(2, 2))
        weight.grad = torch.eye(2)
        optimizer = make([weight], **options)
        optimizer.step()
        group = optimizer.param_groups[0]
        return [group[key] for key in ("lookahead", "lookahead_period", "lookahead_alpha")], "slow" in optimizer.state[weight]

    assert keys() == keys(lookahead=True) == keys(lookahead=sing.Lookahead()) == ([True, 5, 0.5], True)
    assert keys(lookahead=False) == ([False, 5, 0.5], False)
    assert keys(lookahead=sing.Lookahead(3, 0.75)) == ([True, 3, 0.75], True)
    for wrong in (None, 5, "yes", sing.Standardize()):
        with pytest.raises(TypeError, match="wanted lookahead as True, False or a sing.Lookahead, got"):
            keys(lookahead=wrong)
    with pytest.raises(TypeError, match="wanted lookahead as True, False or a sing.Lookahead, got 5"):
        make([{"params": [torch.nn.Parameter(torch.ones(2))], "lookahead": 5}])


@pytest.mark.parametrize("make", [sing.SING, lambda p: sing.attach(torch.optim.SGD(p, lr=0.1))])
def test_a_group_may_say_lookahead_as_the_call_does(make):
    weights = [torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2)]
    optimizer = make([{"params": weights[:1], "lookahead": sing.Lookahead(7, 0.25)}, {"params": weights[1:], "lookahead": False}])
    found = [(group["lookahead"], group["lookahead_period"], group["lookahead_alpha"]) for group in optimizer.param_groups]
    assert found == [(True, 7, 0.25), (False, 5, 0.5)]


def test_lookahead_given_twice():
    with pytest.raises(TypeError, match="wanted lookahead_period once, got it as 'lookahead_period' and in 'lookahead'"):
        sing.SING([torch.nn.Parameter(torch.ones(2))], lookahead=sing.Lookahead(3), lookahead_period=4)
