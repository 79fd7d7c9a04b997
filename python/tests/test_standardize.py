"""Tests standardizing: against explicit sums in double precision, on hand-computed cases, and by its properties."""

import itertools
import math

import pytest
import torch
from conftest import standardized

from sing.option_sets import Standardize
from sing.standardize import standardize_

SHAPES = [(), (1,), (7,), (4, 6), (3, 1), (1, 5), (2, 3, 4), (3, 2, 3, 2)]


def expected(gradient, options, loss_scale=1.0):
    """Applies equations 1 to 3 element by element, with exactly rounded sums."""
    values = gradient.detach().double()
    rows = {}
    for index in itertools.product(*map(range, values.shape)):
        row = index[options.centralize_axis] if options.centralize and values.dim() >= 2 else None
        rows.setdefault(row, []).append(index)
    centred = torch.zeros_like(values)
    for row, indices in rows.items():
        mean = 0.0 if row is None else math.fsum(values[index].item() for index in indices) / len(indices)
        for index in indices:
            centred[index] = values[index] - mean
    norm = math.sqrt(math.fsum(each * each for each in values.flatten().tolist()))
    centred_norm = math.sqrt(math.fsum(each * each for each in centred.flatten().tolist()))
    sums = torch.float64 if gradient.dtype == torch.float64 else torch.float32
    if norm > 0 and centred_norm <= 8 * torch.finfo(sums).eps * norm:
        return torch.zeros_like(values)
    if options.normalize == "off":
        return centred / loss_scale
    target = math.sqrt(values.numel() / options.reference_size) if options.normalize == "size_calibrated" else 1.0
    return centred * target / (centred_norm + options.norm_epsilon * loss_scale)


def bound(gradient, result):
    """Bounds an element's error. Two centerings round it 3 times, the norm's sum of n squares at most log2(n) + 2 times and half of
    that after the root, and the factor and the product 3 times; twice that covers the sums of the row means. One rounding to 16
    bits is added."""
    sums = torch.float64 if gradient.dtype == torch.float64 else torch.float32
    steps = 2 * (8 + math.log2(max(gradient.numel(), 2)))
    largest = result.abs().max().item() if result.numel() else 0.0
    stored = torch.finfo(gradient.dtype).eps if gradient.dtype != sums else 0.0
    return largest * (steps * torch.finfo(sums).eps + stored) + torch.finfo(gradient.dtype).tiny


def random_gradient(shape, dtype, seed=0, shift=0.3):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator, dtype=torch.float64) + shift).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("normalize", ["off", "unit_norm", "size_calibrated"])
@pytest.mark.parametrize("centralize", [True, False])
def test_every_shape_and_axis_agrees_with_exact_sums(dtype, normalize, centralize):
    for shape in SHAPES:
        for axis in range(max(len(shape), 1)):
            options = Standardize(centralize=centralize, centralize_axis=axis, normalize=normalize, reference_size=6)
            gradient = random_gradient(shape, dtype)
            want = expected(gradient, options)
            for in_place in (False, True):
                given = gradient.clone()
                (got,) = standardized([given], options, in_place=in_place)
                assert (got.gradient is given) == in_place
                assert got.gradient.dtype == dtype
                assert (got.gradient.double() - want).abs().max().item() <= bound(gradient, want), (shape, axis)
                assert torch.equal(given, gradient) or in_place
                assert got.norm == pytest.approx(gradient.double().norm().item(), rel=1e-5)


def test_a_hand_computed_case():
    gradient = torch.tensor([[1.0, 3.0], [2.0, 6.0]], dtype=torch.float64)
    (result,) = standardized([gradient], Standardize(norm_epsilon=0))
    assert torch.allclose(result.gradient, torch.tensor([[-1.0, 1.0], [-2.0, 2.0]], dtype=torch.float64) / math.sqrt(10), rtol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rows_that_are_constant_give_zero(dtype):
    for value, columns in ((0.1, 7), (1e4, 1000), (-3.7, 33)):
        gradient = torch.full((5, columns), value, dtype=dtype) * torch.arange(1, 6, dtype=dtype)[:, None]
        (result,) = standardized([gradient], Standardize())
        assert result.gradient.abs().max() == 0
        assert result.finite


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_guard_lies_at_eight_epsilons(dtype):
    for epsilons, norm in ((7, 0), (9, 1)):
        gradient = torch.ones(4, 8, dtype=dtype)
        gradient[:, ::2] += 2 * epsilons * torch.finfo(dtype).eps  # after centering ± this many, with a norm of √32
        (result,) = standardized([gradient], Standardize(norm_epsilon=0))
        assert result.gradient.norm().item() == pytest.approx(norm, abs=1e-6)


def test_a_zero_gradient_stays_zero_whatever_the_epsilon():
    for epsilon in (0.0, 1e-8):
        for gradient in (torch.zeros(3, 4), torch.zeros(0, 4), torch.zeros(())):
            (result,) = standardized([gradient], Standardize(norm_epsilon=epsilon))
            assert torch.equal(result.gradient, gradient)


def test_the_scale_of_a_gradient_does_not_matter():
    gradient = random_gradient((16, 24), torch.float64)
    (one,) = standardized([gradient], Standardize(norm_epsilon=0))
    (scaled,) = standardized([gradient * 65536], Standardize(norm_epsilon=0), 65536.0)
    assert torch.equal(one.gradient, scaled.gradient)
    off = Standardize(normalize="off", centralize=False)
    for scale in (65536.0, torch.tensor(65536.0)):
        assert torch.equal(standardized([gradient * 65536], off, scale)[0].gradient, gradient)
        scaled = gradient * 65536e-8
        (tiny,) = standardized([scaled], Standardize(), scale)
        assert torch.allclose(tiny.gradient, expected(scaled, Standardize(), 65536.0), rtol=1e-12)
        assert tiny.norm == pytest.approx(gradient.norm().item() * 1e-8, rel=1e-12)


def test_float16_squares_do_not_overflow():
    gradient = torch.full((64, 64), 40.0, dtype=torch.float16)
    gradient[:, ::2] = -40
    (result,) = standardized([gradient], Standardize())
    assert result.finite
    assert result.gradient.double().norm().item() == pytest.approx(1, rel=1e-3)


def test_memory_layouts_give_the_same_numbers():
    gradient = random_gradient((4, 3, 5, 2), torch.float32)
    want = expected(gradient, Standardize(centralize_axis=1))
    layouts = [gradient.to(memory_format=torch.channels_last), gradient.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0)]
    spread = torch.zeros(8, 3, 5, 2)
    spread[::2] = gradient
    for given in (*layouts, spread[::2]):
        assert not given.is_contiguous()
        (result,) = standardized([given], Standardize(centralize_axis=1))
        assert (result.gradient.double() - want).abs().max().item() <= bound(gradient, want)
        standardize_(given, centralize_axis=1)
        assert (given.double() - want).abs().max().item() <= bound(gradient, want)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, 1e25])
