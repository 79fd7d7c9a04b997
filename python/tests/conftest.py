"""Defines what the tests of the package share: the build folder, a small model, and parameters stepped through copies."""

import functools
import os
import pathlib

import pytest
import torch

import sing
from sing.library import LibraryOptimizer
from sing.options import HOSTS
from sing.rules import CLASSES
from sing.standardize import Job, standardize_all

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SING_BUILD", ROOT / "build" / "dev"))

# Every class, and SING around every rule.
MADE = {**CLASSES, **{f"SING, {host}": functools.partial(sing.SING, host=host) for host in HOSTS}}

torch.use_deterministic_algorithms(True)


@pytest.fixture
def build_program():
    """Finds a program of the build by name."""

    def find(name):
        path = BUILD / "bin" / name
        if not path.exists():
            pytest.skip(f"{path} is not built")
        return str(path)

    return find


@pytest.fixture(params=["in place", "through copies"])
def memory(request, monkeypatch):
    """Runs a test twice: the kernels work on the parameters themselves, and on contiguous copies of them."""
    if request.param == "through copies":

        def serve(self, parameter, name):
            return torch.empty(parameter.shape, dtype=parameter.dtype), True

        monkeypatch.setattr(LibraryOptimizer, "_serve", serve)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20260801)


def small_model(dtype=torch.float32):
    """Returns a model with a matrix, a convolution, a norm and biases."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3),
        torch.nn.Flatten(),
        torch.nn.LayerNorm(16),
        torch.nn.Linear(16, 5),
    ).to(dtype)


def train(model, optimizer, steps, first=0):
    """Takes steps whose gradients depend only on the weights and the step's number."""
    dtype = next(model.parameters()).dtype
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        images = torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64).to(dtype)
        optimizer.zero_grad()
        model(images).square().sum().backward()
        optimizer.step()


def same_weights(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def standardized(gradients, options, loss_scale=1.0, **how):
    """Returns the results of the kernels for gradients that all have the same options."""
    jobs = [Job(str(place), gradient, options) for place, gradient in enumerate(gradients)]
    return standardize_all(jobs, loss_scale, where="test", **how)
