"""Tests that bad input raises an error that names the parameter or the option and leaves the weights unchanged."""

import os
import re
import subprocess
import sys

import pytest
import torch

import sing


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lr": -1.0}, ValueError, r"wanted lr as a number of at least 0, got -1"),
        ({"lr": float("nan")}, ValueError, "wanted lr as a number of at least 0, got nan"),
        ({"lr": "fast"}, TypeError, "wanted lr as a number of at least 0, got 'fast'"),
        ({"lr": torch.ones(2)}, TypeError, "wanted lr as a number of at least 0, got a tensor"),
        ({"betas": (0.9, 1.0)}, ValueError, r"wanted betas\[1\] as a number in \[0, 1\), got 1.0"),
        ({"betas": 0.9}, ValueError, "wanted betas as two numbers, got 0.9"),
        ({"weight_decay": -0.1}, ValueError, "weight_decay"),
        ({"eps": -1e-8}, ValueError, "eps"),
        ({"normalize": "unit"}, ValueError, "wanted normalize as one of 'off', 'unit_norm'"),
        ({"lookahead_period": 0}, ValueError, "wanted lookahead_period as a whole number of at least 1, got 0"),
        ({"la_alpha": 2.0}, ValueError, "lookahead_alpha"),
        ({"weight_decy": 0.1}, TypeError, r"wanted an option, got 'weight_decy'; did you mean 'weight_decay'\?"),
        ({"quickly": True}, TypeError, "wanted one of beta1, .*, got 'quickly'"),
        ({"lr": 1.0, "learning_rate": 2.0}, TypeError, "wanted lr once, got it as 'lr' and as 'learning_rate'"),
        ({"betas": (0.5, 0.5), "beta1": 0.9}, TypeError, "wanted betas once, got it as 'betas' and as 'beta1'"),
        ({"lookahead": 5}, TypeError, "wanted lookahead as True, False or a sing.Lookahead, got 5"),
        ({"momentum": 0.9}, TypeError, "got 'momentum'"),
        ({"differentiable": True}, ValueError, "differentiable"),
        ({"non_finite": "ignore"}, ValueError, "wanted non_finite as one of"),
    ],
)
def test_options(options, error, message):
    weight = torch.nn.Parameter(torch.ones(2, 2))
    with pytest.raises(error, match=message):
        sing.SING([weight], **options)


def test_sgd_does_not_take_the_authors_names():
    with pytest.raises(TypeError, match="got 'softplus'"):
        sing.SGD([torch.nn.Parameter(torch.ones(2))], softplus=True)
    with pytest.raises(ValueError, match="wanted a momentum above 0 with nesterov, got 0"):
        sing.SGD([torch.nn.Parameter(torch.ones(2))], nesterov=True)


def test_group_options():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    with pytest.raises(TypeError, match="'weight_decy'.*'weight_decay'"):
        sing.SING([{"params": [weight], "weight_decy": 0.1}])
    with pytest.raises(ValueError, match="lr"):
        sing.SING([{"params": [weight], "lr": -1}])
    optimizer = sing.SING([{"params": [weight], "lr_scale": 0.5}])
    with pytest.raises(ValueError, match="wanted one non_finite for the whole optimizer, 'skip_tensor', got 'throw'"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "non_finite": "throw"})
    assert len(optimizer.param_groups) == 1


def flattened(mark):
    """A parameter with the mark of FSDP1's flat parameters, of its views of them (use_orig_params=True), or of ZeRO stage 3."""
    parameter = torch.nn.Parameter(torch.ones(4))
    setattr(parameter, mark, True)
    return parameter


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.complex64)), TypeError, "'bad': wanted one of torch.float32"),
        (lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False), TypeError, "'bad': wanted one of torch.float32"),
        (lambda: torch.nn.Parameter(torch.ones(2, 2).to_sparse()), TypeError, "'bad': wanted a dense tensor"),
        (lambda: torch.nn.Parameter(torch.ones(3, 1).expand(3, 4)), ValueError, "'bad': wanted memory of its own for each element"),
        (lambda: torch.nn.Parameter(torch.ones(2, 2, device="meta")), TypeError, "'bad': wanted memory"),
        (lambda: torch.nn.LazyLinear(2).weight, TypeError, "'bad': wanted a parameter with a shape, got that of a lazy module"),
        (lambda: flattened("_is_flat_param"), TypeError, "'bad': wanted a tensor or a DTensor, got a piece of .*fully_shard"),
        (lambda: flattened("_fsdp_flattened"), TypeError, "'bad': wanted a tensor or a DTensor, got a piece of .*fully_shard"),
        (lambda: flattened("ds_tensor"), TypeError, "'bad': wanted a tensor or a DTensor, got a piece of .*fully_shard"),
    ],
)
def test_parameters(make, error, message):
    good = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(error, match=message):
        sing.SING([("good", good), ("bad", make())])
    optimizer = sing.SING([("good", good)])
    with pytest.raises(error, match=message):
        optimizer.add_param_group({"params": [("bad", make())]})
    assert len(optimizer.param_groups) == 1


