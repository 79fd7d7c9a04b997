"""Runs an optimizer and its peer from another package on the same problem, and bounds the difference that rounding may cause."""

import contextlib
import math

import torch

# The ranks are 0 to 4, and no size is a multiple of a vector's width.
SHAPES = [(7,), (3, 5), (), (1, 1), (2, 3, 1, 5), (13, 11)]
STEPS = 60
WARM_UP = 10


def learning_rate_factor(step):
    """Returns the learning-rate factor: a linear warm-up, then half a cosine."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / STEPS))


@contextlib.contextmanager
def default_dtype(dtype):
    """Sets torch's default type, in which peers keep the scalars of their state."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def gradient_of(step, shape):
    """Draws gradients with sizes from 1e-3 to 10 and a varying mean, so that second moments rise and fall."""
    generator = torch.Generator().manual_seed(1000 * step + len(shape))
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    return noise * 10.0 ** (step % 5 - 3) + 0.1 * (step % 7)


def trajectory(make, dtype, before_step=None):
    """Returns the parameters after each of STEPS steps of make(parameters) with a warm-up; the first entry is the start."""
    with default_dtype(dtype):
        generator = torch.Generator().manual_seed(0)
        start = [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in SHAPES]
        parameters = [torch.nn.Parameter(each.clone()) for each in start]
        optimizer = make(parameters)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate_factor)
        found = [start]
        for step in range(STEPS):
            for parameter in parameters:
                parameter.grad = gradient_of(step, parameter.shape).to(dtype)
            if before_step is not None:
                before_step(optimizer)
            optimizer.step()
            schedule.step()
            found.append([each.detach().clone() for each in parameters])
        return found


def expect_same(ours, theirs, dtype):
    """Bounds the difference: both round the parameter up to three times per step, at different points, and the terms of an update
    up to 64 times in all."""
    unit = torch.finfo(dtype).eps / 2
    largest_update = 0.0
    for step in range(1, STEPS + 1):
        for mine, other, before in zip(ours[step], theirs[step], theirs[step - 1], strict=True):
            largest_update = max(largest_update, (other - before).abs().max().item())
            allowed = step * unit * (3 * other.abs().max().item() + 64 * largest_update)
            assert (mine - other).abs().max().item() <= allowed, f"step {step}, shape {tuple(other.shape)}"
    for mine, start in zip(ours[-1], ours[0], strict=True):
        assert (mine - start).abs().max().item() > 1e-3, "the comparison needs movement"
