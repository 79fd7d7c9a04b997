"""Rules that look at whole tensors, against the peers' own packages, step by step."""

import pytest
import pytorch_optimizer
import timm.optim
import torch
import torch_optimizer

import sing

OFF = {"centralize": False, "normalize": "off", "lookahead": False, "decay_vectors": True}
SHAPES = [(), (1,), (7,), (5, 3), (3, 5), (4, 3, 3, 2), (33, 17), (2, 1, 9)]
STEPS = 60
WARM_UP = 10


def nvlamb(parameters, **options):
    """What timm's and NVIDIA's LAMB do, in our words."""
    return sing.Lamb(parameters, bias_correction=True, always_adapt=False, norm_limit=None, clip_norm=1.0, **options, **OFF)


# Ours, theirs, and the peak learning rate of both.
PAIRS = {
    "lamb, paper": (
        lambda p: sing.Lamb(p, weight_decay=0.1, **OFF),
        lambda p: torch_optimizer.Lamb(p, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.1, clamp_value=10.0, debias=False),
        1e-2,
    ),
    "lamb, paper, norms at the limit": (
        lambda p: sing.Lamb(p, norm_limit=2.0, **OFF),
        lambda p: torch_optimizer.Lamb(p, eps=1e-6, clamp_value=2.0),
        1e-2,
    ),
    "lamb, timm": (lambda p: nvlamb(p, weight_decay=0.01), lambda p: timm.optim.Lamb(p, weight_decay=0.01), 1e-2),
    "lamb, timm, no decay": (nvlamb, lambda p: timm.optim.Lamb(p, weight_decay=0.0), 1e-2),
    "lamb, timm, decoupled": (
        lambda p: nvlamb(p, weight_decay=0.1, decoupled_decay=True),
        lambda p: timm.optim.Lamb(p, weight_decay=0.1, decoupled_decay=True),
        1e-2,
    ),
    "lars, timm": (
        lambda p: sing.Lars(p, momentum=0.9, weight_decay=0.1, **OFF),
        lambda p: timm.optim.Lars(p, momentum=0.9, weight_decay=0.1),
        1.0,
    ),
    "lars, timm, always adapting, nesterov": (
        lambda p: sing.Lars(p, momentum=0.9, nesterov=True, always_adapt=True, trust_coefficient=0.01, **OFF),
        lambda p: timm.optim.Lars(p, momentum=0.9, nesterov=True, always_adapt=True, trust_coeff=0.01),
        1.0,
    ),
    "lars, torch_optimizer": (
        lambda p: sing.Lars(p, momentum=0.9, weight_decay=0.1, trust_coefficient=0.01, **OFF),
        lambda p: torch_optimizer.LARS(p, lr=1.0, momentum=0.9, weight_decay=0.1, trust_coefficient=0.01, eps=1e-8),
        1.0,
    ),
    # The authors keep the epsilon in the second moment, this peer does not: none on either side.
    "adanorm": (
        lambda p: sing.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, **OFF),
        lambda p: pytorch_optimizer.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, weight_decouple=False),
        1e-2,
    ),
    "adanorm, decoupled": (
        lambda p: sing.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, decoupled_decay=True, **OFF),
        lambda p: pytorch_optimizer.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, weight_decouple=True),
        1e-2,
    ),
}


def parameters(dtype):
    generator = torch.Generator().manual_seed(3)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)) for shape in SHAPES]


def give_gradients(weights, step):
    """A pull to a fixed point and noise whose size changes from step to step; the last tensor misses every seventh step."""
    generator = torch.Generator().manual_seed(100 + step)
    for place, weight in enumerate(weights):
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype)
        pull = weight.detach() - 0.5 * (place + 1)
        weight.grad = pull + noise * (1 + step % 3)


def compare(first, second, rate, dtype, steps=STEPS):
    """The largest difference after `steps` steps with a warm-up, relative to how far a tensor has moved."""
    mine, other, start = parameters(dtype), parameters(dtype), parameters(dtype)
    ours, theirs = first(mine), second(other)
    for step in range(steps):
        for weights, optimizer in ((mine, ours), (other, theirs)):
            give_gradients(weights, step)
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (step + 1) / WARM_UP)
            optimizer.step()
    worst = 0.0
    for a, b, old in zip(mine, other, start):
        moved = (a - old).abs().max().item()
        assert moved > 1e-4, "the comparison needs movement"
        worst = max(worst, (a - b).abs().max().item() / moved)
    return worst


# Sixty steps of some thirty roundings of 2^-53 = 1.1e-16, which the pull to the fixed point damps; this peer adds 1e-15 to
# the second moment, which is about 1.
@pytest.mark.parametrize("name", PAIRS)
def test_equals_peer(name):
    ours, theirs, rate = PAIRS[name]
    assert compare(ours, theirs, rate, torch.float64) <= 1e-12


@pytest.mark.parametrize("name", PAIRS)
def test_equals_peer_in_float32(name):
    ours, theirs, rate = PAIRS[name]
    assert compare(ours, theirs, rate, torch.float32) <= 60 * 32 * 2**-24