def test_non_finite_gradients_are_seen(bad):
    fine, gradient = random_gradient((3, 4), torch.float32), random_gradient((3, 4), torch.float32)
    gradient[1, 2] = bad
    before = fine.clone(), gradient.clone()
    results = standardized([fine, gradient], Standardize())
    assert [bool(result.finite) for result in results] == [True, False]
    with pytest.raises(FloatingPointError, match="second"):
        standardize_([("first", fine), ("second", gradient)], error_if_nonfinite=True)
    assert torch.equal(fine, before[0]) and torch.equal(gradient.nan_to_num(7), before[1].nan_to_num(7))


def test_parameters_gradients_pairs_and_groups_are_accepted():
    weight, bias = torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(2))
    unused, frozen = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    values = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 3.0]]), torch.tensor([3.0, 4.0])
    want = [expected(value, Standardize()) for value in values]

    def reset():
        weight.grad, bias.grad = values[0].clone(), values[1].clone()
        return weight.grad, bias.grad

    forms = [
        lambda: [weight, bias, unused, frozen, weight],
        lambda: iter([weight.grad, bias.grad]),
        lambda: [("weight", weight), ("bias", bias)],
        lambda: [{"params": [weight]}, {"params": [bias, unused]}],
    ]
    for form in forms:
        gradients = reset()
        assert standardize_(form()) is None
        assert weight.grad is gradients[0] and bias.grad is gradients[1]
        for got, exact in zip(gradients, want):
            assert torch.allclose(got.double(), exact, atol=1e-6)
        assert unused.grad is None and frozen.grad is None
    reset()
    standardize_([{"params": [weight], "centralize": False}, {"params": [bias], "normalize": "off"}])
    assert torch.allclose(weight.grad, values[0] / values[0].norm())
    assert torch.equal(bias.grad, values[1])


def test_bad_input_is_refused_before_anything_is_written():
    good = torch.nn.Parameter(torch.zeros(2, 3))
    good.grad = random_gradient((2, 3), torch.float32)
    before = good.grad.clone()
    sparse = torch.nn.Parameter(torch.zeros(2, 3))
    sparse.grad = torch.eye(3)[:2].to_sparse()
    cases = [
        (TypeError, "sparse", dict(tensors=[good, sparse])),
        (TypeError, "floating-point", dict(tensors=[good, torch.zeros(2, dtype=torch.int64)])),
        (TypeError, "floating-point", dict(tensors=[good, torch.zeros(2, dtype=torch.complex64)])),
        (TypeError, "wanted a tensor", dict(tensors=[good, 3.0])),
        (TypeError, "did you mean 'centralize'", dict(tensors=[good], centralise=True)),
        (ValueError, "below the rank 2", dict(tensors=[torch.zeros(2, 3, 4), good], centralize_axis=2)),
        (ValueError, "normalize", dict(tensors=[good], normalize="yes")),
        (ValueError, "norm_epsilon", dict(tensors=[good], norm_epsilon=-1.0)),
        (ValueError, "norm_epsilon", dict(tensors=[good], norm_epsilon=math.nan)),
        (ValueError, "reference_size", dict(tensors=[good], reference_size=0)),
        (ValueError, "centralize_axis", dict(tensors=[good], centralize_axis=-1)),
        (TypeError, "wanted centralize as True or False, got 1", dict(tensors=[good], centralize=1)),
    ]
    for error, text, arguments in cases:
        with pytest.raises(error, match=text):
            standardize_(**arguments)
        assert torch.equal(good.grad, before)
