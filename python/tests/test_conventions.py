"""Tests what torch's users and frameworks expect of an optimizer."""

import copy
import inspect

import pytest
import torch
from conftest import same_weights, small_model, train
from torch.optim import lr_scheduler

import sing
from sing.rules import CLASSES


def one(**options):
    weight = torch.nn.Parameter(torch.randn(4, 3))
    weight.grad = torch.randn(4, 3)
    return weight, sing.SING([weight], **options)


def test_is_a_torch_optimizer():
    _, optimizer = one()
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert isinstance(optimizer, sing.Optimizer)
    assert "zero_grad" in dir(optimizer)
    assert "set_to_none" in inspect.signature(optimizer.zero_grad).parameters
    assert "Parameter Group 0" in repr(optimizer)


def test_every_rule_has_a_class():
    assert list(CLASSES)[:5] == ["SING", "PlugSING", "AdamW", "SGD", "AdaBelief"]
    assert {"NAdam", "Yogi", "RAdam", "AdaBound", "AdaMod", "EAdam", "SAdam", "Lion"} <= set(CLASSES)
    assert {"Lamb", "NVLamb", "Lars", "AdaNorm", "ScheduleFreeAdamW", "Muon", "AdaHessian"} <= set(CLASSES)
    for name, cls in CLASSES.items():
        assert getattr(sing, name) is cls
        assert "weight_decay: " in cls.__doc__
        assert list(inspect.signature(cls).parameters)[:2] == ["params", "lr"]


def test_gradients_are_left_alone():
    weight, optimizer = one()
    gradient, copied = weight.grad, weight.grad.clone()
    optimizer.step()
    assert weight.grad is gradient
    assert torch.equal(gradient, copied)


def test_closure_runs_once_with_gradients_enabled():
    model = small_model()
    optimizer = sing.SING(model.parameters())
    calls = []

    def closure():
        calls.append(torch.is_grad_enabled())
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2, 4, 4)).square().sum()
        loss.backward()
        return loss

    before = copy.deepcopy(model)
    loss = optimizer.step(closure)
    assert calls == [True]
    assert loss.item() == before(torch.ones(1, 2, 4, 4)).square().sum().item()
    assert not same_weights(model, before)


def test_step_hooks():
    weight, optimizer = one()
    order = []
    optimizer.register_step_pre_hook(lambda *_: order.append("before"))
    optimizer.register_step_post_hook(lambda *_: order.append(int(optimizer.state[weight]["step"])))
    optimizer.step()
    assert order == ["before", 1]


def test_groups_keep_the_defaults_and_may_come_later():
    model = small_model()
    weights, rest = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() <= 1]
    optimizer = sing.SING(weights, lr=0.02, la_mergetime=3)
    train(model, optimizer, 2)
    optimizer.add_param_group({"params": rest, "weight_decay": 0.5, "name": "rest"})
    assert optimizer.param_groups[1]["lr"] == 0.02
    assert optimizer.param_groups[1]["lookahead_period"] == 3
    before = rest[0].detach().clone()
    train(model, optimizer, 2, first=2)
    assert not torch.equal(before, rest[0])
    steps = [group["lookahead_step"] for group in optimizer.state_dict()["param_groups"]]
    assert steps == [4, 2]


def test_parameter_listed_twice_is_one():
    weight = torch.nn.Parameter(torch.randn(4, 3))
    optimizer = sing.SING([weight, weight])
    assert len(optimizer.param_groups[0]["params"]) == 1
    tied = torch.nn.Linear(3, 3)
    tied.again = tied.weight
    assert len(sing.SING(list(tied.parameters()) + [tied.again]).param_groups[0]["params"]) == 2


def test_parameters_without_gradient_are_skipped():
    first, second = torch.nn.Parameter(torch.randn(4, 3)), torch.nn.Parameter(torch.randn(3))
    optimizer = sing.SING([first, second])
    before = second.detach().clone()
    first.grad = torch.randn(4, 3)
    optimizer.step()
    assert second not in optimizer.state
    assert torch.equal(second, before)
    second.grad = torch.randn(3)
    optimizer.step()
    assert [int(optimizer.state[each]["step"]) for each in (first, second)] == [2, 1]
    first.grad = None
    optimizer.step()
    assert [int(optimizer.state[each]["step"]) for each in (first, second)] == [2, 2]


