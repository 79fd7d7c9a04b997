"""What the tests of the package share: where the build is, and a class with the plain-PyTorch engine in place of the kernels."""

import os
import pathlib

import pytest
import torch

import sing

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SING_BUILD", ROOT / "build" / "dev"))

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


def without_kernels(cls):
    """The class with every parameter on the plain-PyTorch engine."""
    return type(cls.__name__, (cls,), {"_uses_native": False})


@pytest.fixture(params=["native", "fallback"])
def engine(request):
    """Gives a class as it is, or without kernels; the kernels must be there."""
    assert sing.has_kernels("cpu"), "the compiled operators were not found: ./dev build"
    return (lambda cls: cls) if request.param == "native" else without_kernels


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20260801)


def small_model(dtype=torch.float32):
    """Matrix, convolution, norm and biases."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3),
        torch.nn.Flatten(),
        torch.nn.LayerNorm(16),
        torch.nn.Linear(16, 5),
    ).to(dtype)


def train(model, optimizer, steps, first=0):
    """Steps whose gradients depend on the weights and on the step's number alone."""
    dtype = next(model.parameters()).dtype
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(step)
        images = torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64).to(dtype)
        optimizer.zero_grad()
        model(images).square().sum().backward()
        optimizer.step()


def same_weights(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
