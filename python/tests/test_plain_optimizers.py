"""Tests that the classes with all of SING switched off equal torch's own optimizers, step by step."""

import copy

import pytest
import torch
from conftest import small_model

import sing

OFF = {"centralize": False, "normalize": "off", "lookahead": False, "decay_vectors": True}
PAIRS = {
    "adamw": (lambda p: sing.AdamW(p, lr=1e-2, weight_decay=0.1, **OFF), lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1)),
    "sing": (
        lambda p: sing.SING(p, lr=1e-2, weight_decay=0.1, softplus=False, **OFF),
        lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.1),
    ),
    "maximize": (
        lambda p: sing.AdamW(p, lr=1e-2, maximize=True, weight_decay=0.1, **OFF),
        lambda p: torch.optim.AdamW(p, lr=1e-2, maximize=True, weight_decay=0.1),
    ),
    "sgd": (
        lambda p: sing.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, **OFF),
        lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_equals_torch(name):
    ours, theirs = small_model(torch.float64), None
    theirs = copy.deepcopy(ours)
    first, second = PAIRS[name][0](ours.parameters()), PAIRS[name][1](theirs.parameters())
    for step in range(12):
        generator = torch.Generator().manual_seed(step)
        images = torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64)
        for model, optimizer in ((ours, first), (theirs, second)):
            optimizer.zero_grad()
            model(images).square().sum().backward()
            optimizer.step()
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            # A step has about 10 roundings of 2^-53; gradients carry the difference on and at most double it per step.
            assert (mine - other).abs().max() <= 1e-13 * 2**step * max(1.0, other.abs().max().item()), step


def test_state_has_torchs_names():
    """torch's AdamW can continue from our state, and ours from torch's."""
    model = small_model()
    first = sing.AdamW(model.parameters(), lr=1e-2, **OFF)
    model(torch.ones(1, 2, 4, 4)).sum().backward()
    first.step()
    other = torch.optim.AdamW(model.parameters(), lr=1e-2)
    other.load_state_dict({**other.state_dict(), "state": copy.deepcopy(first.state_dict()["state"])})
    other.step()
    again = sing.AdamW(model.parameters(), lr=1e-2, **OFF)
    again.load_state_dict({"state": other.state_dict()["state"], "param_groups": again.state_dict()["param_groups"]})
    again.step()
    assert int(again.state[next(model.parameters())]["step"]) == 3
