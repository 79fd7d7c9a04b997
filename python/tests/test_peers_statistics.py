"""Compares the rules that use statistics of whole tensors with implementations from other packages, step by step."""

import pytest
import pytorch_optimizer
import schedulefree
import timm.optim
import torch
import torch_optimizer

import sing

SHAPES = [(), (1,), (7,), (5, 3), (3, 5), (4, 3, 3, 2), (33, 17), (2, 1, 9)]
STEPS = 60
WARM_UP = 10


def nvlamb(parameters, **options):
    """Makes our NVLamb, which does what timm's and NVIDIA's LAMB do, but clips as torch does."""
    return sing.NVLamb(parameters, **{"weight_decay": 0.0, **options})


class TimmLamb(timm.optim.Lamb):
    """timm's LAMB, clipped as torch clips: torch adds 1e-6 to the norm, and timm nothing."""

    def __init__(self, parameters, **options):
        super().__init__(parameters, max_grad_norm=None, **options)

    def step(self, closure=None):
        torch.nn.utils.clip_grad_norm_([p for group in self.param_groups for p in group["params"]], 1.0)
        return super().step(closure)


# Each entry has our optimizer, theirs, and the peak learning rate of both.
PAIRS = {
    "lamb, paper": (
        lambda p: sing.Lamb(p, weight_decay=0.1),
        lambda p: torch_optimizer.Lamb(p, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.1, clamp_value=10.0, debias=False),
        1e-2,
    ),
    "lamb, paper, norms at the limit": (
        lambda p: sing.Lamb(p, norm_limit=2.0),
        lambda p: torch_optimizer.Lamb(p, eps=1e-6, clamp_value=2.0),
        1e-2,
    ),
    "lamb, timm": (lambda p: nvlamb(p, weight_decay=0.01), lambda p: TimmLamb(p, weight_decay=0.01), 1e-2),
    "lamb, timm, no decay": (nvlamb, lambda p: TimmLamb(p, weight_decay=0.0), 1e-2),
    "lamb, timm, decoupled": (
        lambda p: nvlamb(p, weight_decay=0.1, decoupled_decay=True),
        lambda p: TimmLamb(p, weight_decay=0.1, decoupled_decay=True),
        1e-2,
    ),
    "lars, timm": (
        lambda p: sing.Lars(p, momentum=0.9, weight_decay=0.1),
        lambda p: timm.optim.Lars(p, momentum=0.9, weight_decay=0.1),
        1.0,
    ),
    "lars, timm, always adapting, nesterov": (
        lambda p: sing.Lars(p, momentum=0.9, nesterov=True, always_adapt=True, trust_coefficient=0.01),
        lambda p: timm.optim.Lars(p, momentum=0.9, nesterov=True, always_adapt=True, trust_coeff=0.01),
        1.0,
    ),
    "lars, torch_optimizer": (
        lambda p: sing.Lars(p, momentum=0.9, weight_decay=0.1, trust_coefficient=0.01),
        lambda p: torch_optimizer.LARS(p, lr=1.0, momentum=0.9, weight_decay=0.1, trust_coefficient=0.01, eps=1e-8),
        1.0,
    ),
    # The authors keep the epsilon in the second moment, this peer does not, so both use an epsilon of 0.
    "adanorm": (
        lambda p: sing.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1),
        lambda p: pytorch_optimizer.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, weight_decouple=False),
        1e-2,
    ),
    "adanorm, decoupled": (
        lambda p: sing.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, decoupled_decay=True),
        lambda p: pytorch_optimizer.AdaNorm(p, betas=(0.9, 0.99), eps=0.0, weight_decay=0.1, weight_decouple=True),
        1e-2,
    ),
}


def parameters(dtype, shapes=SHAPES):
    generator = torch.Generator().manual_seed(3)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)) for shape in shapes]


def give_gradients(weights, step):
    """Returns a pull towards a fixed point plus noise whose size changes from step to step."""
    generator = torch.Generator().manual_seed(100 + step)
    for place, weight in enumerate(weights):
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype)
        pull = weight.detach() - 0.5 * (place + 1)
        weight.grad = pull + noise * (1 + step % 3)


def compare(first, second, rate, dtype, shapes=SHAPES):
    """Returns the largest difference after 60 steps with a warm-up, relative to how far a tensor has moved."""
    mine, other, start = (parameters(dtype, shapes) for _ in range(3))
    ours, theirs = first(mine), second(other)
    for step in range(STEPS):
        for weights, optimizer in ((mine, ours), (other, theirs)):
            give_gradients(weights, step)
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (step + 1) / WARM_UP)
            optimizer.step()
    for optimizer in (ours, theirs):
        if hasattr(optimizer, "eval"):
            optimizer.eval()
    worst = 0.0
    for a, b, old in zip(mine, other, start):
        moved = (a - old).abs().max().item()
        assert moved > 1e-4, "the comparison needs movement"
        worst = max(worst, (a - b).abs().max().item() / moved)
    return worst


