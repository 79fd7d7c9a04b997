"""Tests that state dictionaries, pickles and copies continue with the same bits, and that tensors put into `state` are used."""

import copy
import functools
import gc
import io
import pickle

import pytest
import torch
from conftest import MADE, same_weights, small_model, train

import sing
from sing.rules import CLASSES


def resumed(model, optimizer, way, cls):
    """Returns (model, optimizer) transferred to new objects."""
    if way == "deepcopy":
        return copy.deepcopy((model, optimizer))
    if way == "pickle":
        return pickle.loads(pickle.dumps((model, optimizer)))
    twin = copy.deepcopy(model)
    fresh = cls(twin.named_parameters())
    if way == "state_dict":
        fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    else:
        buffer = io.BytesIO()
        torch.save(optimizer.state_dict(), buffer)
        buffer.seek(0)
        fresh.load_state_dict(torch.load(buffer, weights_only=True))
    return twin, fresh


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "state_dict", "torch.save"])
@pytest.mark.parametrize("steps", [0, 1, 7])  # 7 is inside a LookAhead period
@pytest.mark.parametrize("host", ["adamw", "nadam"])
def test_continues_with_the_same_bits(way, steps, host, memory):
    cls = functools.partial(sing.SING, host=host)
    model = small_model()
    optimizer = cls(model.named_parameters(), lr=0.03, weight_decay=0.1, betas=(0.8, 0.95))
    train(model, optimizer, steps)
    twin, fresh = resumed(model, optimizer, way, cls)
    assert fresh.param_groups[0]["betas"] == (0.8, 0.95)
    assert fresh.host == host
    train(model, optimizer, 6, first=steps)
    train(twin, fresh, 6, first=steps)
    assert same_weights(model, twin)


@pytest.mark.parametrize("name", MADE)
def test_every_rule_resumes(name):
    model = small_model()
    optimizer = MADE[name](model.named_parameters(), **({"momentum": 0.9} if name.lower().endswith("sgd") else {}))
    train(model, optimizer, 4)
    twin, fresh = resumed(model, optimizer, "torch.save", MADE[name])
    train(model, optimizer, 4, first=4)
    train(twin, fresh, 4, first=4)
    assert same_weights(model, twin)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_float32_state_of_16_bit_parameters_survives(dtype):
    model = small_model(dtype)
    optimizer = sing.SING(model.parameters(), master_weights=True)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    twin = copy.deepcopy(model)
    fresh = sing.SING(twin.parameters())
    fresh.load_state_dict(optimizer.state_dict())
    for mine, other in zip(model.parameters(), twin.parameters()):
        for key, value in optimizer.state[mine].items():
            assert fresh.state[other][key].dtype == value.dtype
            assert torch.equal(fresh.state[other][key], value), key
            assert fresh.state[other][key].data_ptr() != value.data_ptr()
        assert not torch.equal(optimizer.state[mine]["exp_avg"], optimizer.state[mine]["exp_avg"].to(dtype).float())


def test_state_shares_the_librarys_memory():
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([weight])
    assert not optimizer.state
    weight.grad = torch.randn(4, 3)
    optimizer.step()
    moment, step = optimizer.state[weight]["exp_avg"], optimizer.state[weight]["step"]
    before = moment.clone()
    optimizer.step()
    assert int(step) == 2
    assert not torch.equal(moment, before)
    assert optimizer.state[weight]["exp_avg"] is moment


def test_arrays_outlive_the_optimizer_and_bring_no_others_along():
    parameter = torch.nn.Parameter(torch.zeros(600, 500))
    parameter.grad = torch.full_like(parameter, 2.0)
    optimizer = sing.AdamW([parameter], weight_decay=0.0)
    optimizer.step()
    arrays = [array for array in optimizer.state[parameter].values() if array.shape == parameter.shape]
    assert len(arrays) >= 2
    expected = [array.clone() for array in arrays]
    del optimizer
    gc.collect()
    other = sing.AdamW([parameter])  # would reuse the memory if it were free
    other.step()
    assert all(torch.equal(array, kept) for array, kept in zip(arrays, expected))
    assert all(array.untyped_storage().nbytes() == 4 * array.numel() for array in arrays)