def test_distributed_tensors():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Partial, Shard, distribute_tensor

        mesh = init_device_mesh("cpu", (1,))
        shard = torch.nn.Parameter(distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)]))
        plain = torch.nn.Parameter(torch.ones(4, 2))
        partial = torch.nn.Parameter(DTensor.from_local(torch.ones(4, 2), mesh, [Partial()], run_check=False))
        with pytest.raises(TypeError, match=r"parameter '0': wanted placements Shard and Replicate, got Partial"):
            sing.SING([partial])
        optimizer = sing.SING([shard])
        with pytest.raises(TypeError, match="wanted whole tensors for save.*torch.distributed.checkpoint"):
            optimizer.save("state")
        gradient = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
        with pytest.raises(TypeError, match="wanted a plain tensor, as its parameter is, got a DTensor"):
            sing.sharding.placed_as(plain, gradient, "gradient")
        with pytest.raises(TypeError, match="wanted a DTensor, as its parameter is, got a plain tensor"):
            sing.sharding.placed_as(shard, torch.ones(4, 2), "gradient")
    finally:
        torch.distributed.destroy_process_group()


def wrong_shape(weight):
    weight.data = torch.ones(3, 2)
    weight.grad = torch.ones(3, 2)


def wrong_shape_same_memory(weight):
    weight.data = weight.data.view(4)
    weight.grad = torch.ones(4)


def sparse(weight):
    weight.grad = torch.ones(2, 2).to_sparse()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (wrong_shape, "'weight'.*shape"),
        (wrong_shape_same_memory, r"'weight'.*wanted shape \[2, 2\], got \[4\]"),
        (sparse, "'weight'.*sparse"),
    ],
)
def test_gradients(spoil, message):
    """The other parameter has a good gradient, but must not move either."""
    other, weight = torch.nn.Parameter(torch.ones(5)), torch.nn.Parameter(torch.ones(2, 2))
    optimizer = sing.SING([("other", other), ("weight", weight)])
    for each in (other, weight):
        each.grad = torch.randn_like(each)
    optimizer.step()
    before = other.detach().clone()
    spoil(weight)
    with pytest.raises(ValueError, match=message):
        optimizer.step()
    assert torch.equal(other, before)
    assert int(optimizer.state[other]["step"]) == 1


def test_axis_beyond_the_rank():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    weight.grad = torch.ones(2, 2)
    optimizer = sing.SING([("weight", weight)], centralize_axis=2)
    with pytest.raises(ValueError, match="weight.*centralize_axis below its rank 2"):
        optimizer.step()


def test_shared_memory_of_two_parameters():
    memory = torch.ones(6)
    first, second = torch.nn.Parameter(memory[:4]), torch.nn.Parameter(memory[2:])
    first.grad, second.grad = torch.ones(4), torch.ones(4)
    with pytest.raises(ValueError, match="share memory"):
        sing.SING([("first", first), ("second", second)]).step()
    assert torch.equal(memory, torch.ones(6))


def test_empty_list():
    with pytest.raises(ValueError, match="empty parameter list"):
        sing.SING([])
    empty = torch.nn.Parameter(torch.ones(0, 3))
    empty.grad = torch.ones(0, 3)
    sing.SING([empty]).step()


def test_a_refused_change_changes_nothing():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    optimizer = sing.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = torch.eye(2)
    optimizer.step()
    group = optimizer.param_groups[0]
    group.update(lr=5.0, momentum=0.0)
    with pytest.raises((ValueError, RuntimeError), match="drop 'momentum'"):
        optimizer.step()
    group.update(lr=0.1, momentum=0.9)
    before = weight.detach().clone()
    optimizer.step()
    assert 0 < (weight - before).abs().max() < 1


def test_an_option_set_before_the_first_step_is_checked():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    optimizer = sing.SING([weight], lookahead=False)
    weight.grad = torch.eye(2)
    optimizer.param_groups[0]["lookahead_period"] = 0
    with pytest.raises(ValueError, match="wanted lookahead_period as a whole number of at least 1, got 0"):
        optimizer.step()
    assert torch.equal(weight, torch.ones(2, 2))


def test_muon_takes_nesterov_without_momentum():
    weight = torch.nn.Parameter(torch.eye(2))
    sing.Muon([weight], momentum=0.0)
    with pytest.raises(ValueError, match="wanted a momentum above 0 with nesterov, got 0"):
        sing.SGD([weight], nesterov=True, momentum=0.0)


def error_without_operators(program, place):
    """Returns what a program prints that ends with an error where SING_OPERATORS is this."""
    environment = {**os.environ, "SING_OPERATORS": str(place)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    return done.stderr


def test_missing_operators_are_an_error_that_says_where_they_were_looked_for():
    program = "import torch, sing\nassert not sing.has_kernels('cpu')\nsing.SING([torch.nn.Parameter(torch.ones(2))])"
    wanted = r"RuntimeError: \[sing.SING\] wanted the compiled operators, found none at the empty path .*; build them with"
    assert re.search(wanted, error_without_operators(program, ""))


def test_an_operators_file_that_is_named_and_wrong_is_an_error(tmp_path):
    program = "import sing\nsing.has_kernels('cpu')"
    error = error_without_operators(program, "/nowhere/operators.so")
    assert "RuntimeError: [SING_OPERATORS] wanted the compiled operators, found none at /nowhere/operators.so" in error
    broken = tmp_path / "operators.so"
    broken.write_text("not a library")
    assert f"RuntimeError: [SING_OPERATORS] wanted the compiled operators, could not load {broken}: " in error_without_operators(program, broken)
