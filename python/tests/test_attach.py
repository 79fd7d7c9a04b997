"""Tests attach(): each torch optimizer against a hand-written loop, and hooks, closures, scalers and checkpoints."""

import copy
import io
import math
import pickle

import pytest
import torch
from conftest import standardized

import sing
from sing.attach import attach, attachment, detach
from sing.option_sets import Lookahead, Standardize

SHAPES = [(4, 6), (5,), (3, 2, 2, 3), (1,)]

HOSTS = {
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.05),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "AdamW, amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=False),
    "AdamW, fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "AdamW, tensor lr": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01)),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.05),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.9),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "SGD, maximize": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, maximize=True),
}


def make_parameters(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def set_gradients(parameters, step, scale=1.0):
    generator = torch.Generator().manual_seed(100 + step)
    for parameter in parameters:
        parameter.grad = (torch.randn(parameter.shape, generator=generator) * scale).to(parameter.dtype)


def run(optimizer, parameters, steps):
    for step in steps:
        set_gradients(parameters, step)
        optimizer.step()


def values(parameters):
    return [parameter.detach().clone() for parameter in parameters]


def equal(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other))


def by_hand(host, parameters, steps, options=Standardize(), period=5, alpha=0.5):
    """Trains with the loop that a user would write without attach()."""
    slow = None
    for step in steps:
        set_gradients(parameters, step)
        gradients = [parameter.grad for parameter in parameters]
        results = standardized(gradients, options)
        for parameter, result in zip(parameters, results):
            parameter.grad = result.gradient
        slow = slow or [parameter.detach().clone() for parameter in parameters]
        host.step()
        if (step + 1) % period == 0:
            with torch.no_grad():
                for parameter, kept in zip(parameters, slow):
                    kept.mul_(1 - alpha).add_(parameter, alpha=alpha)
                    parameter.copy_(kept)


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_takes_the_steps_of_a_loop_by_hand(name):
    mine, theirs, plain = make_parameters(), make_parameters(), make_parameters()
    optimizer = attach(HOSTS[name](mine))
    for step in range(7):
        set_gradients(mine, step)
        before = [(each.grad, each.grad.clone()) for each in mine]
        optimizer.step()
        assert all(each.grad is kept and torch.equal(kept, bits) for each, (kept, bits) in zip(mine, before))
    by_hand(HOSTS[name](theirs), theirs, range(7))
    run(HOSTS[name](plain), plain, range(7))
    assert equal(mine, theirs)
    assert not torch.equal(mine[0], plain[0])


