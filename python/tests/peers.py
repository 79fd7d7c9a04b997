"""Runs an optimizer and its peer from another package side by side, and says how far apart rounding may take them."""

import contextlib
import math

import torch

# Of rank 0 to 4, none a multiple of a vector's width.
SHAPES = [(7,), (3, 5), (), (1, 1), (2, 3, 1, 5), (13, 11)]
STEPS = 60
WARM_UP = 10
# The rule alone, as peers have it: no centralization, no normalization, no LookAhead, decay for vectors too.
ALONE = {"centralize": False, "normalize": "off", "lookahead": False, "decay_vectors": True}


def learning_rate_factor(step):
    """Linear warm-up, then half a cosine."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / STEPS))


@contextlib.contextmanager
def default_dtype(dtype):
    """Peers keep scalars of their state in torch's default type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def gradient_of(step, shape):
    """Sizes from 1e-3 to 10 and a mean that comes and goes, so that second moments rise and fall."""
    generator = torch.Generator().manual_seed(1000 * step + len(shape))
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    return noise * 10.0 ** (step % 5 - 3) + 0.1 * (step % 7)


def trajectory(make, dtype, before_step=None):
    """Parameters after each of STEPS steps of make(parameters) under warm-up; the first entry is the start."""
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
    """Both round the parameter up to three times a step, in other places, and an update's terms up to 64 times in all."""
    unit = torch.finfo(dtype).eps / 2
    largest_update = 0.0
    for step in range(1, STEPS + 1):
        for mine, other, before in zip(ours[step], theirs[step], theirs[step - 1], strict=True):
            largest_update = max(largest_update, (other - before).abs().max().item())
            allowed = step * unit * (3 * other.abs().max().item() + 64 * largest_update)
            assert (mine - other).abs().max().item() <= allowed, f"step {step}, shape {tuple(other.shape)}"
    for mine, start in zip(ours[-1], ours[0], strict=True):
        assert (mine - start).abs().max().item() > 1e-3, "the comparison needs movement"
