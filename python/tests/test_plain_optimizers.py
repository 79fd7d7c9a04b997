"""Tests that the classes without SING in their name are torch's optimizers: the same steps, defaults and checkpoints."""

import copy
import inspect

import pytest
import torch
from conftest import small_model
from peers import default_dtype

import sing

PLAIN_SING = {"centralize": False, "normalize": "off", "lookahead": False, "softplus": False, "decay_vectors": True}
DECAY = {"lr": 1e-2, "weight_decay": 0.1}
# Our class and torch's, with the same options.
PAIRS = {
    "adamw": (sing.AdamW, torch.optim.AdamW, DECAY),
    "adamw, by default": (sing.AdamW, torch.optim.AdamW, {}),
    "adamw, maximize": (sing.AdamW, torch.optim.AdamW, {**DECAY, "maximize": True}),
    "sgd": (sing.SGD, torch.optim.SGD, DECAY),
    "sgd, by default": (sing.SGD, torch.optim.SGD, {}),
    "sgd, nesterov": (sing.SGD, torch.optim.SGD, {**DECAY, "momentum": 0.9, "nesterov": True, "dampening": 0}),
    "nadam": (sing.NAdam, torch.optim.NAdam, {**DECAY, "momentum_decay": 0.01}),
    "nadam, decoupled": (sing.NAdam, torch.optim.NAdam, {**DECAY, "decoupled_weight_decay": True}),
    "radam": (sing.RAdam, torch.optim.RAdam, DECAY),
}


def gradients_from(model, optimizer, step):
    generator = torch.Generator().manual_seed(step)
    images = torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64)
    optimizer.zero_grad()
    model(images).square().sum().backward()


def expect_the_same_steps(model, first, twin, second, steps=12):
    for step in range(steps):
        for each, optimizer in ((model, first), (twin, second)):
            gradients_from(each, optimizer, step)
            optimizer.step()
        for mine, other in zip(model.parameters(), twin.parameters(), strict=True):
            # A step has about 10 roundings of 2^-53; gradients carry the difference on and at most double it per step.
            assert (mine - other).abs().max() <= 1e-13 * 2**step * max(1.0, other.abs().max().item()), step


@pytest.mark.parametrize("name", PAIRS)
def test_equals_torch(name):
    ours, theirs, options = PAIRS[name]
    model = small_model(torch.float64)
    twin = copy.deepcopy(model)
    with default_dtype(torch.float64):  # in which torch keeps NAdam's product of momenta
        expect_the_same_steps(model, ours(model.parameters(), **options), twin, theirs(twin.parameters(), **options))


def test_sing_without_its_parts_equals_torch():
    model = small_model(torch.float64)
    twin = copy.deepcopy(model)
    ours, theirs = sing.SING(model.parameters(), **DECAY, **PLAIN_SING), torch.optim.AdamW(twin.parameters(), **DECAY)
    expect_the_same_steps(model, ours, twin, theirs)


@pytest.mark.parametrize("name", ["AdamW", "SGD", "NAdam", "RAdam", "Muon"])
def test_defaults_are_torchs(name):
    ours, theirs = (inspect.signature(getattr(package, name)).parameters for package in (sing, torch.optim))
    names = [each for each in theirs if each in ours and ours[each].default is not None and each != "capturable"]
    assert {each: ours[each].default for each in names[1:]} == {each: theirs[each].default for each in names[1:]}
    assert len(names) >= 6


@pytest.mark.parametrize("name", ["AdamW", "SING", "PlugSING"])
@pytest.mark.parametrize("how", [{}, {"foreach": True}, {"fused": True}])
def test_torchs_checkpoint_loads(name, how):
    """Moments, step and options are taken; what torch has no option for stays, and LookAhead starts from the present weights."""
    model = small_model(torch.float64)
    host = torch.optim.AdamW(model.parameters(), lr=0.02, betas=(0.8, 0.95), weight_decay=0.3, **how)
    for step in range(3):
        gradients_from(model, host, step)
        host.step()
    twin = copy.deepcopy(model)
    optimizer = getattr(sing, name)(twin.parameters(), centralize_axis=1, reference_size=7.0)
    kept = {key: optimizer.param_groups[0][key] for key in ("normalize", "lookahead", "centralize_axis", "reference_size")}
    optimizer.load_state_dict(copy.deepcopy(host.state_dict()))
    group = optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.02, (0.8, 0.95), 0.3)
    assert {key: group[key] for key in kept} == kept
    with torch.no_grad():  # as if the weights were loaded after the optimizer
        for parameter in twin.parameters():
            parameter.mul_(0.5)
    before = [each.detach().clone() for each in twin.parameters()]
    for mine, other in zip(twin.parameters(), model.parameters(), strict=True):
        assert torch.equal(optimizer.state[mine]["exp_avg"], host.state[other]["exp_avg"])
        assert torch.equal(optimizer.state[mine]["exp_avg_sq"], host.state[other]["exp_avg_sq"])
    gradients_from(twin, optimizer, 3)
    optimizer.step()
    for mine, old in zip(twin.parameters(), before, strict=True):
        assert int(optimizer.state[mine]["step"]) == 4
        assert ("slow" in optimizer.state[mine]) == (name == "SING")
        if name == "SING":
            assert torch.equal(optimizer.state[mine]["slow"], old)
    assert optimizer.state_dict()["param_groups"][0]["lookahead_step"] == 1


