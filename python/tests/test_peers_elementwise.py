"""Compares the element-wise rules with implementations from other packages: 60 steps, decay, warm-up, odd shapes."""

import warnings

import adabelief_pytorch
import pytest
import pytorch_optimizer
import timm.optim
import torch
import torch_optimizer
from peers import expect_same, trajectory
from transformers.optimization import Adafactor as TransformersAdafactor

import sing

SHARED = {"lr": 1e-2, "weight_decay": 0.1}


def made(cls, **options):
    return lambda parameters: cls(parameters, **{**SHARED, **options})


def quietly(cls):
    """Suppresses the advertisement that the package prints."""
    return lambda *arguments, **options: cls(*arguments, print_change_log=False, **options)


L2 = {"decoupled_decay": False}
DECOUPLED = {"decoupled_decay": True}
BELIEF = quietly(adabelief_pytorch.AdaBelief)
PAIRS = {
    "sgd, torch": (made(sing.SGD, momentum=0.9), made(torch.optim.SGD, momentum=0.9)),
    "adamw, torch": (made(sing.AdamW), made(torch.optim.AdamW)),
    "adam, torch": (made(sing.AdamW, **L2), made(torch.optim.Adam)),
    "adabelief, adabelief-pytorch": (made(sing.AdaBelief), made(BELIEF, eps=1e-16)),
    "adabelief, adabelief-pytorch, L2, not rectified": (
        made(sing.AdaBelief, rectify=False, eps=1e-8, **L2),
        made(BELIEF, eps=1e-8, rectify=False, weight_decouple=False),
    ),
    "adabelief, timm": (made(sing.AdaBelief), made(timm.optim.AdaBelief)),
    "adabelief, pytorch_optimizer": (made(sing.AdaBelief), made(pytorch_optimizer.AdaBelief, rectify=True)),
    "adafactor, transformers": (
        made(sing.Adafactor),
        made(TransformersAdafactor, relative_step=False, scale_parameter=True),
    ),
    "adafactor, torch": (  # its decay uses the learning rate, not the scaled step
        made(sing.Adafactor, weight_decay=0),
        made(torch.optim.Adafactor, weight_decay=0, eps=(1e-30, 1e-3)),
    ),
    "nadam, torch": (made(sing.NAdam), made(torch.optim.NAdam)),
    "nadam, torch, decoupled": (
        made(sing.NAdam, momentum_decay=0.5, **DECOUPLED),
        made(torch.optim.NAdam, momentum_decay=0.5, decoupled_weight_decay=True),
    ),
    "nadam, timm": (made(sing.NAdam), made(timm.optim.NAdamLegacy)),
    "nadam, slow": (
        made(sing.NAdam, betas=(0.99, 0.999), momentum_decay=40.0),
        made(torch.optim.NAdam, betas=(0.99, 0.999), momentum_decay=40.0),
    ),
    "yogi, torch_optimizer": (made(sing.Yogi), made(torch_optimizer.Yogi)),
    "yogi, pytorch_optimizer": (made(sing.Yogi, **DECOUPLED), made(pytorch_optimizer.Yogi)),
    "radam, torch": (made(sing.RAdam), made(torch.optim.RAdam)),
    "radam, torch, decoupled": (
        made(sing.RAdam, **DECOUPLED),
        made(torch.optim.RAdam, decoupled_weight_decay=True),
    ),
    "radam, pytorch_optimizer": (made(sing.RAdam, early_momentum=False, **DECOUPLED), made(pytorch_optimizer.RAdam)),
    "radam, torch_optimizer": (made(sing.RAdam, **DECOUPLED), made(torch_optimizer.RAdam)),
    "adabound, torch_optimizer": (made(sing.AdaBound), made(torch_optimizer.AdaBound)),
    "adabound, torch_optimizer, soon closed": (
        made(sing.AdaBound, gamma=0.3, final_learning_rate=0.02),
        made(torch_optimizer.AdaBound, gamma=0.3, final_lr=0.02),
    ),
    "adamod, torch_optimizer": (made(sing.AdaMod), made(torch_optimizer.AdaMod)),
    "adamod, pytorch_optimizer": (
        made(sing.AdaMod, beta3=0.9, **L2),
        made(pytorch_optimizer.AdaMod, betas=(0.9, 0.999, 0.9), weight_decouple=False),
    ),
    "lion, timm": (made(sing.Lion), made(timm.optim.Lion)),
    "lion, pytorch_optimizer, L2": (made(sing.Lion, **L2), made(pytorch_optimizer.Lion, weight_decouple=False)),
    # No package has SAdam; without softplus it is AMSGrad or Adam.
    "sadam without softplus, torch": (
        made(sing.SAdam, softplus_beta=None, eps=0.0),
        made(torch.optim.Adam, eps=0.0, amsgrad=True),
    ),
    "sadam without softplus and amsgrad, torch": (
        made(sing.SAdam, softplus_beta=None, eps=0.0, amsgrad=False),
        made(torch.optim.Adam, eps=0.0),
    ),
}
# These peers compute in float32 for all parameter types.
FLOAT32_ONLY = {"radam, torch_optimizer"}


def cases():
    for name, pair in PAIRS.items():
        yield pytest.param(*pair, torch.float32, id=f"{name}, float32")
        if name not in FLOAT32_ONLY:
            yield pytest.param(*pair, torch.float64, id=f"{name}, float64")


@pytest.mark.parametrize(("mine", "other", "dtype"), cases())
def test_equals_its_peer(mine, other, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers call functions that newer torch versions deprecate
        expected = trajectory(other, dtype)
    expect_same(trajectory(mine, dtype), expected, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_eadam_is_adam_whose_second_moment_grows_by_epsilon(dtype):
    """No package has EAdam. If epsilon / beta2 is added to Adam's second moment before a step, the step gives EAdam's second
    moment."""
    epsilon, beta2 = 1e-4, 0.999

    def raised(optimizer):
        for parameter in optimizer.param_groups[0]["params"]:
            state = optimizer.state[parameter]
            if not state:
                zeros = torch.zeros_like(parameter)
                state.update(step=torch.zeros(()), exp_avg=zeros, exp_avg_sq=zeros.clone())
            state["exp_avg_sq"] += epsilon / beta2

    expected = trajectory(made(torch.optim.Adam, eps=0.0), dtype, before_step=raised)
    expect_same(trajectory(made(sing.EAdam, eps=epsilon), dtype), expected, dtype)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_sadam_is_adam_with_another_denominator(amsgrad):
    """No package has SAdam. Where softplus is linear, far above 20 / beta, SAdam equals Adam; elsewhere it does not."""
    adam = trajectory(made(torch.optim.Adam, eps=0.0, amsgrad=amsgrad), torch.float64)
    sharp = trajectory(made(sing.SAdam, amsgrad=amsgrad, softplus_beta=1e9), torch.float64)
    expect_same(sharp, adam, torch.float64)
    soft = trajectory(made(sing.SAdam, amsgrad=amsgrad), torch.float64)
    with pytest.raises(AssertionError, match="step 1,"):
        expect_same(soft, adam, torch.float64)