@pytest.mark.parametrize("key", ["exp_avg", "exp_avg_sq", "slow"])
def test_replaced_state_is_taken(key, memory):
    """Lightning and others replace tensors in `state`; a user may too."""
    outcomes = []
    for replace in (lambda old, new: old.copy_(new), None):
        torch.manual_seed(3)
        weight = torch.nn.Parameter(torch.randn(4, 3))
        optimizer = sing.SING([weight])
        weight.grad = torch.randn(4, 3)
        optimizer.step()
        new = torch.rand(4, 3)
        if replace is None:
            optimizer.state[weight][key] = new
        else:
            replace(optimizer.state[weight][key], new)
        for _ in range(5):
            optimizer.step()
        outcomes.append(weight.detach().clone())
        assert int(optimizer.state[weight]["step"]) == 6
    assert torch.equal(*outcomes)


def test_cleared_state_starts_anew():
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([weight])
    weight.grad = torch.randn(4, 3)
    optimizer.step()
    optimizer.state.clear()
    optimizer.step()
    assert int(optimizer.state[weight]["step"]) == 1


def test_moved_storage_and_type_are_followed():
    model = small_model()
    twin = copy.deepcopy(model)
    first, second = sing.SING(model.parameters()), sing.SING(twin.parameters())
    train(model, first, 3)
    train(twin, second, 3)
    for parameter in twin.parameters():
        parameter.data = parameter.data.clone()
    twin.to(memory_format=torch.channels_last)
    train(model, first, 4, first=3)
    train(twin, second, 4, first=3)
    for mine, other in zip(model.parameters(), twin.parameters()):
        assert torch.allclose(mine, other, rtol=1e-4, atol=1e-5)
    twin.to(torch.float64)
    train(twin, second, 1)
    assert second.state[next(twin.parameters())]["exp_avg"].dtype == torch.float64


def test_channels_last_equals_contiguous():
    weight = torch.randn(4, 3, 5, 5)
    gradients = [torch.randn(4, 3, 5, 5) for _ in range(6)]
    outcomes = []
    for layout, gradient_layout in [(torch.contiguous_format,) * 2, (torch.channels_last,) * 2, (torch.channels_last, torch.contiguous_format)]:
        parameter = torch.nn.Parameter(weight.clone().contiguous(memory_format=layout))
        optimizer = sing.SING([parameter])
        for gradient in gradients:
            parameter.grad = gradient.contiguous(memory_format=gradient_layout)
            optimizer.step()
        assert optimizer.state[parameter]["exp_avg"].stride() == parameter.stride()
        outcomes.append(parameter.detach())
    assert torch.equal(outcomes[1], outcomes[2])
    # The sums of a row run in memory order.
    assert torch.allclose(outcomes[0], outcomes[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["SING", "Adafactor"])
def test_transposed_parameter(name):
    """A parameter stored in transposed order is updated as a contiguous one."""
    weight, gradient = torch.randn(4, 6), torch.randn(4, 6)
    plain = torch.nn.Parameter(weight.clone())
    turned = torch.nn.Parameter(weight.t().contiguous().t())
    for parameter in (plain, turned):
        optimizer = CLASSES[name]([parameter])
        for _ in range(5):
            parameter.grad = gradient.clone()
            optimizer.step()
    assert torch.allclose(plain, turned, rtol=1e-5, atol=1e-6)


def test_state_of_another_model_is_refused():
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([("weight", weight)])
    weight.grad = torch.randn(4, 3)
    optimizer.step()
    good = copy.deepcopy(optimizer.state_dict())
    bad_shape = copy.deepcopy(good)
    bad_shape["state"][0]["exp_avg"] = torch.zeros(3, 4)
    missing = copy.deepcopy(good)
    del missing["state"][0]["slow"]
    extra = copy.deepcopy(good)
    extra["state"][1] = extra["state"][0]
    negative = copy.deepcopy(good)
    negative["param_groups"][0]["lr"] = -1.0
    two_groups = copy.deepcopy(good)
    two_groups["param_groups"].append(two_groups["param_groups"][0])
    before = weight.detach().clone()
    for bad, message in [
        (bad_shape, r"state of parameter 'weight'\] wanted 'exp_avg' of shape \[4, 3\], got \[3, 4\]"),
        (missing, r"parameter 'weight'\] wanted 'slow'"),
        (extra, "got state of parameter 1"),
        (negative, "wanted lr as a number of at least 0, got -1"),
        (two_groups, "different number of parameter groups"),
    ]:
        with pytest.raises(ValueError, match=message):
            optimizer.load_state_dict(bad)
        kept = optimizer.state_dict()
        assert kept["param_groups"] == good["param_groups"]
        assert all(torch.equal(kept["state"][0][key], value) for key, value in good["state"][0].items())
    assert torch.equal(weight, before)
    optimizer.step()


def test_parameters_are_matched_by_the_dictionarys_own_numbers():
    first, second = torch.nn.Parameter(torch.randn(2, 3)), torch.nn.Parameter(torch.randn(4))
    optimizer = sing.SING([first, second])
    first.grad, second.grad = torch.randn(2, 3), torch.randn(4)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"] = {70: saved["state"][0], 5: saved["state"][1]}
    saved["param_groups"][0]["params"] = [70, 5]
    moment = optimizer.state[second]["exp_avg"].clone()
    optimizer.load_state_dict(saved)
    assert torch.equal(optimizer.state[second]["exp_avg"], moment)


def test_tensor_rate_is_kept_and_filled_on_success_only():
    """A captured graph reads the tensor, so loading must not replace it."""
    rate = torch.tensor(0.5)
    weight = torch.nn.Parameter(torch.randn(2, 3))
    optimizer = sing.SING([weight], lr=rate)
    weight.grad = torch.randn(2, 3)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0]["lr"] = 0.25
    spoiled = copy.deepcopy(saved)
    spoiled["state"][0]["slow"] = torch.zeros(1)
    with pytest.raises(ValueError, match="slow"):
        optimizer.load_state_dict(spoiled)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


