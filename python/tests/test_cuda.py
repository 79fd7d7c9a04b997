"""Tests CUDA: agreement, graphs, streams and mixed devices. The tests are skipped without a device or without kernels for it."""

import copy

import pytest
import torch
from conftest import MADE, small_model, train

import sing
from sing.rules import CLASSES

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and sing.has_kernels("cuda")), reason="no CUDA device, or operators without CUDA kernels"
)


def gradients_for(model, step):
    for index, parameter in enumerate(model.parameters()):
        generator = torch.Generator().manual_seed(100 * step + index)
        gradient = torch.randn(parameter.shape, generator=generator).to(parameter.device, parameter.dtype)
        if parameter.grad is None:
            parameter.grad = gradient
        else:
            parameter.grad.copy_(gradient)


def difference(first, second):
    return max((a.double().cpu() - b.double().cpu()).abs().max().item() for a, b in zip(first.parameters(), second.parameters()))


@pytest.mark.parametrize("name", MADE)
def test_agrees_with_the_cpu(name):
    twin = small_model(torch.float64)
    model = copy.deepcopy(twin).cuda()
    first, second = MADE[name](model.parameters()), MADE[name](twin.parameters())
    for step in range(11):
        gradients_for(model, step)
        gradients_for(twin, step)
        first.step()
        second.step()
    assert difference(model, twin) <= 1e-9
    state = [value for of_parameter in first.state.values() for value in of_parameter.values() if torch.is_tensor(value) and value.dim()]
    assert all(value.is_cuda for value in state)
    assert state or name in ("SGD", "Lars")  # which have no momentum by default


def test_no_synchronization():
    model = small_model().cuda()
    optimizer = sing.SING(model.parameters(), lr=torch.tensor(0.01, device="cuda"))
    gradients_for(model, 0)
    optimizer.step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(6):
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("scaler", [torch.amp.GradScaler, sing.GradScaler])
def test_scaled_step_does_not_synchronize(scaler):
    model = small_model().cuda()
    optimizer = sing.SING(model.parameters())
    scaled = scaler("cuda", init_scale=1024.0)
    scaled.scale(model(torch.ones(1, 2, 4, 4, device="cuda")).sum()).backward()
    scaled.step(optimizer)
    scaled.update()
    torch.cuda.set_sync_debug_mode("error")
    try:
        scaled.step(optimizer)
        scaled.update()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert int(optimizer.state[next(model.parameters())]["step"]) == 2


def test_overflow_on_the_device_skips():
    for scaler in (torch.amp.GradScaler, sing.GradScaler):
        model = small_model().cuda()
        before = copy.deepcopy(model)
        optimizer = sing.SING(model.parameters())
        scaled = scaler("cuda", init_scale=1024.0)
        scaled.scale(model(torch.ones(1, 2, 4, 4, device="cuda")).sum()).backward()
        next(model.parameters()).grad.view(-1)[0] = float("nan")
        scaled.step(optimizer)
        scaled.update()
        assert difference(model, before) == 0
        assert scaled.get_scale() == 512.0


@pytest.mark.parametrize("as_tensor", [False, True])
def test_graph_replay_equals_eager(as_tensor):
    """The learning rate changes between replays: through the tensor itself, or with other options by upload()."""
    eager = small_model().cuda()
    captured = copy.deepcopy(eager)

    def rate_of(step):
        return 0.02 / (step + 1)

    first = sing.SING(eager.parameters(), lr=rate_of(0))
    rate = torch.tensor(rate_of(0), device="cuda") if as_tensor else rate_of(0)
    second = sing.SING(captured.parameters(), lr=rate)
    gradients_for(captured, 0)
    gradients_for(eager, 0)
    first.step()
    second.step()
    second.upload()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        second.step()
    for step in range(1, 12):
        gradients_for(eager, step)
        gradients_for(captured, step)
        changed = {"lr": rate_of(step)}
        if as_tensor:
            rate.fill_(rate_of(step))
        else:
            changed |= {"weight_decay": 0.01 * step, "betas": (0.95 - 0.01 * step, 0.99), "norm_epsilon": 1e-8 * step}
            second.param_groups[0].update(changed)
            second.upload()
        first.param_groups[0].update(changed)
        first.step()
        graph.replay()
    # A float32 tensor holds the rate to a relative error of 2^-24.
    assert difference(eager, captured) <= (1e-6 if as_tensor else 0)
    assert int(second.state[next(captured.parameters())]["step"]) == 12


def test_what_a_captured_step_is_made_for_cannot_be_uploaded():
    model = small_model().cuda()
    optimizer = sing.SING(model.parameters())
    gradients_for(model, 0)
    optimizer.step()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        optimizer.step()
    optimizer.param_groups[0]["centralize"] = False
    with pytest.raises((ValueError, RuntimeError), match="capture again"):
        optimizer.upload()


def test_missing_gradient_is_refused_while_capturing():
    model = small_model().cuda()
    optimizer = sing.SING(model.named_parameters())
    gradients_for(model, 0)
    optimizer.step()
    model[0].bias.grad = None
    graph = torch.cuda.CUDAGraph()
    with pytest.raises((ValueError, RuntimeError), match="0.bias"):
        with torch.cuda.graph(graph):
            optimizer.step()


def test_side_stream():
    model = small_model().cuda()
    twin = copy.deepcopy(model)
    first, second = sing.SING(model.parameters()), sing.SING(twin.parameters())
    stream = torch.cuda.Stream()
    for step in range(6):
        gradients_for(model, step)
        gradients_for(twin, step)
        first.step()
        if step % 2:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                second.step()
            torch.cuda.current_stream().wait_stream(stream)
        else:
            second.step()
    assert difference(model, twin) == 0


def test_mixed_devices_and_moving():
    model = small_model()
    twin = copy.deepcopy(model)
    model[3].cuda()
    first, second = sing.SING(model.parameters()), sing.SING(twin.parameters())
    for step in range(7):
        gradients_for(model, step)
        gradients_for(twin, step)
        first.step()
        second.step()
        if step == 3:
            model.cuda()
            for parameter in model.parameters():
                parameter.grad = None
    assert difference(model, twin) <= 1e-5
    assert [group["lookahead_step"] for group in first.state_dict()["param_groups"]] == [7]


def test_state_file_across_devices(tmp_path):
    model = small_model().cuda()
    optimizer = sing.SING(model.named_parameters())
    for step in range(3):
        gradients_for(model, step)
        optimizer.step()
    optimizer.save(tmp_path / "state.safetensors")
    twin = copy.deepcopy(model).cpu()
    fresh = sing.SING(twin.named_parameters())
    fresh.load(tmp_path / "state.safetensors")
    for mine, other in zip(model.parameters(), twin.parameters()):
        for key, value in optimizer.state[mine].items():
            assert torch.equal(value.cpu(), fresh.state[other][key]), key


def test_state_dict_from_the_cpu():
    model = small_model()
    optimizer = sing.SING(model.parameters())
    train(model, optimizer, 3)
    twin = copy.deepcopy(model).cuda()
    fresh = sing.SING(twin.parameters())
    fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    gradients_for(model, 3)
    gradients_for(twin, 3)
    optimizer.step()
    fresh.step()
    assert difference(model, twin) <= 1e-6