def in_training(optimizer):
    optimizer.train()
    return optimizer


# Both are compared at the average, which eval() puts in place of the weights.
PAIRS["schedule-free"] = (
    lambda p: sing.ScheduleFreeAdamW(p, weight_decay=0.1, own_warmup_steps=20),
    lambda p: in_training(schedulefree.AdamWScheduleFree(p, weight_decay=0.1, warmup_steps=20)),
    1e-2,
)
PAIRS["schedule-free, powers"] = (
    lambda p: sing.ScheduleFreeAdamW(p, betas=(0.95, 0.99), step_power=1.0, rate_power=1.0),
    lambda p: in_training(schedulefree.AdamWScheduleFree(p, betas=(0.95, 0.99), r=1.0, weight_lr_power=1.0, foreach=False)),
    1e-2,
)
PAIRS["schedule-free, pytorch_optimizer"] = (
    lambda p: sing.ScheduleFreeAdamW(p, weight_decay=0.1),
    lambda p: in_training(pytorch_optimizer.ScheduleFreeAdamW(p, weight_decay=0.1)),
    1e-2,
)


class GivenCurvature:
    """Passes the same curvature to both optimizers at each step."""

    def __init__(self, optimizer, hand_over):
        self.optimizer, self.hand_over, self.param_groups, self.count = optimizer, hand_over, optimizer.param_groups, 0

    def step(self):
        generator = torch.Generator().manual_seed(500 + self.count)
        self.count += 1
        weights = [each for group in self.param_groups for each in group["params"]]
        found = [torch.randn(each.shape, generator=generator, dtype=torch.float64).to(each.dtype) * 3 for each in weights]
        self.hand_over(self.optimizer, weights, found)


def to_ours(optimizer, weights, found):
    optimizer.set_curvature(dict(zip(weights, found)))
    optimizer.step()


def to_torch_optimizer(optimizer, weights, found):
    optimizer.get_trace = lambda params, grads: found
    optimizer.step()


PAIRS["adahessian, torch_optimizer"] = (
    lambda p: GivenCurvature(sing.AdaHessian(p, weight_decay=0.1), to_ours),
    lambda p: GivenCurvature(torch_optimizer.Adahessian(p, weight_decay=0.1, hessian_power=1.0), to_torch_optimizer),
    1e-2,
)
PAIRS["adahessian, half power"] = (
    lambda p: GivenCurvature(sing.AdaHessian(p, half_power=True), to_ours),
    lambda p: GivenCurvature(torch_optimizer.Adahessian(p, hessian_power=0.5), to_torch_optimizer),
    1e-2,
)
PAIRS["adahessian, pytorch_optimizer"] = (
    lambda p: GivenCurvature(sing.AdaHessian(p, eps=1e-3, weight_decay=0.1, decoupled_decay=False), to_ours),
    lambda p: GivenCurvature(
        pytorch_optimizer.AdaHessian(p, eps=1e-3, weight_decay=0.1, weight_decouple=False),
        lambda optimizer, weights, found: optimizer.step(hessian=found),
    ),
    1e-2,
)

MATRICES = [(5, 3), (3, 5), (1, 7), (7, 1), (33, 17), (130, 260), (220, 200)]
MUONS = {
    "original": ({"nesterov": True, "weight_decay": 0.1}, {}),
    "match_rms_adamw": ({"nesterov": False, "weight_decay": 0.0}, {"rate_adjustment": "match_rms_adamw"}),
}


# torch rounds the matrix that it orthogonalizes to bfloat16; without that rounding its result must equal ours.
@pytest.mark.parametrize("name", MUONS)
def test_muon_equals_torch(name, monkeypatch):
    shared, own = MUONS[name]
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    found = compare(
        lambda p: sing.Muon(p, **shared, **own),
        lambda p: torch.optim.Muon(p, adjust_lr_fn=name, **shared),
        1e-2,
        torch.float64,
        MATRICES,
    )
    # Near the singular values that five iterations scatter, each iteration multiplies rounding errors by its slope, 3.4445.
    assert found <= 1e-9


def test_muon_is_near_torch_as_it_is():
    found = compare(
        lambda p: sing.Muon(p, weight_decay=0.1),
        lambda p: torch.optim.Muon(p, weight_decay=0.1),
        1e-2,
        torch.float32,
        MATRICES,
    )
    assert found <= 0.1


# Sixty steps have about thirty roundings of 2^-53 = 1.1e-16 each, which the pull to the fixed point damps; this peer adds 1e-15 to
# the second moment, which is about 1.
@pytest.mark.parametrize("name", PAIRS)
def test_equals_peer(name):
    ours, theirs, rate = PAIRS[name]
    assert compare(ours, theirs, rate, torch.float64) <= 1e-12


@pytest.mark.parametrize("name", PAIRS)
def test_equals_peer_in_float32(name):
    ours, theirs, rate = PAIRS[name]
    assert compare(ours, theirs, rate, torch.float32) <= 60 * 32 * 2**-24
