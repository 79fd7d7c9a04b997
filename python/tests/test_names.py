"""Tests that a name means the same in Python and in the program, and that every public name is documented."""

import inspect
import json
import subprocess

import pytest
import torch
from conftest import BUILD

import sing
from sing.optimizer import HostedOptimizer

# The values of the paper's tuning on RDE, which the program takes as defaults and the package does not.
TUNED = {
    "adamw": {"learning_rate": 1e-3, "weight_decay": 5e-2},
    "sgd": {"learning_rate": 5e-1, "weight_decay": 5e-5, "momentum": 0.9},
    "adabelief": {"learning_rate": 1e-3, "weight_decay": 5e-4},
    "adafactor": {"learning_rate": 1e-2, "weight_decay": 5e-4},
    "sing-adamw": {"learning_rate": 5e-2, "weight_decay": 5e-2},
    "sing-sgd": {"learning_rate": 5e-1, "weight_decay": 5e-3, "momentum": 0.9},
    "sing-adabelief": {"learning_rate": 5e-2, "weight_decay": 5e-2},
    "sing-adafactor": {"learning_rate": 1e-2, "weight_decay": 5e-4},
}


def public_classes():
    """Returns the optimizer classes of the package by name, without their bases."""
    found = {name: getattr(sing, name) for name in sing.__all__}
    bases = (sing.Optimizer, HostedOptimizer)
    return {name: each for name, each in found.items() if inspect.isclass(each) and issubclass(each, bases) and each not in bases}


@pytest.fixture(scope="module")
def program():
    path = BUILD / "bin" / "optimizer_names"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return json.loads(subprocess.run([str(path)], check=True, capture_output=True, text=True).stdout)


def options_of(optimizer):
    """Returns the options under which the library steps, by the names of the library."""
    return {key: value for key, value in optimizer._ready_library().options_of(0).items() if key != "rule"}


def one_parameter():
    return [torch.nn.Parameter(torch.ones(2, 3))]


def python_optimizers(rules):
    """Yields the program's name of every optimizer that the package has, and the optimizer."""
    by_letters = {rule.replace("_", ""): rule for rule in rules}
    for name, cls in public_classes().items():
        if issubclass(cls, HostedOptimizer):
            for rule in rules:
                yield f"{name.lower()}-{rule}", cls(one_parameter(), host=rule)
        else:
            rule = by_letters[name.lower()]
            yield rule, cls(one_parameter())
            yield f"gc-{rule}", cls(one_parameter(), centralize=True)


def test_python_and_program_have_the_same_optimizers(program):
    rules = [name for name in program if "-" not in name]
    names = [name for name, _ in python_optimizers(rules)]
    assert sorted(names) == sorted(program)
    assert len(names) == 4 * len(rules)


def test_a_name_means_the_same_options(program):
    rules = [name for name in program if "-" not in name]
    for name, optimizer in python_optimizers(rules):
        wanted = dict(program[name])
        assert optimizer._schema.rule == wanted.pop("rule")
        found = options_of(optimizer)
        if "base_learning_rate" in wanted:  # none stands for the learning rate, which a scheduler may change
            assert wanted.pop("base_learning_rate") is None
            assert found.pop("base_learning_rate") == found["learning_rate"]
        plain = name.removeprefix("gc-").removeprefix("plugsing-")
        for option, value in TUNED.get(plain, {}).items():
            assert wanted.pop(option) == value, (name, option)
            del found[option]
        assert found == wanted, name


def test_plain_names_use_gradients_as_they_are():
    for name, cls in public_classes().items():
        group = cls(one_parameter()).param_groups[0]
        is_plain = (group["centralize"], group["normalize"], group["lookahead"], group["decay_vectors"]) == (False, "off", False, True)
        assert is_plain == ("SING" not in name), name


def test_sing_and_plug_sing_are_what_they_are_called():
    sing_group, plugged = (cls(one_parameter()).param_groups[0] for cls in (sing.SING, sing.PlugSING))
    parts = ("centralize", "normalize", "lookahead", "softplus_beta", "lr", "weight_decay", "decay_vectors")
    assert [sing_group[key] for key in parts] == [True, "unit_norm", True, 50.0, 5e-3, 0.0, False]
    assert [plugged[key] for key in parts] == [False, "unit_norm", False, None, 1e-3, 1e-2, True]


def test_plug_sing_is_the_host_on_gradients_of_unit_norm():
    start, gradient = torch.randn(4, 3), torch.randn(4, 3)
    plugged, plain = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    first, second = sing.PlugSING([plugged], host="nadam", weight_decay=0.1), sing.NAdam([plain], weight_decay=0.1)
    for _ in range(6):
        plugged.grad, plain.grad = gradient.clone(), gradient / gradient.norm()
        first.step()
        second.step()
    assert torch.allclose(plugged, plain, rtol=1e-6)
    assert not torch.allclose(plain, start, rtol=1e-4)


def test_the_host_and_its_options_are_checked():
    weight = one_parameter()
    with pytest.raises(ValueError, match=r"\[sing.SING\] wanted host as one of 'adamw', .*, got 'lin'; did you mean 'lion'\?"):
        sing.SING(weight, host="lin")
    with pytest.raises(ValueError, match=r"got 'adam'; did you mean 'adamw'\?"):  # 'sadam' is as near, but later in the list
        sing.SING(weight, host="adam")
    with pytest.raises(ValueError, match=r"\[sing.PlugSING\] wanted host as one of .*, got 'gradient'"):
        sing.PlugSING(weight, host="gradient")
    with pytest.raises(TypeError, match=r"\[sing.SING\] wanted host as the name of a rule, got <class"):
        sing.SING(weight, host=torch.optim.SGD)
    with pytest.raises(TypeError, match="got 'betas'"):
        sing.SING(weight, host="sgd", betas=(0.9, 0.99))
    with pytest.raises(TypeError, match="got 'softplus'"):
        sing.PlugSING(weight, softplus=True)
    assert sing.SING(weight, host="sgd", momentum=0.5).param_groups[0]["momentum"] == 0.5
    assert sing.SING(weight, host="adabelief").param_groups[0]["softplus_beta"] == 50.0


def public_functions(cls):
    found = ((name, each) for name, each in vars(cls).items() if not name.startswith("_"))
    return [(f"{cls.__name__}.{name}", each) for name, each in found if inspect.isfunction(each)]


def public_names():
    """Yields (name, class or function)."""
    for name in sing.__all__:
        if callable(getattr(sing, name)):
            yield name, getattr(sing, name)
    for name, each in vars(sing.schedules).items():
        if not name.startswith("_") and getattr(each, "__module__", "") == "sing.schedules":
            yield f"schedules.{name}", each
    for cls in (sing.Optimizer, sing.GradScaler):
        yield from public_functions(cls)
    for name in ("grad_norms", "reset_lookahead"):
        yield f"Attachment.{name}", getattr(sing.Attachment, name)


def test_every_public_name_is_documented():
    """The help of an editor shows what a name takes, what it returns and how it is used."""
    missing = []
    for name, each in public_names():
        text, signature = inspect.getdoc(each) or "", inspect.signature(each)
        takes = [key for key in signature.parameters if key != "self"]
        returns = inspect.isfunction(each) and signature.return_annotation not in (None, "None", inspect.Signature.empty)
        is_method = any(name.startswith(f"{cls}.") for cls in ("Optimizer", "Attachment", "GradScaler"))
        parts = {"Args:": takes and name != "Attachment", "Returns:": returns, "Example:": not is_method and name != "Attachment"}
        missing += [f"{name}: {part}" for part, is_needed in parts.items() if is_needed and part not in text]
    assert not missing
