"""The plain-PyTorch engine and the kernels are written apart; in float64 they agree to rounding, for every rule."""

import copy

import pytest
import torch
from conftest import small_model, train, without_kernels

import sing
from sing.rules import CLASSES

CASES = {
    **{name: (cls, {}) for name, cls in CLASSES.items()},
    "no centralization": (sing.SING, {"centralize": False}),
    "axis 1": (sing.SING, {"centralize_axis": 1}),
    "size calibrated": (sing.SING, {"normalize": "size_calibrated", "reference_size": 100.0}),
    "not normalized": (sing.SING, {"normalize": "off", "lr": 1e-3}),
    "decay": (sing.SING, {"weight_decay": 0.3, "decay_vectors": True}),
    "lookahead": (sing.SING, {"lookahead_period": 2, "lookahead_alpha": 0.8}),
    "no lookahead": (sing.SING, {"lookahead": False}),
    "nesterov": (sing.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "belief, softplus": (sing.AdaBelief, {"softplus_beta": 20.0, "weight_decay": 0.1}),
    "belief, not rectified": (sing.AdaBelief, {"rectify": False}),
    "factor, softplus": (sing.Adafactor, {"softplus_beta": 20.0, "relative_step": True, "scale_parameter": False}),
    "no decoupling": (sing.SING, {"weight_decay": 0.3, "decoupled_decay": False}),
    "momentum, no decoupling": (sing.SGD, {"momentum": 0.9, "weight_decay": 0.1, "decoupled_decay": False}),
    "belief, no decoupling": (sing.AdaBelief, {"weight_decay": 0.1, "decoupled_decay": False}),
    "fast momentum": (sing.NAdam, {"momentum_decay": 3.0, "betas": (0.99, 0.9), "weight_decay": 0.1}),
    "authors' form": (sing.RAdam, {"early_momentum": False, "decoupled_decay": True, "weight_decay": 0.1}),
    "authors' form, L2": (sing.RAdam, {"early_momentum": False, "weight_decay": 0.1}),
    "bounds": (sing.AdaBound, {"gamma": 0.5, "final_learning_rate": 0.01, "weight_decay": 0.1}),
    "mean of sizes": (sing.AdaMod, {"beta3": 0.5, "weight_decay": 0.1, "decoupled_decay": False}),
    "one moment": (sing.SAdam, {"amsgrad": False, "weight_decay": 0.1}),
    "no softplus": (sing.SAdam, {"softplus_beta": None, "lr": 1e-3}),
    "maximize": (sing.SING, {"maximize": True}),
    "lamb, clipped": (sing.Lamb, {"clip_norm": 0.5, "bias_correction": True, "always_adapt": False, "weight_decay": 0.1}),
    "lamb, decoupled": (sing.Lamb, {"norm_limit": None, "decoupled_decay": True, "weight_decay": 0.1}),
    "lars, nesterov": (sing.Lars, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "lr": 0.1}),
    "norm": (sing.AdaNorm, {"normalize": "off", "weight_decay": 0.1, "norm_decay": 0.5}),
    "schedule-free": (sing.ScheduleFreeAdamW, {"own_warmup_steps": 5, "weight_decay": 0.1, "lookahead": False}),
    "schedule-free, decay inside": (sing.ScheduleFreeAdamW, {"decoupled_decay": False, "weight_decay": 0.1}),
    "muon": (sing.Muon, {"rate_adjustment": "match_rms_adamw", "nesterov": False}),
    "muon, not orthogonal": (sing.Muon, {"orthogonalize": False}),
    "hessian, half power": (sing.AdaHessian, {"half_power": True, "decoupled_decay": False, "weight_decay": 0.1}),
    "factor": (sing.SING, {"learning_rate_factor": 0.25}),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_kernels(name):
    cls, options = CASES[name]
    model = small_model(torch.float64)
    start = copy.deepcopy(model)
    twin = copy.deepcopy(model)
    first, second = cls(model.parameters(), **options), without_kernels(cls)(twin.parameters(), **options)
    train(model, first, 11)
    train(twin, second, 11)
    assert [type(each).__name__ for each in first._engines.engines] == ["NativeEngine"]
    assert [type(each).__name__ for each in second._engines.engines] == ["FallbackEngine"]
    for mine, other, old in zip(model.parameters(), twin.parameters(), start.parameters()):
        moved = (mine - old).abs().max().item()
        assert moved > 1e-6, "the comparison needs movement"
        assert (mine - other).abs().max().item() <= 1e-9 * moved
        ours, theirs = first.state[mine], second.state[other]
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert torch.allclose(ours[key], theirs[key], rtol=1e-9, atol=1e-12), key


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("master", [False, True])
def test_low_precision_agrees(dtype, master):
    model = small_model(dtype)
    twin = copy.deepcopy(model)
    first = sing.SING(model.parameters(), master_weights=master, lr=0.05)
    second = without_kernels(sing.SING)(twin.parameters(), master_weights=master, lr=0.05)
    for step in range(6):
        for mine, other in zip(model.parameters(), twin.parameters()):
            mine.grad = torch.randn(mine.shape, generator=torch.Generator().manual_seed(step)).to(dtype)
            other.grad = mine.grad.clone()
        first.step()
        second.step()
    for mine, other in zip(model.parameters(), twin.parameters()):
        assert first.state[mine]["exp_avg"].dtype == torch.float32
        # One rounding of the weights to 16 bits a step, each of which may fall to the other side.
        spacing = torch.finfo(dtype).eps * mine.abs().max().item()
        assert (mine.float() - other.float()).abs().max().item() <= 6 * spacing
        assert torch.allclose(first.state[mine]["exp_avg"], second.state[other]["exp_avg"], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("policy", ["skip_tensor", "skip_step", "throw", "pass_through"])
def test_policies_agree(policy, engine):
    first, second = torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(4))
    optimizer = engine(sing.SING)([("first", first), ("second", second)], non_finite=policy)
    first.grad, second.grad = torch.full((3, 2), float("nan")), torch.arange(4.0)
    if policy == "throw":
        with pytest.raises(RuntimeError, match="first"):
            optimizer.step()
    else:
        optimizer.step()
    moved = {"skip_tensor": [False, True], "skip_step": [False, False], "throw": [False, False], "pass_through": [True, True]}
    assert [not torch.equal(each, torch.ones_like(each)) for each in (first, second)] == moved[policy]
    counts = {"skip_tensor": (0, 1), "skip_step": (1, 0), "throw": (1, 0), "pass_through": (0, 0)}
    assert tuple(optimizer.status().values()) == counts[policy]


def test_one_warning_a_process(recwarn):
    import sing.fallback as fallback

    fallback._warned = False
    gaps = [torch.nn.Parameter(torch.ones(4, 6)[:, :3]) for _ in range(2)]
    for gap in gaps:
        optimizer = sing.SING([gap])
        gap.grad = torch.randn(4, 3)
        optimizer.step()
        assert not torch.equal(gap, torch.ones(4, 3))
    assert len([each for each in recwarn.list if "plain PyTorch" in str(each.message)]) == 1
