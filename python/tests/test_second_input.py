"""Tests the inputs and outputs of some rules other than gradients: curvature, and an average to evaluate."""

import pytest
import torch

import sing


def test_curvature_divides_the_gradient(memory):
    weight, other = torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(4))
    optimizer = sing.AdaHessian([weight, other], lr=1.0, eps=0.0)
    weight.grad, other.grad = torch.ones(2, 3), torch.full((4,), 5.0)
    curvature = torch.arange(1.0, 7.0).reshape(3, 2).T  # a different layout from the parameter's
    optimizer.set_curvature({weight: curvature})
    optimizer.step()
    assert torch.allclose(weight, -1 / curvature)
    assert torch.allclose(other, -torch.ones(4))  # without curvature, the gradient takes its place


def test_wrong_curvature_is_refused(memory):
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    optimizer = sing.AdaHessian([weight])
    with pytest.raises(ValueError, match=r"curvature of '0': wanted shape \[2, 3\], got \[3, 2\]"):
        optimizer.set_curvature({weight: torch.ones(3, 2)})
    with pytest.raises(ValueError, match="wanted curvature of a parameter, got that of another tensor"):
        optimizer.set_curvature({torch.zeros(2, 3): torch.ones(2, 3)})
    with pytest.raises(TypeError, match="wanted a tensor of curvature for each parameter, got str and Tensor"):
        optimizer.set_curvature({"weight": torch.ones(2, 3)})
    with pytest.raises(TypeError, match="wanted a tensor of curvature for each parameter, got Parameter and float"):
        optimizer.set_curvature({weight: 1.0})
    with pytest.raises(ValueError, match="wanted a rule that takes curvature, got 'lion'"):
        sing.Lion([weight]).set_curvature({weight: torch.ones(2, 3)})


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_average_comes_and_goes(memory, dtype):
    weight = torch.nn.Parameter(torch.ones(5, 3, dtype=dtype))
    optimizer = sing.ScheduleFreeAdamW([weight], lr=0.1, master_weights=dtype == torch.bfloat16)
    optimizer.eval()
    assert torch.equal(weight, torch.ones(5, 3, dtype=dtype))
    optimizer.train()
    steps = [torch.ones(5, 3, dtype=torch.float64)]
    for step in range(6):
        weight.grad = torch.full((5, 3), 1.0 - 2 * (step % 3 == 2), dtype=dtype)
        optimizer.step()
        steps.append(optimizer.state[weight]["z"].double().clone())
    before = weight.detach().clone()
    optimizer.eval()
    # A constant rate weights all steps equally: the result is the average of z after each step.
    wanted = torch.stack(steps[1:]).mean(0)
    assert torch.allclose(weight.double(), wanted, atol=4 * torch.finfo(dtype).eps)
    optimizer.train()
    assert torch.equal(weight, before)