@pytest.mark.parametrize("name", HOSTS)
def test_resuming_in_the_middle_of_a_period_is_exact(name):
    whole, first = make_parameters(), make_parameters()
    run(attach(HOSTS[name](whole)), whole, range(13))
    optimizer = attach(HOSTS[name](first))
    run(optimizer, first, range(7))
    file = io.BytesIO()
    torch.save({"parameters": values(first), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    second = make_parameters()
    with torch.no_grad():
        for parameter, value in zip(second, saved["parameters"]):
            parameter.copy_(value)
    resumed = attach(HOSTS[name](second), lookahead=Lookahead(period=3))  # the saved value wins, as with torch's own options
    resumed.load_state_dict(saved["optimizer"])
    assert resumed.param_groups[0]["lookahead_step"] == 7
    run(resumed, second, range(7, 13))
    assert equal(whole, second)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("normalize", ["unit_norm", "size_calibrated"])
def test_an_attached_adamw_is_sing_without_softplus(normalize, dtype):
    """Gradients are ±[1, 1.5] with alternating signs, so that after centering no element is below 3/7 of the largest.

    In units of u = eps / 2: each side's standardized gradient is off by at most 8 + log2(36) < 14 relative to its largest element
    (see test_standardize.py), so the two differ by 28. Moments are means of such values, and √v̂ is at least 3/7 of the largest, so
    m̂/√v̂ differs by 2 · 28 · 7/3 < 131; the other operations add 16 per side. A step multiplies that by the learning rate and
    rounds the weight, below 4 in size, three times per side (decay, update, merge). LookAhead's merge is a mean and adds no more.
    """
    rate, steps, unit = 0.01, 13, torch.finfo(dtype).eps / 2
    bound = steps * (rate * (131 + 16) + 2 * 3 * 4) * unit
    assert bound < 1e-2 * rate  # a hundredth of a single step is detected
    mine, theirs = make_parameters(dtype), make_parameters(dtype)
    decay = [{"params": lambda p: p[::2], "weight_decay": 0.1}, {"params": lambda p: p[1::2], "weight_decay": 0.0}]
    groups = [[{**group, "params": group["params"](each)} for group in decay] for each in (mine, theirs)]
    attached = attach(torch.optim.AdamW(groups[0], lr=rate), normalize=normalize)
    own = sing.SING(groups[1], lr=rate, softplus=False, normalize=normalize)
    start = values(mine)
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        for one, other in zip(mine, theirs):
            signs = (1 - 2 * (torch.arange(one.numel()) % 2)) * (1 - 2 * (step % 3 % 2))
            one.grad = ((1 + torch.rand(one.numel(), generator=generator) / 2) * signs).reshape(one.shape).to(dtype)
            other.grad = one.grad.clone()
        attached.step()
        own.step()
        for one, other in zip(mine, theirs):
            assert (one - other).abs().max().item() <= bound
    assert all((one - before).abs().max() > rate for one, before in zip(mine, start))
    counters = [each.state_dict()["param_groups"][0]["lookahead_step"] for each in (attached, own)]
    assert counters == [steps, steps]


def test_slow_weights_enter_after_the_first_step_and_hold_what_was_before_it():
    parameters = make_parameters()
    start = values(parameters)
    optimizer = attach(torch.optim.Adam(parameters))
    assert len(optimizer.state) == 0
    run(optimizer, parameters[:1], range(1))
    assert set(optimizer.state[parameters[0]]) == {"step", "exp_avg", "exp_avg_sq", "slow"}
    assert torch.equal(optimizer.state[parameters[0]]["slow"], start[0])
    assert parameters[1] not in optimizer.state


def test_a_parameter_without_gradient_at_the_merge_is_not_merged():
    parameters = make_parameters()
    optimizer = attach(torch.optim.SGD(parameters, lr=0.1), lookahead=Lookahead(period=2, alpha=0.25))
    set_gradients(parameters, 0)
    start = values(parameters)
    optimizer.step()
    parameters[1].grad = None
    before = values(parameters)
    slow = optimizer.state[parameters[1]]["slow"].clone()
    optimizer.step()
    assert torch.equal(parameters[1], before[1]) and torch.equal(optimizer.state[parameters[1]]["slow"], slow)
    assert torch.equal(parameters[0], optimizer.state[parameters[0]]["slow"])
    gradient = standardized([parameters[0].grad], Standardize())[0].gradient
    wanted = 0.75 * start[0] + 0.25 * (before[0] - 0.1 * gradient)
    assert torch.allclose(parameters[0], wanted, rtol=0, atol=4e-7)
    for parameter in parameters:
        parameter.grad = None
    optimizer.step()
    assert optimizer.param_groups[0]["lookahead_step"] == 3


def quadratic(parameters, optimizer, set_to_none):
    def closure():
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = sum(((parameter - 1) ** 2).sum() for parameter in parameters)
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("keyword", [True, False])
def test_a_closure_is_standardized_after_its_evaluation(keyword, set_to_none):
    mine, theirs = make_parameters(), make_parameters()
    one, other = attach(torch.optim.AdamW(mine)), attach(torch.optim.AdamW(theirs))
    for _ in range(6):
        closure = quadratic(mine, one, set_to_none)
        loss = one.step(closure=closure) if keyword else one.step(closure)
        want = quadratic(theirs, other, True)()
        other.step()
        assert torch.equal(loss, want)
        assert equal(mine, theirs)
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(mine, theirs))


class ExtraGradient(torch.optim.SGD):
    """Evaluates its closure twice per step: at the weights, and after a plain step from them."""

    @torch.no_grad()
    def step(self, closure):
        loss = torch.enable_grad()(closure)()
        start = [parameter.clone() for parameter in self.param_groups[0]["params"]]
        torch.optim.SGD.step(self)
        torch.enable_grad()(closure)()
        for parameter, value in zip(self.param_groups[0]["params"], start):
            parameter.copy_(value)
        torch.optim.SGD.step(self)
        return loss


def test_each_evaluation_of_a_closure_is_standardized_and_nested_steps_are_one():
    HOSTS["SGD"](make_parameters())  # torch hooks SGD.step once an SGD exists: the inner steps then have hooks too
    mine, theirs = make_parameters(), make_parameters()
    optimizer = attach(ExtraGradient(mine, lr=0.1), lookahead=Lookahead(period=2))
    host = torch.optim.SGD(theirs, lr=0.1)
    left = []

    def closure():
        assert not left or equal([parameter.grad for parameter in mine], left[-1])  # unchanged since the last call
        loss = quadratic(mine, optimizer, False)()
        left.append(values(parameter.grad for parameter in mine))
        return loss

    for step in range(4):
        optimizer.step(closure)
        assert optimizer.param_groups[0]["lookahead_step"] == step + 1
        assert len(left) == 2 * (step + 1)
        if step % 2 == 0:
            slow = values(theirs)
        start = values(theirs)
        for _ in range(2):
            quadratic(theirs, host, True)()
            at = values(theirs)
            results = standardized([each.grad for each in theirs], Standardize())
            with torch.no_grad():
                for parameter, value, result in zip(theirs, start, results):
                    parameter.copy_(value)
                    parameter.grad = result.gradient
            host.step()
        assert not equal(at, start)
        if step % 2 == 1:
            with torch.no_grad():
                for parameter, kept in zip(theirs, slow):
                    parameter.copy_(kept.mul_(0.5).add_(parameter, alpha=0.5))
        assert equal(mine, theirs)


def test_a_subclass_that_calls_its_base_steps_once():
    class Wrapped(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    HOSTS["SGD"](make_parameters())
    mine, theirs = make_parameters(), make_parameters()
    optimizer = attach(Wrapped(mine, lr=0.05))
    run(optimizer, mine, range(7))
    by_hand(torch.optim.SGD(theirs, lr=0.05), theirs, range(7))
    assert equal(mine, theirs)
    assert optimizer.param_groups[0]["lookahead_step"] == 7


def test_a_closure_that_the_host_ignores_is_an_error():
    class Ignorant(torch.optim.SGD):
        def step(self, closure=None):
            super().step()

    parameters = make_parameters()
    optimizer = attach(Ignorant(parameters))
    with pytest.raises(RuntimeError, match="wanted a host that calls its closure, got Ignorant"):
        optimizer.step(lambda: torch.tensor(0.0))


def test_gradients_come_back_when_closure_or_host_raise():
    class Broken(torch.optim.SGD):
        broken = True

        def step(self, closure=None):
            if self.broken:
                raise MemoryError
            return super().step(closure)

    parameters, twin = make_parameters(), make_parameters()
    optimizer = attach(Broken(parameters, lr=0.1))
    set_gradients(parameters, 0)
    kept = [parameter.grad for parameter in parameters]
    with pytest.raises(MemoryError):
        optimizer.step()
    Broken.broken = False
    optimizer.step()
    assert all(parameter.grad is gradient for parameter, gradient in zip(parameters, kept))
    by_hand(torch.optim.SGD(twin, lr=0.1), twin, range(1))
    assert equal(parameters, twin)

    Broken.broken = True
    with pytest.raises(MemoryError):
        optimizer.step()
    optimizer.zero_grad(set_to_none=False)  # in place, in the tensors that the host has seen
    for parameter in parameters:
        parameter.grad.add_(2.0 + torch.arange(parameter.numel()).reshape(parameter.shape))
    given = values(parameter.grad for parameter in parameters)
    Broken.broken = False
    optimizer.step()
    assert equal([parameter.grad for parameter in parameters], given)

    def raising():
        raise KeyError

    with pytest.raises(KeyError):
        optimizer.step(raising)
    assert equal([parameter.grad for parameter in parameters], given)


def test_bfloat16_parameters_keep_float32_slow_weights_through_a_checkpoint():
    whole, first, second = (make_parameters(torch.bfloat16) for _ in range(3))
    run(attach(torch.optim.SGD(whole, lr=0.3)), whole, range(13))
    optimizer = attach(torch.optim.SGD(first, lr=0.3))
    run(optimizer, first, range(7))
    slow = optimizer.state[first[0]]["slow"]
    assert slow.dtype == torch.float32 and not torch.equal(slow.bfloat16().float(), slow)
    saved = optimizer.state_dict()
    with torch.no_grad():
        for parameter, value in zip(second, first):
            parameter.copy_(value)
    resumed = attach(torch.optim.SGD(second, lr=0.3))
    resumed.load_state_dict(saved)
    assert resumed.state[second[0]]["slow"].dtype == torch.float32
    run(resumed, second, range(7, 13))
    assert equal(whole, second)
    assert torch.equal(optimizer.state[first[0]]["slow"], saved["state"][0]["slow"])  # not shared with the loaded dictionary
    assert not torch.equal(resumed.state[second[0]]["slow"], slow)

    plain = torch.optim.SGD(make_parameters(torch.bfloat16), lr=0.3)
    plain.load_state_dict(saved)
    with pytest.raises(ValueError, match="attach before load_state_dict"):
        attach(plain)


def test_a_checkpoint_of_the_plain_host_begins_lookahead_anew():
    parameters, twin = make_parameters(), make_parameters()
    plain = torch.optim.AdamW(twin)
    run(plain, twin, range(3))
    optimizer = attach(torch.optim.AdamW(parameters), normalize="size_calibrated", lookahead=Lookahead(period=2))
    run(optimizer, parameters, range(3))
    optimizer.load_state_dict(plain.state_dict())
    group = optimizer.param_groups[0]
    assert (group["normalize"], group["lookahead_period"], group["lookahead_step"]) == ("size_calibrated", 2, 0)
    assert "slow" not in optimizer.state[parameters[0]]
    before = values(parameters)
    run(optimizer, parameters, range(3, 4))
    assert torch.equal(optimizer.state[parameters[0]]["slow"], before[0])


def test_a_checkpoint_of_another_model_is_refused():
    optimizer = attach(torch.optim.SGD(make_parameters(), lr=0.1))
    other_parameters = make_parameters(shapes=[(4, 7), (5,), (3, 2, 2, 3), (1,)])
    other = attach(torch.optim.SGD(other_parameters, lr=0.1))
    run(other, other_parameters, range(1))
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(ValueError, match=r"wanted slow weights of shape \(4, 6\) for parameter 0, got \(4, 7\)"):
        optimizer.load_state_dict(other.state_dict())
    assert optimizer.state_dict() == before


def test_groups_have_options_of_their_own_and_may_come_later():
    parameters, twins = make_parameters(), make_parameters()
    optimizer = attach(torch.optim.SGD([{"params": parameters[:1], "centralize": False, "lookahead": False}, {"params": parameters[1:2]}], lr=0.1))
    run(optimizer, parameters[:2], range(2))
    optimizer.add_param_group({"params": parameters[2:3], "centralize_axis": 3, "normalize": "size_calibrated", "lr": 0.5})
    run(optimizer, parameters[:3], range(2, 6))
    assert [group["lookahead_step"] for group in optimizer.param_groups] == [0, 6, 4]
    by_hand(torch.optim.SGD(twins[:1], lr=0.1), twins[:1], range(6), Standardize(centralize=False), period=100)
    assert torch.equal(parameters[0], twins[0])
    assert "slow" not in optimizer.state.get(parameters[0], {})

    want = twins[2].detach().clone()
    for step in range(2, 6):
        set_gradients(twins[:3], step)
        options = Standardize(centralize_axis=3, normalize="size_calibrated")
        want -= 0.5 * standardized([twins[2].grad], options)[0].gradient
    assert torch.allclose(parameters[2], want, rtol=1e-6)
    resumed = attach(torch.optim.SGD([{"params": [parameter]} for parameter in make_parameters()[:3]], lr=0.1))
    resumed.load_state_dict(optimizer.state_dict())
    assert resumed.param_groups[2]["centralize_axis"] == 3 and resumed.param_groups[0]["centralize"] is False


def test_a_scheduler_changes_the_learning_rate():
    mine, theirs = make_parameters(), make_parameters()
    optimizer, host = attach(torch.optim.SGD(mine, lr=1.0)), torch.optim.SGD(theirs, lr=1.0)
    schedules = [torch.optim.lr_scheduler.LambdaLR(each, lambda step: 0.5**step) for each in (optimizer, host)]
    for step in range(4):
        run(optimizer, mine, [step])
        by_hand(host, theirs, [step])
        for schedule in schedules:
            schedule.step()
    assert equal(mine, theirs)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("normalize", ["unit_norm", "off"])
def test_a_grad_scaler_changes_nothing(normalize, fused):
    mine, theirs = make_parameters(), make_parameters()
    optimizer = attach(torch.optim.AdamW(mine, fused=fused), normalize=normalize, norm_epsilon=0.0)
    host = attach(torch.optim.AdamW(theirs, fused=fused), normalize=normalize, norm_epsilon=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(6):
        set_gradients(mine, step, scale=1024.0)
        scaler.scale(torch.ones(()))  # the scaler creates its tensors on first use
        kept = [(parameter.grad, parameter.grad.clone()) for parameter in mine]
        scaler.step(optimizer)
        scaler.update()
        set_gradients(theirs, step)
        host.step()
        assert all(parameter.grad is gradient for parameter, (gradient, _) in zip(mine, kept))
        if fused:
            assert all(torch.equal(gradient, bits) for gradient, bits in kept)
            assert attachment(optimizer).grad_norms() == attachment(host).grad_norms()
    assert equal(mine, theirs)
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")


@pytest.mark.parametrize("fused", [True, False])
def test_a_step_that_the_scaler_skips_does_not_count(fused):
    mine, theirs = make_parameters(), make_parameters()
    optimizer, host = (attach(torch.optim.AdamW(each, fused=fused)) for each in (mine, theirs))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    run(host, theirs, range(6))
    for step in [0, 1, "bad", 2, 3, 4, "bad", 5]:
        set_gradients(mine, 0 if step == "bad" else step, scale=scaler.get_scale())
        scaler.scale(torch.ones(()))
        if step == "bad":
            mine[0].grad[0, 0] = math.inf
        before = values(mine)
        scaler.step(optimizer)
        scaler.update()
        assert equal(mine, before) == (step == "bad")
    assert optimizer.param_groups[0]["lookahead_step"] == 6
    assert scaler.get_scale() == 256.0
    for a, b in zip(mine, theirs):
        assert torch.allclose(a, b, rtol=0, atol=1e-6)  # norm_epsilon is added to a scaled norm


def test_non_finite_gradients_by_policy():
    def spoilt(policy):
        parameters = make_parameters()
        optimizer = attach(torch.optim.AdamW([{"params": parameters, "param_names": list("abcd")}]), non_finite=policy)
        run(optimizer, parameters, range(4))
        set_gradients(parameters, 4)
        parameters[1].grad[0] = math.nan
        kept = [parameter.grad for parameter in parameters]
        return parameters, values(parameters), optimizer, kept

    parameters, before, optimizer, kept = spoilt("skip_tensor")
    optimizer.step()
    assert torch.equal(parameters[1], before[1]) and optimizer.state[parameters[1]]["step"] == 4
    assert not torch.equal(parameters[0], before[0]) and optimizer.state[parameters[0]]["step"] == 5
    assert torch.equal(parameters[0], optimizer.state[parameters[0]]["slow"])  # the fifth step merges
    assert (attachment(optimizer).skipped_tensors, attachment(optimizer).skipped_steps) == (1, 0)
    assert all(parameter.grad is gradient for parameter, gradient in zip(parameters, kept))

    parameters, before, optimizer, kept = spoilt("skip_step")
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer.step()
    assert equal(parameters, before)
    assert str(optimizer.state_dict()) == str(saved)
    assert (attachment(optimizer).skipped_tensors, attachment(optimizer).skipped_steps) == (0, 1)
    assert all(parameter.grad is gradient for parameter, gradient in zip(parameters, kept))

    parameters, before, optimizer, kept = spoilt("throw")
    with pytest.raises(FloatingPointError, match=r"non-finite ones in 'b'$"):
        optimizer.step()
    assert equal(parameters, before) and all(parameter.grad is gradient for parameter, gradient in zip(parameters, kept))
    set_gradients(parameters, 4)
    optimizer.step()
    assert optimizer.param_groups[0]["lookahead_step"] == 5

    parameters, before, optimizer, kept = spoilt("pass_through")
    optimizer.step()
    assert parameters[1].isnan().all() and not parameters[0].isnan().any()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_copies_and_pickles_stay_attached(duplicate):
    whole, parameters = make_parameters(), make_parameters()
    run(attach(torch.optim.NAdam(whole), normalize="size_calibrated"), whole, range(13))
    optimizer = attach(torch.optim.NAdam(parameters), normalize="size_calibrated")
    run(optimizer, parameters, range(7))
    others, other = duplicate((parameters, optimizer))
    assert other.param_groups[0]["params"][0] is others[0]
    run(other, others, range(7, 13))
    assert equal(whole, others)
    assert optimizer.param_groups[0]["lookahead_step"] == 7
    with pytest.raises(ValueError, match="wanted an optimizer that is not attached, got an attached NAdam"):
        attach(other)


def test_detach_leaves_no_trace():
    parameters, twins = make_parameters(), make_parameters()
    for make in (HOSTS["SGD"], HOSTS["AdamW"]):
        host, optimizer = make(twins), make(parameters)
        traces = set(vars(optimizer)) | {"_zero_grad_profile_name"}
        attach(optimizer)
        run(optimizer, parameters, range(3))
        run(host, twins, range(3))
        assert detach(optimizer) is optimizer
        assert set(vars(optimizer)) | {"_zero_grad_profile_name"} == traces
        one, other = optimizer.state_dict(), host.state_dict()
        assert one["param_groups"] == other["param_groups"]
        assert {key: set(value) for key, value in one["state"].items()} == {key: set(value) for key, value in other["state"].items()}
        hooks = [name for name in vars(optimizer) if name.endswith("_hooks")]
        assert len(hooks) == 6 and all(len(getattr(optimizer, name)) == 0 for name in hooks)
        before = parameters[0].detach().clone()
        optimizer = detach(attach(torch.optim.SGD([parameters[0]], lr=0.1)))
        run(optimizer, parameters[:1], range(1))
        assert torch.allclose(parameters[0], before - 0.1 * parameters[0].grad, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="wanted an attached optimizer"):
        detach(optimizer)


def test_a_gradient_of_a_tied_weight_is_standardized_once():
    (shared, *_), (twin, *_) = make_parameters(), make_parameters()
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = attach(torch.optim.SGD([shared, shared], lr=0.0, momentum=0.9))
    run(optimizer, [shared], range(5))
    assert torch.equal(shared, twin)  # the learning rate is 0, so only a second merge could have moved it
    assert len(attachment(optimizer).grad_norms()) == 1


def test_bad_input_is_refused_with_nothing_changed():
    parameters = make_parameters()

    def host():
        return torch.optim.SGD(parameters, lr=0.1)

    class WithOwn(torch.optim.SGD):
        def __init__(self, parameters):
            super().__init__(parameters, lr=0.1)
            self.defaults["centralize"] = False

    cases = [
        (TypeError, "wanted a torch.optim.Optimizer", lambda: attach(torch.nn.Linear(2, 2))),
        (ValueError, "got sing.SING, which takes centralize, normalize and lookahead", lambda: attach(sing.SING(parameters))),
        (TypeError, "LBFGS", lambda: attach(torch.optim.LBFGS(parameters))),
        (TypeError, "did you mean 'normalize'", lambda: attach(host(), normalise="unit_norm")),
        (TypeError, "did you mean 'lookahead'", lambda: attach(host(), lookahead_period=10)),
        (TypeError, "wanted one of centralize, .*, lookahead, non_finite, got 'fused'", lambda: attach(host(), fused=True)),
        (ValueError, "normalize", lambda: attach(host(), normalize="norm")),
        (ValueError, "non_finite", lambda: attach(host(), non_finite="ignore")),
        (TypeError, "lookahead", lambda: attach(host(), lookahead=5)),
        (ValueError, "alpha", lambda: attach(host(), lookahead=Lookahead(alpha=1.5))),
        (ValueError, "options named centralize", lambda: attach(WithOwn(parameters))),
        (ValueError, "differentiable", lambda: attach(torch.optim.SGD(parameters, lr=0.1, differentiable=True))),
        (ValueError, "period", lambda: attach(torch.optim.SGD([{"params": parameters, "lookahead_period": 0}], lr=0.1))),
    ]
    for error, text, call in cases:
        with pytest.raises(error, match=text):
            call()

    twice = attach(host())
    with pytest.raises(ValueError, match="wanted an optimizer that is not attached, got an attached SGD"):
        attach(twice)
    set_gradients(parameters, 0)
    parameters[2].grad = torch.ones(3, 2, 2, 3).to_sparse()
    before = values(parameters)
    with pytest.raises(TypeError, match="parameter '2'"):
        twice.step()
    assert equal(parameters, before) and twice.param_groups[0]["lookahead_step"] == 0


def test_a_parameter_that_grew_without_its_slow_weights_is_refused():
    small, grown = torch.nn.Parameter(torch.ones(5, 3)), torch.nn.Parameter(torch.ones(7, 3))
    optimizer = attach(torch.optim.SGD([small], lr=0.1))
    small.grad = torch.ones(5, 3)
    optimizer.step()
    optimizer.param_groups[0]["params"] = [grown]
    optimizer.state[grown] = optimizer.state.pop(small)
    grown.grad = torch.arange(21.0).reshape(7, 3)
    with pytest.raises(ValueError, match=r"parameter '0'\] wanted slow weights of shape \[7, 3\], got \[5, 3\]"):
        optimizer.step()
    assert torch.equal(grown, torch.ones(7, 3))
    sing.attachment(optimizer).reset_lookahead()
    optimizer.step()
    assert not torch.equal(grown, torch.ones(7, 3))


def test_a_gradient_on_the_meta_device_is_refused():
    weight = torch.nn.Parameter(torch.ones(2, 2, device="meta"))
    weight.grad = torch.ones(2, 2, device="meta")
    with pytest.raises(TypeError, match="parameter '0'] wanted memory, got a gradient on the meta device"):
        attach(torch.optim.SGD([weight], lr=0.1)).step()


@pytest.mark.parametrize("make", [sing.SING, lambda parameters: attach(torch.optim.SGD(parameters, lr=0.1))])
def test_a_step_in_inference_mode_is_that_outside(make):
    inside, outside = (torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 5.0]])) for _ in range(2))
    for weight, mode in ((inside, torch.inference_mode()), (outside, torch.no_grad())):
        optimizer = make([weight])
        for step in range(2):
            weight.grad = torch.tensor([[1.0, -1.0], [2.0, 4.0]]) + step
            with mode:
                optimizer.step()
    assert torch.equal(inside, outside)


