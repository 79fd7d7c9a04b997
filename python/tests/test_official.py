"""Tests the authors' state dictionary: theirs is loaded unchanged, ours is written with their names."""

import copy

import pytest
import torch
from conftest import same_weights, small_model, train

import sing


def test_there_and_back():
    model = small_model()
    optimizer = sing.SING(model.parameters(), lr=0.03, weight_decay=0.1, beta_softplus=30, la_mergetime=3, eps=1e-6)
    train(model, optimizer, 7)
    theirs = optimizer.to_official_state_dict()
    group = theirs["param_groups"][0]
    assert {key: group[key] for key in ("la_step", "la_mergetime", "la_alpha", "lookahead_active", "softplus", "beta_softplus")} == {
        "la_step": 1,
        "la_mergetime": 3,
        "la_alpha": 0.5,
        "lookahead_active": True,
        "softplus": True,
        "beta_softplus": 30.0,
    }
    assert (group["grad_central"], group["grad_norm"], group["eps"]) == (True, True, 1e-6)
    assert set(theirs["state"][0]) == {"step", "exp_avg", "exp_avg_sq", "lookahead_params"}
    assert theirs["state"][0]["step"].dtype == torch.float32
    twin = copy.deepcopy(model)
    fresh = sing.SING(twin.parameters())
    fresh.load_state_dict(copy.deepcopy(theirs))
    assert fresh.param_groups[0]["norm_epsilon"] == 1e-6
    train(model, optimizer, 6, first=7)
    train(twin, fresh, 6, first=7)
    assert same_weights(model, twin)


def test_without_lookahead_and_softplus():
    model = small_model()
    optimizer = sing.SING(model.parameters(), softplus=False, lookahead_active=False, grad_norm=False, grad_central=False, lr=1e-3)
    train(model, optimizer, 3)
    theirs = optimizer.to_official_state_dict()
    assert set(theirs["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}
    twin = copy.deepcopy(model)
    fresh = sing.SING(twin.parameters())
    fresh.from_official_state_dict(theirs)
    train(model, optimizer, 3, first=3)
    train(twin, fresh, 3, first=3)
    assert same_weights(model, twin)


def test_refusals():
    model = small_model()
    optimizer = sing.SING(model.parameters(), normalize="size_calibrated")
    with pytest.raises(ValueError, match="options that the authors' SING has"):
        optimizer.to_official_state_dict()
    with pytest.raises(ValueError, match="la_step"):
        optimizer.from_official_state_dict(optimizer.state_dict())