def test_hooks_see_the_dictionary():
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([weight])
    weight.grad = torch.randn(4, 3)
    optimizer.step()
    seen = []

    def before(_, given):
        seen.append(sorted(given))
        given = copy.deepcopy(given)
        given["param_groups"][0]["lr"] = 0.125
        return given

    def after(found):
        seen.append((found.param_groups[0]["lr"], int(found.state[weight]["step"])))

    optimizer.register_load_state_dict_pre_hook(before)
    optimizer.register_load_state_dict_post_hook(after)
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == [["param_groups", "state"], (0.125, 1)]


def test_reset_lookahead_starts_from_the_present_weights(memory):
    """The next merge is a whole period away and draws to the weights that were set by hand."""
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([weight], lookahead=sing.Lookahead(period=3, alpha=0.25))
    fresh = torch.randn(4, 3)
    for step in range(7):
        weight.grad = torch.randn(4, 3)
        if step == 2:  # the step of a merge
            with torch.no_grad():
                weight.copy_(fresh)
            optimizer.reset_lookahead()
            assert torch.equal(optimizer.state[weight]["slow"], fresh)
            assert optimizer.param_groups[0]["lookahead_step"] == 0
        fast_only = copy.deepcopy(optimizer)
        optimizer.step()
        if step == 4:
            [twin] = fast_only.param_groups[0]["params"]
            twin.grad = weight.grad.clone()
            fast_only.param_groups[0]["lookahead_period"] = 1000
            fast_only.step()
            wanted = 0.25 * twin.detach() + 0.75 * fresh
            assert torch.allclose(weight, wanted, atol=1e-7)
    assert optimizer.state_dict()["param_groups"][0]["lookahead_step"] == 5


def test_reset_lookahead_takes_changed_elements_into_the_master_weights():
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = sing.SING([weight], lr=1e-4, master_weights=True)
    weight.grad = torch.ones(3, dtype=torch.bfloat16)
    optimizer.step()
    kept = optimizer.state[weight]["master"].clone()
    assert not torch.equal(kept, kept.bfloat16().float())
    with torch.no_grad():
        weight[1] = 5.0
    optimizer.reset_lookahead()
    wanted = torch.stack([kept[0], torch.tensor(5.0), kept[2]])
    assert torch.equal(optimizer.state[weight]["master"], wanted)
    assert torch.equal(optimizer.state[weight]["slow"], wanted)


def test_reset_lookahead_needs_no_lookahead_and_no_step():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    for optimizer in (sing.SING([weight]), sing.AdamW([weight])):
        optimizer.reset_lookahead()
        weight.grad = torch.eye(2)
        optimizer.step()
        assert int(optimizer.state[weight]["step"]) == 1
    waiting = sing.SING([weight], slow_weights_for_evaluation=True)
    waiting.step()
    waiting.eval()
    with pytest.raises(RuntimeError, match=r"wanted train\(\) before reset_lookahead\(\)"):
        waiting.reset_lookahead()


def test_state_of_another_rule_is_refused():
    """SGD keeps less state than SING, so nothing is missing."""
    model = small_model()
    taken = sing.SING(model.parameters())
    train(model, taken, 2)
    for momentum in (0.0, 0.9):
        optimizer = sing.SGD(model.parameters(), lr=1.0, momentum=momentum)
        with pytest.raises(ValueError, match="'exp_avg' too, which another rule keeps"):
            optimizer.load_state_dict(taken.state_dict())
        assert optimizer.param_groups[0]["lr"] == 1.0