@pytest.mark.parametrize("name, options", [("SGD", {}), ("SGD", {"momentum": 0.9}), ("RAdam", {"decoupled_weight_decay": True})])
def test_other_rules_go_both_ways(name, options):
    """torch's SGD does not count steps."""
    model = small_model(torch.float64)
    host = getattr(torch.optim, name)(model.parameters(), lr=0.01, weight_decay=0.1, **options)
    gradients_from(model, host, 7)
    host.step()
    twin = copy.deepcopy(model)
    ours = getattr(sing, name)(twin.parameters())
    ours.load_state_dict(copy.deepcopy(host.state_dict()))
    expect_the_same_steps(twin, ours, model, host)
    again = getattr(torch.optim, name)(model.parameters(), lr=0.01)
    again.load_state_dict(copy.deepcopy(ours.state_dict()))
    expect_the_same_steps(twin, ours, model, again, steps=3)


def test_a_checkpoint_without_steps_is_refused_where_they_count():
    model = small_model()
    host = torch.optim.SGD(model.parameters(), momentum=0.9)
    model(torch.ones(1, 2, 4, 4)).sum().backward()
    host.step()
    with pytest.raises(ValueError, match="wanted 'step', got only 'momentum_buffer'"):
        sing.AdamW(model.parameters()).load_state_dict(host.state_dict())


def test_a_plain_run_resumes_from_torchs_checkpoint_as_torch_does():
    model = small_model(torch.float64)
    host = torch.optim.AdamW(model.parameters(), lr=0.02)
    gradients_from(model, host, 7)
    host.step()
    twin = copy.deepcopy(model)
    ours = sing.AdamW(twin.parameters())
    ours.load_state_dict(copy.deepcopy(host.state_dict()))
    expect_the_same_steps(twin, ours, model, host)


@pytest.mark.parametrize("how", [{}, {"foreach": True}, {"fused": True}])
@pytest.mark.parametrize("name", ["AdamW", "SING", "PlugSING"])
def test_our_checkpoint_loads_into_torch(name, how):
    model = small_model(torch.float64)
    ours = getattr(sing, name)(model.parameters(), lr=0.02, betas=(0.8, 0.95), weight_decay=0.3, capturable=True)
    for step in range(3):
        gradients_from(model, ours, step)
        ours.step()
    host = torch.optim.AdamW(model.parameters())
    host.load_state_dict(copy.deepcopy(ours.state_dict()))
    host.param_groups[0].update(how)
    first = next(model.parameters())
    assert torch.equal(host.state[first]["exp_avg"], ours.state[first]["exp_avg"])
    gradients_from(model, host, 3)
    host.step()
    assert float(host.state[first]["step"]) == 4
    assert (host.param_groups[0]["lr"], host.param_groups[0]["betas"], host.param_groups[0]["weight_decay"]) == (0.02, (0.8, 0.95), 0.3)


def test_a_run_goes_to_torch_and_back():
    model = small_model(torch.float64)
    ours = sing.AdamW(model.parameters(), lr=0.02)
    gradients_from(model, ours, 7)
    ours.step()
    twin = copy.deepcopy(model)
    host = torch.optim.AdamW(twin.parameters())
    host.load_state_dict(copy.deepcopy(ours.state_dict()))
    expect_the_same_steps(model, ours, twin, host)
    again = sing.AdamW(twin.parameters())
    again.load_state_dict(copy.deepcopy(host.state_dict()))
    assert int(again.state[next(twin.parameters())]["step"]) == 13


def test_amsgrad_of_a_checkpoint_is_refused():
    model = small_model()
    host = torch.optim.AdamW(model.parameters(), amsgrad=True)
    model(torch.ones(1, 2, 4, 4)).sum().backward()
    host.step()
    with pytest.raises(ValueError, match="wanted amsgrad=False, got True: sing.SAdam has it"):
        sing.AdamW(model.parameters()).load_state_dict(host.state_dict())
