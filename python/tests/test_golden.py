"""Tests the trajectories of the authors' own SING through the Python class, with and without kernels."""

import json
import math

import pytest
import torch
from conftest import ROOT

import sing

GOLDEN = json.loads((ROOT / "tests" / "golden" / "official_sing.json").read_text(encoding="utf-8"))
CASES = {f"{case['name']}-{case['dtype']}": case for case in GOLDEN["cases"]}


def values(name, numbers, dtype):
    # The file's values and gradients are float32 numbers.
    return torch.tensor(numbers, dtype=torch.float32).to(dtype).reshape(GOLDEN["shapes"][name])


def rate(step, base):
    last = GOLDEN["steps"] - 3
    return base * (step + 1) / 3 if step < 3 else base * 0.5 * (1 + math.cos(math.pi * (step - 3) / last))


def tolerance(dtype, steps, moved, largest):
    """Returns the bound that tests/golden derives."""
    if dtype == torch.float64:
        return 1e-12 * moved
    return steps * 2.0**-24 * (4 * largest + 64 * 0.05 * 3.2)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_authors_trajectory(case, memory):
    dtype = getattr(torch, case["dtype"])
    start = {name: values(name, numbers, dtype) for name, numbers in GOLDEN["init"].items()}
    weights = {name: torch.nn.Parameter(start[name].clone()) for name in start}
    second = ("bias", "scalar")
    groups = [
        {"params": [(name, weights[name]) for name in weights if name not in second]},
        {"params": [(name, weights[name]) for name in second], "lr": case["lr"] / 2},
    ]
    optimizer = sing.SING(groups, lr=case["lr"], **case["options"])
    for step in range(GOLDEN["steps"]):
        for name, weight in weights.items():
            numbers = GOLDEN["grads"][step].get(name)
            is_late = name == "late" and step < 3
            weight.grad = None if numbers is None or is_late else values(name, numbers, dtype)
        for group, base in zip(optimizer.param_groups, (case["lr"], case["lr"] / 2)):
            group["lr"] = rate(step, base)
        optimizer.step()
        for name, numbers in case["params_after_step"].get(str(step), {}).items():
            wanted = torch.tensor(numbers, dtype=dtype).reshape(GOLDEN["shapes"][name])
            moved = (wanted - start[name]).abs().max().item()
            bound = tolerance(dtype, step + 1, moved, wanted.abs().max().item())
            assert (weights[name].detach() - wanted).abs().max().item() <= bound, (name, step)
    for name, entry in case["final_state"].items():
        state = optimizer.state[weights[name]]
        assert int(state["step"]) == int(entry["step"])
        assert ("slow" in state) == ("lookahead_params" in entry)
        wanted = torch.tensor(entry["exp_avg_sq"], dtype=dtype).reshape(GOLDEN["shapes"][name])
        share = 1e-12 if dtype == torch.float64 else GOLDEN["steps"] * 64 * 2.0**-24
        assert (state["exp_avg_sq"] - wanted).abs().max().item() <= share * wanted.abs().max().item()
