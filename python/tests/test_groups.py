"""Tests param_groups(): every trainable parameter exactly once, and the right options for each kind."""

import random

import pytest
import torch
from torch import nn

from sing.attach import attach
from sing.groups import param_groups


class Conv1D(nn.Module):
    """Has the shape and the names of GPT-2's linear layer in transformers."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 6))
        self.bias = nn.Parameter(torch.zeros(6))


class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 4))  # rank 2: recognized only by the class


class NormalizedLinear(nn.Linear):
    pass


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.gamma_1 = nn.Parameter(torch.ones(4))
        self.temperature = nn.Parameter(torch.ones(()))
        self.relative_bias = nn.Parameter(torch.ones(2, 3))


def make_model():
    model = nn.ModuleDict(
        {
            "embedding": nn.Embedding(5, 4),
            "block": Block(),
            "conv": nn.Conv2d(4, 3, 3),
            "batch": nn.BatchNorm2d(3),
            "up": nn.ConvTranspose2d(3, 2, 2),
            "up_depthwise": nn.ConvTranspose2d(3, 3, 2, groups=3),
            "old": Conv1D(),
            "rms": LlamaRMSNorm(),
            "cosine": NormalizedLinear(4, 4),
            "narrow": nn.Linear(1, 8),
            "head": nn.Linear(4, 5, bias=False),
        }
    )
    model["head"].weight = model["embedding"].weight
    return model


def by_name(groups):
    return {name: group for group in groups for name in group["param_names"]}


def check_partition(model, groups):
    """Checks that each trainable parameter appears once, under a name that it has in the model."""
    names = {id(parameter): set() for parameter in model.parameters()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[id(parameter)].add(name)
    listed = [parameter for group in groups for parameter in group["params"]]
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert sorted(map(id, listed)) == sorted(map(id, trainable))
    for group in groups:
        assert len(group["params"]) == len(group["param_names"]) > 0
        assert all(name in names[id(parameter)] for name, parameter in zip(group["param_names"], group["params"]))
    assert len({group["name"] for group in groups}) == len(groups)


def test_decay_goes_to_matrices_that_are_no_bias_and_no_norm():
    model = make_model()
    groups = param_groups(model, 0.1)
    check_partition(model, groups)
    decayed = {name for name, group in by_name(groups).items() if group["weight_decay"] == 0.1}
    wanted = "embedding block.linear conv up up_depthwise old cosine narrow"
    assert decayed == {f"{name}.weight" for name in wanted.split()}
    assert all(group["weight_decay"] in (0.0, 0.1) for group in groups)


def test_rows_of_one_element_are_not_centralized():
    groups = by_name(param_groups(make_model()))
    assert {name for name, group in groups.items() if group.get("centralize") is False} == {"narrow.weight"}
    assert not any("centralize_axis" in group for group in groups.values())


def test_transposed_modules_are_centralized_over_outputs_if_asked():
    groups = by_name(param_groups(make_model(), output_rows=True))
    assert {name: group["centralize_axis"] for name, group in groups.items() if "centralize_axis" in group} == {
        "up.weight": 1,
        "old.weight": 1,
    }


def test_freeze_norms_freezes_norms_and_layer_scales_only():
    model = make_model()
    groups = param_groups(model, freeze_norms=True)
    check_partition(model, groups)
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {"block.norm.weight", "block.norm.bias", "block.gamma_1", "batch.weight", "batch.bias", "rms.weight"}
    assert not frozen & set(by_name(groups))


@pytest.mark.parametrize(
    "name, shape, frozen",
    [
        ("gamma", (4,), True),
        ("lambda1", (4,), True),
        ("layer_scale_2", (4,), True),
        ("layer_scale_parameter", (4,), True),
        ("ls1", (4,), True),
        ("gamma", (4, 4), False),
        ("gammas_of_another_kind", (4,), False),
        ("scale", (4,), False),
    ],
)
def test_gains_of_residual_branches_are_known_by_name(name, shape, frozen):
    model = nn.Linear(2, 2)
    model.register_parameter(name, nn.Parameter(torch.zeros(shape)))
    param_groups(model, freeze_norms=True)
    assert model.get_parameter(name).requires_grad != frozen


def test_patterns_and_overrides():
    model = make_model()
    model.no_weight_decay = lambda: {"conv.weight"}
    groups = by_name(
        param_groups(
            model,
            0.1,
            no_decay=("*embedding*",),
            overrides={"block.*": {"lr": 0.5, "normalize": "off"}, "block.linear.*": {"lr": 0.25, "weight_decay": 0.3}},
        )
    )
    assert groups["embedding.weight"]["weight_decay"] == groups["conv.weight"]["weight_decay"] == 0.0
    assert groups["block.norm.weight"]["lr"] == 0.5 and groups["block.norm.weight"]["normalize"] == "off"
    assert groups["block.linear.weight"]["lr"] == 0.25 and groups["block.linear.weight"]["normalize"] == "off"
    assert groups["block.linear.bias"]["weight_decay"] == groups["block.linear.weight"]["weight_decay"] == 0.3
    assert "lr" not in groups["cosine.weight"]


def test_a_tied_weight_matches_under_each_of_its_names():
    model = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)})
    model["head"].weight = model["embedding"].weight
    for name in ["embedding.weight", "head.*"]:
        [group] = param_groups(model, weight_decay=0.1, no_decay=[name], overrides={name: {"lr": 0.5}})
        assert group["param_names"] == ["embedding.weight"]
        assert (group["weight_decay"], group["lr"]) == (0.0, 0.5)


def test_bad_input_changes_nothing():
    model = make_model()
    with pytest.raises(ValueError, match="got 'hed"):
        param_groups(model, freeze_norms=True, no_decay=["hed.*"])
    with pytest.raises(ValueError, match="got 'nothing', which matches none"):
        param_groups(model, freeze_norms=True, overrides={"nothing": {"lr": 1}})
    assert all(parameter.requires_grad for parameter in model.parameters())
    with pytest.raises(ValueError, match="trainable"):
        param_groups(nn.Linear(2, 2).requires_grad_(False))


def random_model(generator, depth=0):
    kinds = [
        lambda: nn.Linear(generator.choice([1, 3]), 2, bias=generator.random() < 0.5),
        lambda: nn.LayerNorm(3),
        lambda: nn.Conv1d(2, 2, 1),
        lambda: nn.ConvTranspose1d(2, 4, 2, groups=generator.choice([1, 2])),
        lambda: nn.GRU(2, 2),
        lambda: nn.MultiheadAttention(4, 2),
        lambda: nn.PReLU(),
        lambda: Block(),
    ]
    model = nn.Sequential(*(generator.choice(kinds)() for _ in range(generator.randint(1, 5))))
    if depth < 2 and generator.random() < 0.7:
        model.append(random_model(generator, depth + 1))
    return model


@pytest.mark.parametrize("seed", range(40))
def test_every_parameter_of_any_model_is_in_one_group(seed):
    generator = random.Random(seed)
    model = random_model(generator)
    holders = [(module, name) for module in model.modules() for name, _ in module.named_parameters(recurse=False)]
    for module, name in generator.sample(holders, k=len(holders) // 4):
        getattr(module, name).requires_grad_(False)
    for module, name in generator.sample(holders, k=len(holders) // 4):
        module.register_parameter(name, getattr(*generator.choice(holders)))  # tied
    if not any(parameter.requires_grad for parameter in model.parameters()):
        pytest.skip("all frozen")
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    options = {
        "weight_decay": 0.1,
        "output_rows": generator.random() < 0.5,
        "no_decay": generator.sample(names, k=len(names) // 3),
        "overrides": {generator.choice(names): {"lr": 0.5}, "*": {"norm_epsilon": 1e-6}},
    }
    groups = param_groups(model, **options)
    check_partition(model, groups)
    for name, group in by_name(groups).items():
        assert group["norm_epsilon"] == 1e-6
        if model.get_parameter(name).dim() < 2 or name in options["no_decay"]:
            assert group["weight_decay"] == 0
    optimizer = attach(torch.optim.SGD(groups, lr=0.1))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


def test_a_model_with_no_weight_decay_of_its_own_and_frozen_norms_trains():
    model = make_model()
    optimizer = attach(torch.optim.AdamW(param_groups(model, 0.1, freeze_norms=True)))
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer.step()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) != parameter.requires_grad, name
    saved = optimizer.state_dict()["param_groups"]
    assert all({"name", "param_names"} <= set(group) for group in saved)


@pytest.mark.parametrize(
    ("model", "decay", "message"),
    [([torch.ones(2)], 0.1, "wanted a torch.nn.Module, .*got list"), (nn.Linear(2, 2), "x", "wanted weight_decay as a number")],
)
def test_bad_input_is_named(model, decay, message):
    with pytest.raises(TypeError, match=message):
        param_groups(model, decay)
