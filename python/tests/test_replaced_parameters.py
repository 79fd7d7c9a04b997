"""Tests that parameters replaced, swapped or resized in `param_groups` are trained as torch's own optimizers train them."""

import copy

import pytest
import torch

import sing

SHAPES = [(3, 4), (5,), (2, 6), (4,)]


def make(cls, **options):
    generator = torch.Generator().manual_seed(3)
    parameters = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    groups = [{"params": parameters[:2], "lr": 0.1}, {"params": parameters[2:], "lr": 0.001}]
    return parameters, cls(groups, weight_decay=0.1, **options)


def take_step(optimizer, seed):
    for index, parameter in enumerate(each for group in optimizer.param_groups for each in group["params"]):
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(100 * seed + index))
    optimizer.step()


def replace_one(parameters, optimizer):
    parameters[0] = optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(parameters[0].detach() + 1)


def replace_one_with_its_state(parameters, optimizer):
    old = parameters[0]
    replace_one(parameters, optimizer)
    optimizer.state[parameters[0]] = optimizer.state.pop(old)


def replace_by_another_shape(parameters, optimizer):
    parameters[0] = optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(torch.ones(7, 2))


def replace_the_list(parameters, optimizer):
    parameters[:2] = [torch.nn.Parameter(each.detach() * 2) for each in parameters[:2]]
    optimizer.param_groups[0]["params"] = parameters[:2]


def swap_groups(parameters, optimizer):
    optimizer.param_groups.reverse()


def clear_and_add_again(parameters, optimizer):
    groups = [dict(group) for group in optimizer.param_groups]
    optimizer.param_groups.clear()
    for group in reversed(groups):
        optimizer.add_param_group(group)


def remove_one(parameters, optimizer):
    del optimizer.param_groups[0]["params"][1]


def add_a_group(parameters, optimizer):
    parameters.append(torch.nn.Parameter(torch.ones(3, 2)))
    optimizer.add_param_group({"params": [parameters[-1]], "lr": 0.01})


def add_a_group_with_state(parameters, optimizer):
    parameters.append(torch.nn.Parameter(parameters[0].detach() + 1))
    optimizer.add_param_group({"params": [parameters[-1]], "lr": 0.01})
    optimizer.state[parameters[-1]] = copy.deepcopy(optimizer.state[parameters[0]])


SURGERY = [
    add_a_group,
    add_a_group_with_state,
    replace_one,
    replace_one_with_its_state,
    replace_by_another_shape,
    replace_the_list,
    swap_groups,
    clear_and_add_again,
    remove_one,
]


@pytest.mark.parametrize("change", SURGERY)
def test_trains_as_torch_does(change):
    mine, ours = make(sing.AdamW)
    theirs, host = make(torch.optim.AdamW)
    for step in range(2):
        take_step(ours, step)
        take_step(host, step)
    change(mine, ours)
    change(theirs, host)
    before = [each.detach().clone() for each in mine]
    for step in range(2, 5):
        take_step(ours, step)
        take_step(host, step)
    for one, other, old in zip(mine, theirs, before):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)
        is_listed = any(one is each for group in ours.param_groups for each in group["params"])
        assert torch.equal(one, old) != is_listed


def test_a_replaced_parameter_is_freed():
    parameters, optimizer = make(sing.SING)
    take_step(optimizer, 0)
    old = parameters[0]
    replace_one(parameters, optimizer)
    del optimizer.state[old]
    take_step(optimizer, 1)
    assert not any(each is old for each in optimizer._library.parameters)


@pytest.mark.parametrize("change", [replace_one_with_its_state, lambda parameters, optimizer: optimizer.state.clear()])
def test_counters_survive(change):
    """The counts of skipped tensors and LookAhead's steps belong to the optimizer, not to the replaced parameter."""
    parameters, optimizer = make(sing.SING)
    for step in range(3):
        take_step(optimizer, step)
    parameters[1].grad = torch.full((5,), float("nan"))
    optimizer.step()
    assert optimizer.status() == {"skipped_steps": 0, "skipped_tensors": 1}
    change(parameters, optimizer)
    assert optimizer.status() == {"skipped_steps": 0, "skipped_tensors": 1}
    take_step(optimizer, 4)
    assert optimizer.state_dict()["param_groups"][0]["lookahead_step"] == 5


def test_lookahead_merges_on_time_with_any_memory():
    """A copy in the middle of a LookAhead period continues like the original, also for parameters with gaps in memory."""
    first = torch.nn.Parameter(torch.randn(3, 4))
    second = torch.nn.Parameter(torch.randn(6, 8)[::2, ::2])
    optimizer = sing.SING([{"params": [first]}, {"params": [second], "lookahead_period": 3}], lr=0.1)
    for step in range(4):
        take_step(optimizer, step)
    twin = copy.deepcopy(optimizer)
    for step in range(4, 11):
        take_step(optimizer, step)
        take_step(twin, step)
    for group, other in zip(optimizer.param_groups, twin.param_groups):
        assert torch.equal(group["params"][0], other["params"][0])


def test_a_new_group_counts_its_own_steps_even_over_the_same_parameters():
    parameters, optimizer = make(sing.SING)
    take_step(optimizer, 0)
    take_step(optimizer, 1)
    optimizer.param_groups[1]["params"] = []
    optimizer.add_param_group({"params": parameters[2:], "lr": 0.001})
    del optimizer.param_groups[1]
    take_step(optimizer, 2)
    assert [group["lookahead_step"] for group in optimizer.state_dict()["param_groups"]] == [3, 1]
    assert [int(optimizer.state[each]["step"]) for each in parameters] == [3, 3, 3, 3]
