"""Tests `state="bfloat16"`: types, sizes, resumes and checkpoints. tests/contract/rounded_state_test.cpp checks the steps."""

import copy
import functools
import io

import pytest
import torch
from conftest import MADE, same_weights, small_model, train

import sing

# Entries of a parameter's state that are weights or single numbers.
KEPT = {"step", "slow", "master", "z", "lr_max", "weight_sum", "exp_grad_norm", "exp_avg_sq_row", "exp_avg_sq_col"}


def entries_of(optimizer):
    return [(key, value) for state in optimizer.state.values() for key, value in state.items()]


@pytest.mark.parametrize("name", MADE)
def test_every_rule_resumes_with_the_same_bits(name, memory):
    make = functools.partial(MADE[name], state="bfloat16")
    if name.lower().endswith("sgd"):
        make = functools.partial(make, momentum=0.9)
    model = small_model()
    optimizer = make(model.parameters())
    train(model, optimizer, 4)
    entries = entries_of(optimizer)
    assert {key for key, value in entries if value.dtype == torch.bfloat16} == {key for key, _ in entries} - KEPT
    saved = io.BytesIO()
    torch.save(optimizer.state_dict(), saved)
    saved.seek(0)
    twin = copy.deepcopy(model)
    fresh = make(twin.parameters())
    fresh.load_state_dict(torch.load(saved, weights_only=True))
    train(model, optimizer, 4, first=4)
    train(twin, fresh, 4, first=4)
    assert same_weights(model, twin)
    for (key, ours), (other, theirs) in zip(entries_of(optimizer), entries_of(fresh), strict=True):
        assert key == other and ours.dtype == theirs.dtype and torch.equal(ours, theirs), key


def test_state_files_resume_with_the_same_bits(tmp_path):
    model = small_model()
    optimizer = sing.SING(model.named_parameters(), state="bfloat16")
    train(model, optimizer, 4)
    optimizer.save(tmp_path / "state.safetensors")
    twin = copy.deepcopy(model)
    fresh = sing.SING(twin.named_parameters(), state="bfloat16")
    fresh.load(tmp_path / "state.safetensors")
    train(model, optimizer, 4, first=4)
    train(twin, fresh, 4, first=4)
    assert same_weights(model, twin)
    exact = sing.SING(copy.deepcopy(model).named_parameters())
    with pytest.raises(RuntimeError, match="wanted options that keep the state of '0.weight' in float32, got state 'bfloat16'"):
        exact.load(tmp_path / "state.safetensors")


def test_groups_may_differ():
    first, second = torch.nn.Parameter(torch.ones(3, 4)), torch.nn.Parameter(torch.ones(3, 4))
    optimizer = sing.AdamW([{"params": [first], "state": "bfloat16"}, {"params": [second]}])
    for parameter in (first, second):
        parameter.grad = torch.randn(3, 4)
    optimizer.step()
    assert optimizer.state[first]["exp_avg"].dtype == torch.bfloat16
    assert optimizer.state[second]["exp_avg"].dtype == torch.float32
    optimizer.param_groups[0]["state"] = "float32"
    with pytest.raises(ValueError, match="wanted options that keep the state of '0' in bfloat16, got state 'float32'"):
        optimizer.step()


def test_a_checkpoint_of_torchs_adamw_is_rounded_to_nearest():
    model = small_model()
    theirs = torch.optim.AdamW(model.parameters())
    train(model, theirs, 3)
    twin = copy.deepcopy(model)
    ours = sing.AdamW(twin.parameters(), state="bfloat16")
    ours.load_state_dict(theirs.state_dict())
    assert ours.param_groups[0]["state"] == "bfloat16"
    for mine, other in zip(twin.parameters(), model.parameters()):
        for key in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(ours.state[mine][key], theirs.state[other][key].bfloat16())
    train(twin, ours, 1, first=3)


def test_a_checkpoint_loads_into_torchs_adamw():
    model = small_model()
    ours = sing.AdamW(model.parameters(), state="bfloat16")
    train(model, ours, 3)
    twin = copy.deepcopy(model)
    theirs = torch.optim.AdamW(twin.parameters())
    theirs.load_state_dict(ours.state_dict())
    for mine, other in zip(model.parameters(), twin.parameters()):
        for key in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(theirs.state[other][key], ours.state[mine][key].float())
    train(twin, theirs, 1, first=3)


@pytest.mark.parametrize(
    "options, dtype, message",
    [
        ({"state": "float16"}, torch.float32, "wanted state as one of 'float32', 'bfloat16', got 'float16'"),
        ({"state": "bfloat16"}, torch.float64, "wanted a float32 or 16-bit parameter for state 'bfloat16', got float64"),
    ],
)
def test_what_it_does_not_take_is_refused(options, dtype, message):
    parameter = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    parameter.grad = torch.ones(2, dtype=dtype)
    with pytest.raises(ValueError, match=message):
        sing.AdamW([parameter], **options).step()


@pytest.mark.skipif(not (torch.cuda.is_available() and sing.has_kernels("cuda")), reason="no CUDA device or kernels")
def test_is_refused_on_cuda():
    parameter = torch.nn.Parameter(torch.ones(2, device="cuda"))
    parameter.grad = torch.ones_like(parameter)
    with pytest.raises(ValueError, match="wanted float32 state on cuda:0, got bfloat16"):
        sing.AdamW([parameter], state="bfloat16").step()