SCHEDULERS = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (step + 1)),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
}


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("as_tensor", [False, True])
def test_schedulers_drive_the_rate(name, as_tensor, memory):
    """A tensor rate gives the same result as the same numbers given as floats; so does a rate set by hand."""
    start, gradient = torch.randn(4, 3), torch.randn(4, 3)
    rates, outcomes = [], []
    for way in ("scheduler", "by hand"):
        weight = torch.nn.Parameter(start.clone())
        rate = torch.tensor(0.05) if as_tensor and way == "scheduler" else 0.05
        optimizer = sing.SING([weight], lr=rate)
        scheduler = SCHEDULERS[name](optimizer) if way == "scheduler" else None
        for step in range(8):
            weight.grad = gradient.clone()
            group = optimizer.param_groups[0]
            if scheduler:
                rates.append((float(group["lr"]), group["betas"]))
            else:
                group["lr"], group["betas"] = rates[step]
            optimizer.step()
            if scheduler:
                scheduler.step()
        outcomes.append(weight.detach())
    assert len({rate for rate, _ in rates}) > 3
    assert torch.equal(*outcomes)


def test_tensor_rate_may_become_a_number():
    weight, optimizer = one(lr=torch.tensor(0.5))
    optimizer.step()
    before = weight.detach().clone()
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert torch.equal(weight, before)


def test_other_options_may_change():
    weight, optimizer = one(weight_decay=0.0, lookahead=False, lr=1.0)
    twin, other = one(weight_decay=0.5, lookahead=False, lr=1.0)
    twin.data.copy_(weight)
    twin.grad.copy_(weight.grad)
    optimizer.param_groups[0]["weight_decay"] = 0.5
    optimizer.step()
    other.step()
    assert torch.equal(weight, twin)
    optimizer.param_groups[0]["lookahead"] = True
    with pytest.raises(ValueError, match="would add 'slow' of '0'"):
        optimizer.step()


def test_gradient_norms_by_name():
    model = small_model()
    optimizer = sing.SING(model.named_parameters())
    train(model, optimizer, 1)
    norms = optimizer.grad_norms()
    for name, parameter in model.named_parameters():
        assert norms[name] == pytest.approx(parameter.grad.norm().item(), rel=1e-6)
    unnamed = sing.SING(model.parameters())
    assert list(unnamed.grad_norms()) == [str(i) for i in range(6)]


def test_slow_weights_only_where_asked():
    """accelerate calls train() and eval() without being asked."""
    weight, optimizer = one()
    optimizer.step()
    before = weight.detach().clone()
    optimizer.eval()
    assert torch.equal(weight, before)
    optimizer.train()
    optimizer.step()


def test_slow_weights_for_evaluation(memory):
    start = torch.randn(4, 3)
    weight = torch.nn.Parameter(start.clone())
    optimizer = sing.SING([weight], slow_weights_for_evaluation=True)
    optimizer.eval()
    optimizer.train()
    weight.grad = torch.randn(4, 3)
    for _ in range(3):
        optimizer.step()
    fast = weight.detach().clone()
    optimizer.eval()
    optimizer.eval()
    assert torch.equal(weight, start)
    for refused in (optimizer.step, optimizer.state_dict, lambda: copy.deepcopy(optimizer), lambda: optimizer.save("never")):
        with pytest.raises(RuntimeError, match=r"wanted train\(\) before"):
            refused()
    optimizer.train()
    assert torch.equal(weight, fast)
    assert copy.deepcopy(optimizer).slow_weights_for_evaluation
    optimizer.step()


def test_compiled_loop_does_not_recompile():
    from torch._dynamo.testing import CompileCounter

    model = small_model()
    optimizer = sing.SING(model.parameters())
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 10)
    counter = CompileCounter()

    @torch.compile(backend=counter)
    def loop(images):
        optimizer.zero_grad()
        model(images).square().sum().backward()
        optimizer.step()

    counts = []
    for _ in range(8):
        loop(torch.randn(3, 2, 4, 4))
        scheduler.step()
        counts.append(counter.frame_count)
    assert counts[-1] == counts[1] <= counts[0] + 1, counts
    assert int(optimizer.state[next(model.parameters())]["step"]) == 8


def test_two_optimizers_do_not_interfere():
    model = small_model()
    first = sing.SING([p for p in model.parameters() if p.dim() > 1])
    second = sing.SGD([p for p in model.parameters() if p.dim() <= 1], momentum=0.9)
    for _ in range(3):
        model(torch.ones(1, 2, 4, 4)).square().sum().backward()
        first.step()
        second.step()
    assert {key for state in second.state.values() for key in state} == {"step", "momentum_buffer"}
