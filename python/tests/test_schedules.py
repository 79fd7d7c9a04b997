"""Tests schedules: their formulas at every step, LambdaLR with its checkpoints, and refusals."""

import io
import math
import pickle

import pytest
import torch

from sing.schedules import SCHEDULES, PiecewiseLinear, WarmupCosine, WarmupHoldCosine, make_schedule

CASES = [
    ("constant", {}),
    ("warmup_cosine", {"total_steps": 50}),
    ("warmup_cosine", {"warmup_steps": 7, "total_steps": 100, "final_factor": 0.1}),
    ("warmup_cosine", {"warmup_steps": 20, "total_steps": 20}),
    ("warmup_cosine", {"total_steps": 1, "final_factor": 1.0}),
    ("warmup_hold_cosine", {"warmup_steps": 5, "hold_steps": 11, "total_steps": 60, "final_factor": 0.25}),
    ("warmup_hold_cosine", {"warmup_steps": 10, "hold_steps": 10, "total_steps": 20}),
    ("warmup_inverse_square_root", {"warmup_steps": 0}),
    ("warmup_inverse_square_root", {"warmup_steps": 13}),
    ("warmup_linear", {"warmup_steps": 3, "total_steps": 77}),
    ("warmup_linear", {"total_steps": 30, "final_factor": 0.3}),
    ("piecewise_linear", {"knots": ((3, 1.0), (10, 0.7), (11, 2.0), (90, 0.0))}),
    ("piecewise_linear", {"knots": ((0, 0.3),)}),
]


def expected(name, step, *, warmup_steps=0, hold_steps=0, total_steps=0, final_factor=0.0, knots=()):
    """Returns the factors by the formulas of the classes' documentation."""
    if name == "piecewise_linear":
        if step <= knots[0][0]:
            return knots[0][1]
        for (begin, low), (end, high) in zip(knots, knots[1:]):
            if step <= end:
                return low + (high - low) * (step - begin) / (end - begin)
        return knots[-1][1]
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if name == "constant":
        return 1.0
    if name == "warmup_inverse_square_root":
        return math.sqrt(max(warmup_steps, 1) / (step + 1))
    start = warmup_steps + hold_steps
    if step >= total_steps:
        return final_factor
    share = max(0, step - start) / max(1, total_steps - start)
    falling = 1 - share if name == "warmup_linear" else (1 + math.cos(math.pi * share)) / 2
    return final_factor + (1 - final_factor) * falling


@pytest.mark.parametrize("name, options", CASES)
def test_every_step_has_the_number_of_the_formula(name, options):
    schedule = make_schedule(name, **options)
    for step in range(130):
        assert schedule(step) == pytest.approx(expected(name, step, **options), rel=1e-12, abs=1e-12), step


def test_every_schedule_is_among_the_cases():
    assert {name for name, _ in CASES} == set(SCHEDULES)
    assert all(make_schedule(name, **options).name == name for name, options in CASES)


def test_hand_computed_numbers():
    cosine = WarmupCosine(warmup_steps=4, total_steps=12, final_factor=0.2)
    assert [cosine(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert cosine(4) == 1.0
    assert cosine(8) == pytest.approx(0.6, abs=1e-15)
    assert cosine(6) == pytest.approx(0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2, abs=1e-15)
    assert cosine(12) == cosine(1000) == 0.2
    assert [WarmupHoldCosine(hold_steps=3, total_steps=5)(step) for step in range(3)] == [1.0, 1.0, 1.0]


def test_lambda_lr_and_its_checkpoint():
    def make(schedule):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)

    schedule = WarmupCosine(warmup_steps=2, total_steps=9)
    optimizer, scheduler = make(schedule)
    rates = []
    for step in range(9):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step == 4:
            file = io.BytesIO()
            torch.save([optimizer.state_dict(), scheduler.state_dict()], file)
        scheduler.step()
    assert rates == [0.5 * schedule(step) for step in range(9)]

    file.seek(0)
    saved = torch.load(file)
    for other in (schedule, WarmupCosine(total_steps=3)):  # the saved value wins, as with torch's own schedulers
        resumed, rescheduler = make(other)
        resumed.load_state_dict(saved[0])
        rescheduler.load_state_dict(saved[1])
        rest = []
        for _ in range(4):
            resumed.step()
            rescheduler.step()
            rest.append(resumed.param_groups[0]["lr"])
        assert rest == rates[5:]


def test_schedules_are_values():
    for name, options in CASES:
        schedule = make_schedule(name, **options)
        assert pickle.loads(pickle.dumps(schedule)) == schedule == make_schedule(name, **options)
        assert hash(schedule) == hash(make_schedule(name, **options))
    with pytest.raises(AttributeError):
        WarmupCosine(total_steps=5).total_steps = 3


@pytest.mark.parametrize(
    "error, text, name, options",
    [
        (ValueError, "wanted total_steps as a whole number of at least 1", "warmup_cosine", {}),
        (ValueError, "at least the 12 steps before the fall", "warmup_linear", {"warmup_steps": 12, "total_steps": 11}),
        (ValueError, "at least the 12 steps before the fall", "warmup_hold_cosine", {"warmup_steps": 8, "hold_steps": 4, "total_steps": 11}),
        (ValueError, "wanted warmup_steps as a whole number", "warmup_cosine", {"warmup_steps": 2.5, "total_steps": 11}),
        (ValueError, "warmup_steps", "warmup_inverse_square_root", {"warmup_steps": -1}),
        (ValueError, "final_factor", "warmup_linear", {"total_steps": 4, "final_factor": 1.5}),
        (ValueError, "final_factor", "warmup_linear", {"total_steps": 4, "final_factor": math.nan}),
        (ValueError, "at least one", "piecewise_linear", {}),
        (ValueError, "increasing steps", "piecewise_linear", {"knots": [(3, 1.0), (3, 0.5)]}),
        (ValueError, "wanted the factor of a knot as a number of at least 0", "piecewise_linear", {"knots": [(3, -1.0)]}),
        (ValueError, "wanted the step of a knot as a whole number of at least 0", "piecewise_linear", {"knots": [(-3, 1.0)]}),
        (ValueError, "did you mean 'warmup_linear'", "warmup_liner", {"total_steps": 4}),
        (TypeError, "did you mean 'total_steps'", "warmup_linear", {"totl_steps": 4}),
        (TypeError, "'constant'\\] wanted no options, got 'knots'", "constant", {"knots": 4}),
    ],
)
def test_bad_options_are_refused(error, text, name, options):
    with pytest.raises(error, match=text):
        make_schedule(name, **options)


def test_a_negative_step_is_refused():
    with pytest.raises(ValueError, match="wanted step as a whole number of at least 0"):
        PiecewiseLinear(knots=((0, 1.0),))(-1)
