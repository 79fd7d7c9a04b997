"""Tests that parameters whose layout the kernels do not support are stepped through copies, with the bits of contiguous ones."""

import pytest
import torch
from conftest import MADE, small_model

import sing
from sing import parameters as parameters_module
from sing.rules import CLASSES


def gapped(tensor):
    """Returns the values in memory that has a gap after every element of the last axis."""
    wide = torch.zeros(*tensor.shape[:-1], 2 * tensor.shape[-1], dtype=tensor.dtype)
    wide[..., ::2] = tensor
    return wide[..., ::2]


def transposed(tensor):
    """Returns the values with the order of the axes in memory reversed."""
    axes = tuple(reversed(range(tensor.dim())))
    return tensor.permute(axes).contiguous().permute(axes)


def pair(layout, dtype=torch.float32):
    """Returns the parameters of a model and contiguous copies of them."""
    values = [each.detach() for each in small_model(dtype).parameters()]
    return [torch.nn.Parameter(layout(each)) for each in values], [torch.nn.Parameter(each.clone()) for each in values]


def set_gradients(parameters, seed, layout=lambda each: each):
    for index, each in enumerate(parameters):
        generator = torch.Generator().manual_seed(100 * seed + index)
        each.grad = layout(torch.randn(each.shape, generator=generator, dtype=torch.float64).to(each.dtype))


@pytest.mark.parametrize("layout", [gapped, transposed])
@pytest.mark.parametrize("name", MADE)
def test_layouts_train_as_contiguous_memory(name, layout):
    mine, plain = pair(layout)
    first, second = MADE[name](mine, weight_decay=0.1), MADE[name](plain, weight_decay=0.1)
    for step in range(7):
        set_gradients(mine, step, layout if step % 2 else lambda each: each)
        set_gradients(plain, step)
        first.step()
        second.step()
    for one, other in zip(mine, plain):
        assert (one - other).abs().max().item() <= 1e-5 * other.abs().max().item()
        ours, theirs = first.state[one], second.state[other]
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert ours[key].shape == theirs[key].shape
            assert torch.allclose(ours[key].double(), theirs[key].double(), rtol=1e-4, atol=1e-6), key


@pytest.mark.parametrize("axis", [0, 1, 3])
def test_the_centralized_axis_may_change_in_permuted_memory(axis):
    values = torch.randn(4, 3, 2, 5)
    mine = torch.nn.Parameter(values.to(memory_format=torch.channels_last))
    plain = torch.nn.Parameter(values.clone())
    assert not mine.is_contiguous()
    first, second = sing.SING([mine], centralize=False, lr=0.1), sing.SING([plain], centralize=False, lr=0.1)
    for step in range(4):
        for optimizer, parameter in ((first, mine), (second, plain)):
            set_gradients([parameter], step)
            if step == 1:
                optimizer.param_groups[0].update(centralize=True, centralize_axis=axis)
            optimizer.step()
        assert torch.allclose(mine, plain, rtol=1e-5, atol=1e-6)


def test_a_device_without_kernels_gets_one_warning_that_names_the_parameter(monkeypatch):
    monkeypatch.setattr(parameters_module, "has_kernels", lambda device_type: False)
    monkeypatch.setattr(parameters_module, "_warned_about", set())
    mine, plain = pair(torch.clone)
    with pytest.warns(UserWarning, match=r"'second' is on cpu, for which there are no kernels: it is copied") as caught:
        first = sing.SING([("second", mine[1]), ("third", mine[2])])
        set_gradients(mine[1:3], 0)
        first.step()
    assert len(caught) == 1
    monkeypatch.undo()
    second = sing.SING(plain[1:3])
    set_gradients(plain[1:3], 0)
    second.step()
    assert all(torch.equal(one, other) for one, other in zip(mine[1:3], plain[1:3]))


@pytest.mark.parametrize("policy", ["skip_tensor", "skip_step", "throw", "pass_through"])
def test_policies(policy, memory):
    first, second = torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(4))
    optimizer = sing.SING([("first", first), ("second", second)], non_finite=policy)
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


@pytest.mark.parametrize("policy", ["skip_step", "throw"])
@pytest.mark.parametrize("bad", [0, 1])
def test_a_step_is_taken_by_all_parameters_or_by_none(policy, bad):
    """1e25 is finite, but its square is not in float32: the library counts such a gradient as non-finite."""
    mine = [torch.nn.Parameter(torch.ones(3, 4)), torch.nn.Parameter(gapped(torch.ones(3, 4)))]
    optimizer = sing.SING(mine, non_finite=policy)
    for step in range(2):
        set_gradients(mine, step)
        optimizer.step()
    before, counter = [each.detach().clone() for each in mine], optimizer.state_dict()["param_groups"][0]["lookahead_step"]
    set_gradients(mine, 2)
    mine[bad].grad *= 1e25
    if policy == "throw":
        with pytest.raises(RuntimeError, match=rf"gradient of '{bad}'"):
            optimizer.step()
    else:
        optimizer.step()
    assert all(torch.equal(each, old) for each, old in zip(mine, before))
    assert optimizer.state_dict()["param_groups"][0]["lookahead_step"] == counter
    assert optimizer.status()["skipped_steps"] == 1


@pytest.mark.parametrize("bad", [0, 1])
def test_a_scaler_backs_off_whichever_parameter_overflows(bad):
    mine = [torch.nn.Parameter(gapped(torch.ones(3, 4))), torch.nn.Parameter(torch.ones(3, 4))]
    optimizer, scaler = sing.SING(mine), sing.GradScaler("cpu", init_scale=64.0)
    scaler.scale(torch.ones(()))
    set_gradients(mine, 0)
    mine[bad].grad *= 1e25
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 32.0
    assert all(torch.equal(each, torch.ones(3, 4)) for each in mine)


def test_torchs_scaler_does_not_see_a_finite_gradient_whose_squares_overflow():
    """It looks at the elements, and an optimizer cannot tell it more: the step is skipped and counted, the scale stays."""
    parameter = torch.nn.Parameter(torch.ones(3, 4))
    optimizer, scaler = sing.SING([parameter]), torch.amp.GradScaler("cpu", init_scale=64.0)
    scaler.scale(torch.ones(()))
    set_gradients([parameter], 0)
    parameter.grad *= 1e25
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(parameter, torch.ones(3, 4))
    assert optimizer.status()["skipped_steps"] == 1
    assert scaler.get_scale() == 64.0


def test_zero_size_parameters_of_any_stride_are_taken():
    empty = torch.nn.Parameter(torch.empty_strided((5, 0, 1), (0, 1, 0)))
    full = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = sing.SING([empty, full])
    empty.grad = torch.empty_strided((5, 0, 1), (0, 1, 0))
    full.grad = torch.randn(2, 3)
    optimizer.step()
    assert not torch.equal(full, torch.ones(2, 3))
