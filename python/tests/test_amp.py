"""Tests loss scaling: no extra pass over the gradients, skipped steps where a gradient overflowed, the same scale as torch's."""

import copy

import pytest
import torch
from conftest import same_weights, small_model

import sing

SCALERS = {"torch": torch.amp.GradScaler, "sing": sing.GradScaler}


def run(scaler, optimizer, model, overflow_at=(), steps=10):
    scales = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        optimizer.zero_grad()
        loss = model(torch.randn(3, 2, 4, 4, generator=generator)).square().sum()
        (scaler.scale(loss) if scaler else loss).backward()
        if step in overflow_at:
            next(model.parameters()).grad.view(-1)[0] = float("inf")
        if scaler:
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        else:
            optimizer.step()
    return scales


@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("normalize", ["unit_norm", "off"])
def test_equals_training_without_scaler(name, normalize, memory):
    """A scale that is a power of two changes no bit of the gradients; epsilon is scaled by the same factor."""
    model = small_model()
    twin = copy.deepcopy(model)
    options = {"normalize": normalize, "lr": 1e-2 if normalize == "unit_norm" else 1e-4}
    run(None, sing.SING(model.parameters(), **options), model)
    optimizer = sing.SING(twin.parameters(), **options)
    run(SCALERS[name]("cpu", init_scale=1024.0), optimizer, twin)
    for mine, other in zip(model.parameters(), twin.parameters()):
        assert torch.allclose(mine, other, rtol=1e-5, atol=1e-6)
    norms = optimizer.grad_norms()
    for index, parameter in enumerate(twin.parameters()):
        assert norms[str(index)] == pytest.approx(parameter.grad.norm().item() / 1024, rel=1e-5)


@pytest.mark.parametrize("policy", ["skip_tensor", "throw"])
def test_overflow_skips_the_whole_step(policy, memory):
    """The policy without a scaler does not matter. Both scalers halve and grow their scale alike."""
    outcomes = {}
    for name, scaler in SCALERS.items():
        torch.manual_seed(1)
        model = small_model()
        optimizer = sing.SING(model.parameters(), non_finite=policy)
        scales = run(scaler("cpu", init_scale=64.0, growth_interval=3), optimizer, model, overflow_at=(2, 5))
        outcomes[name] = scales, model
        assert optimizer.status() == {"skipped_steps": 2, "skipped_tensors": 0}
        assert int(optimizer.state[next(model.parameters())]["step"]) == 8
        assert optimizer.state_dict()["param_groups"][0]["lookahead_step"] == 8
        assert optimizer.param_groups[0]["non_finite"] == policy
    assert outcomes["torch"][0] == outcomes["sing"][0]
    assert len(set(outcomes["torch"][0])) > 2
    assert same_weights(outcomes["torch"][1], outcomes["sing"][1])


def test_no_pass_over_the_gradients(monkeypatch):
    def refuse(*_):
        raise AssertionError("the gradients were read")

    model = small_model()
    optimizer = sing.SING(model.parameters())
    monkeypatch.setattr(torch, "_amp_foreach_non_finite_check_and_unscale_", refuse)
    run(sing.GradScaler("cpu", init_scale=64.0), optimizer, model, steps=2)
    with pytest.raises(AssertionError, match="were read"):
        run(torch.amp.GradScaler("cpu", init_scale=64.0), optimizer, model, steps=1)


def test_unscaled_and_clipped_gradients():
    """found_inf counts even if clipping made the gradients finite again."""
    model = small_model()
    before = copy.deepcopy(model)
    optimizer = sing.SING(model.parameters())
    scaler = sing.GradScaler("cpu", init_scale=64.0)
    scaler.scale(model(torch.ones(1, 2, 4, 4)).sum()).backward()
    next(model.parameters()).grad.view(-1)[0] = float("inf")
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    assert same_weights(model, before)
    assert scaler.get_scale() == 32.0
    assert optimizer.status()["skipped_steps"] == 1


def test_other_optimizers_are_left_to_torch():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scales = run(sing.GradScaler("cpu", init_scale=64.0), optimizer, model, overflow_at=(1,), steps=3)
    assert scales == [64.0, 32.0, 32.0]