def test_options_of_lookahead_are_refused_before_the_host_steps():
    parameters = make_parameters()
    optimizer = attach(torch.optim.SGD(parameters, lr=0.1))
    set_gradients(parameters, 0)
    before = values(parameters)
    optimizer.param_groups[0]["lookahead_period"] = 0
    with pytest.raises(ValueError, match="period"):
        optimizer.step()
    assert equal(parameters, before)


@pytest.mark.parametrize("options", [{"centralize_axis": 2}, {"centralize_axis": 2, "centralize": False}])
def test_an_axis_is_refused_whether_or_not_its_parameter_has_a_gradient(options):
    parameters = [torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(4))]
    optimizer = sing.attach(torch.optim.SGD(parameters, lr=0.1))
    parameters[1].grad = torch.ones(4)
    optimizer.param_groups[0].update(options)
    with pytest.raises(ValueError, match=r"parameter '0'\] wanted centralize_axis below the rank 2, got 2"):
        optimizer.step()
    assert torch.equal(parameters[1], torch.ones(4))


def test_hooks_registered_after_attach_run_after_its_own():
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = attach(torch.optim.SGD([weight], lr=0.1))
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append(weight.grad.norm().item()))
    optimizer.register_step_post_hook(lambda *_: seen.append(weight.grad.norm().item()))
    weight.grad = torch.tensor([3.0, 4.0])
    optimizer.step()
    assert seen == [pytest.approx(1.0), 5.0]


def test_reset_lookahead_starts_from_the_present_weights():
    """With a period of 2 and a weight of 1/4, two steps of -0.1 from 3 merge to 3 - 0.2 / 4."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = attach(torch.optim.SGD([weight], lr=0.1), normalize="off", lookahead=Lookahead(period=2, alpha=0.25))
    weight.grad = torch.ones(1)
    optimizer.step()
    with torch.no_grad():
        weight.fill_(3.0)
    attachment(optimizer).reset_lookahead()
    assert "slow" not in optimizer.state[weight]
    optimizer.step()
    assert optimizer.state[weight]["slow"].item() == 3.0
    optimizer.step()
    assert weight.item() == pytest.approx(2.95)
    copied = copy.deepcopy(optimizer)
    attachment(copied).reset_lookahead()
    assert (copied.param_groups[0]["lookahead_step"], optimizer.param_groups[0]["lookahead_step"]) == (0, 2)
