"""Tests attach() on a GPU: scalers, mixed devices, CUDA graphs, and no synchronization where none is promised."""

import math

import pytest
import torch
from conftest import standardized

from sing.attach import attach, attachment
from sing.option_sets import Standardize
from sing.standardize import standardize_

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

SHAPES = [(48, 65), (7,), (4, 3, 5, 5), ()]


def make_parameters(device="cuda", dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(device, dtype)) for shape in SHAPES]


def set_gradients(parameters, step, scale=1.0):
    generator = torch.Generator().manual_seed(100 + step)
    for parameter in parameters:
        gradient = torch.randn(parameter.shape, generator=generator) * scale
        parameter.grad = gradient.to(parameter.device, parameter.dtype)


def run(optimizer, parameters, steps):
    for step in steps:
        set_gradients(parameters, step)
        optimizer.step()


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2e-6), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)])
def test_the_gpu_standardizes_as_the_cpu(dtype, tolerance):
    for axis in (0, 1):
        options = Standardize(centralize_axis=axis, normalize="size_calibrated", reference_size=100)
        parameters = make_parameters(dtype=dtype)
        set_gradients(parameters, 0)
        gradients = [parameter.grad for parameter in parameters]
        on_cpu = standardized([gradient.cpu().double() for gradient in gradients], options)
        for result, want in zip(standardized(gradients, options), on_cpu):
            largest = want.gradient.abs().max().item()
            assert (result.gradient.cpu().double() - want.gradient).abs().max().item() <= tolerance * largest
            assert float(result.norm) == pytest.approx(want.norm, rel=1e-5)


def test_one_optimizer_over_two_devices():
    both = [*make_parameters("cuda")[:2], *make_parameters("cpu")[2:]]
    whole = make_parameters("cpu")
    run(attach(torch.optim.SGD(both, lr=0.1)), both, range(6))
    run(attach(torch.optim.SGD(whole, lr=0.1)), whole, range(6))
    for one, other in zip(both, whole):
        assert torch.allclose(one.cpu(), other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_a_grad_scaler_changes_nothing_and_skips_whole_steps(fused):
    mine, theirs = make_parameters(), make_parameters()
    optimizer, host = (attach(torch.optim.AdamW(each, fused=fused), norm_epsilon=0.0) for each in (mine, theirs))
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    run(host, theirs, range(6))
    for step in [0, 1, "bad", 2, 3, 4, 5]:
        set_gradients(mine, 0 if step == "bad" else step, scale=scaler.get_scale())
        scaler.scale(torch.ones((), device="cuda"))
        if step == "bad":
            mine[0].grad[0, 0] = math.inf
        scaler.step(optimizer)
        scaler.update()
    assert equal(mine, theirs)
    assert optimizer.param_groups[0]["lookahead_step"] == 6


def test_passing_through_does_not_wait():
    parameters = make_parameters()
    optimizer = attach(torch.optim.AdamW(parameters, fused=True), non_finite="pass_through")
    run(optimizer, parameters, range(6))
    set_gradients(parameters, 6)
    gradients = [parameter.grad.clone() for parameter in parameters]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        optimizer.step()
        standardize_(gradients)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_graph_captures_steps_that_do_not_wait():
    parameters, twins = make_parameters(), make_parameters()
    make = {"lr": 0.01, "capturable": True}
    optimizer = attach(torch.optim.AdamW(parameters, **make), lookahead=False, non_finite="pass_through")
    eager = attach(torch.optim.AdamW(twins, **make), lookahead=False, non_finite="pass_through")
    set_gradients(parameters, 0)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    for step in range(1, 5):
        generator = torch.Generator().manual_seed(100 + step)
        for parameter in parameters:
            parameter.grad.copy_(torch.randn(parameter.shape, generator=generator))
        graph.replay()
    run(eager, twins, range(5))
    for one, other in zip(parameters, twins):
        assert torch.allclose(one, other, rtol=0, atol=1e-6)
    assert attachment(optimizer).skipped_steps == 0


def test_capturing_a_step_that_waits_is_refused():
    parameters = make_parameters()
    optimizer = attach(torch.optim.AdamW(parameters, capturable=True))
    run(optimizer, parameters, range(1))
    before = [parameter.detach().clone() for parameter in parameters]
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="in a captured CUDA graph"):
        with torch.cuda.graph(graph):
            optimizer.step()
    assert equal(parameters, before)
