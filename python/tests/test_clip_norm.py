"""`clip_norm` against torch.nn.utils.clip_grad_norm_ before torch's optimizers."""

import copy

import pytest
import torch
from peers import default_dtype

import sing

SHAPES = [(7,), (3, 5), (), (13, 11), (2, 3, 4, 5)]
LIMIT = 0.5
TOLERANCE = 64 * torch.finfo(torch.float64).eps  # about ten roundings per step and parameter of size 1


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in SHAPES]


def set_gradients(tensors, step, factor=1.0):
    """Sets gradients with norms from below the limit to far above it."""
    generator = torch.Generator().manual_seed(100 + step)
    for tensor in tensors:
        tensor.grad = factor * torch.randn(tensor.shape, generator=generator, dtype=torch.float64) * 10.0 ** (step % 5 - 3)


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other, rtol=TOLERANCE, atol=TOLERANCE)


PAIRS = {
    "AdamW": (lambda p: sing.AdamW(p, lr=0.1, weight_decay=0.1, clip_norm=LIMIT), lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.1)),
    "SGD": (
        lambda p: sing.SGD(p, lr=0.1, momentum=0.9, clip_norm=LIMIT),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    ),
    "NAdam": (lambda p: sing.NAdam(p, lr=0.1, clip_norm=LIMIT), lambda p: torch.optim.NAdam(p, lr=0.1)),
}


@pytest.fixture(autouse=True)
def float64_scalars():
    """torch's NAdam keeps the product of its momenta in the default type."""
    with default_dtype(torch.float64):
        yield


@pytest.mark.parametrize("name", PAIRS)
def test_a_step_is_that_of_torch_after_clip_grad_norm(name):
    make, make_peer = PAIRS[name]
    ours, theirs = parameters(), parameters()
    optimizer, peer = make(ours), make_peer(theirs)
    was_clipped = []
    for step in range(20):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        kept = [each.grad.clone() for each in ours]
        optimizer.step()
        was_clipped.append(bool(torch.nn.utils.clip_grad_norm_(theirs, LIMIT) > LIMIT))
        peer.step()
        assert all(torch.equal(each.grad, before) for each, before in zip(ours, kept))  # gradients are left as they are
        assert_close(ours, theirs)
    assert set(was_clipped) == {True, False}


def test_gradients_are_clipped_before_they_are_centralized():
    ours, theirs = parameters(), parameters()
    optimizer, peer = (
        sing.AdamW(ours, lr=0.1, centralize=True, clip_norm=LIMIT),
        sing.AdamW(theirs, lr=0.1, centralize=True),
    )
    for step in range(10):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(theirs, LIMIT)
        peer.step()
        assert_close(ours, theirs)


def test_groups_share_the_norm_and_have_their_own_limits():
    ours, theirs = parameters(), parameters()
    groups = [{"params": ours[:2]}, {"params": ours[2:4], "clip_norm": 0.1}, {"params": ours[4:], "clip_norm": None}]
    optimizer = sing.SGD(groups, lr=0.1, clip_norm=LIMIT)
    peer = torch.optim.SGD(theirs, lr=0.1)
    for step in range(10):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        optimizer.step()
        total = torch.nn.utils.get_total_norm([each.grad for each in theirs])
        for part, limit in ((theirs[:2], LIMIT), (theirs[2:4], 0.1)):
            torch.nn.utils.clip_grads_with_norm_(part, limit, total)
        peer.step()
        assert_close(ours, theirs)


def test_a_loss_scale_is_removed_before_clipping():
    ours, theirs = parameters(), parameters()
    optimizer, peer = sing.AdamW(ours, lr=0.1, clip_norm=LIMIT), torch.optim.AdamW(theirs, lr=0.1)
    for step in range(10):
        set_gradients(ours, step, factor=1024.0)
        set_gradients(theirs, step)
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(1024.0), torch.tensor(0.0)
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(theirs, LIMIT)
        peer.step()
        assert_close(ours, theirs)


def test_normalized_gradients_do_not_change():
    results = []
    for clip_norm in (None, 1e-3):
        tensors = parameters()
        optimizer = sing.SING(tensors, lr=0.1, clip_norm=clip_norm)
        for step in range(6):
            set_gradients(tensors, step)
            optimizer.step()
        results.append(tensors)
    assert all(torch.equal(one, other) for one, other in zip(*results))


def test_gradients_that_are_not_finite_do_not_count():
    results = []
    for bad in (float("nan"), None):
        tensors = parameters()
        optimizer = sing.SGD(tensors, lr=0.1, clip_norm=LIMIT)
        set_gradients(tensors, 4)
        tensors[1].grad = None if bad is None else torch.full_like(tensors[1], bad)
        optimizer.step()
        results.append(tensors)
    assert all(torch.equal(one, other) for one, other in zip(*results))


def test_parameters_of_two_memory_layouts_share_the_norm():
    results = []
    for layout in (torch.contiguous_format, torch.channels_last):
        tensors = parameters()
        tensors[4].data = tensors[4].data.contiguous(memory_format=layout)
        optimizer = sing.SGD(tensors, lr=0.1, clip_norm=LIMIT)
        set_gradients(tensors, 4)
        optimizer.step()
        results.append(tensors)
    assert_close(*results)


def test_a_checkpoint_carries_the_limit_and_an_older_one_leaves_it_off(tmp_path):
    tensors = parameters()
    optimizer = sing.AdamW(tensors, lr=0.1, clip_norm=LIMIT)
    set_gradients(tensors, 4)
    optimizer.step()
    optimizer.save(tmp_path / "state.safetensors")
    saved = copy.deepcopy(optimizer.state_dict())
    for load in (lambda each: each.load(tmp_path / "state.safetensors"), lambda each: each.load_state_dict(saved)):
        other = sing.AdamW(parameters(), lr=0.1)
        load(other)
        assert other.param_groups[0]["clip_norm"] == LIMIT
    del saved["param_groups"][0]["clip_norm"]
    other = sing.AdamW(parameters(), lr=0.1)
    other.load_state_dict(saved)
    assert other.param_groups[0]["clip_norm"] is None


def test_a_limit_that_is_not_positive_is_refused():
    for wrong in (0.0, -1.0, float("nan"), float("inf"), "1"):
        with pytest.raises((TypeError, ValueError), match=r"\[sing.AdamW\] wanted clip_norm"):
            sing.AdamW(parameters(), clip_norm=wrong)


def test_nvlamb_clips_by_default():
    assert sing.NVLamb(parameters()).param_groups[0]["clip_norm"] == 1.0
    assert sing.Lamb(parameters()).param_groups[0]["clip_norm"] is None
