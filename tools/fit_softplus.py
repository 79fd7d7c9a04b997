"""Fits the two polynomials of sing/rule/math.hpp and prints their coefficients and errors."""

import mpmath

mpmath.mp.dps = 40


def show(title: str, function, interval, terms: int) -> None:
    coefficients, error = mpmath.chebyfit(function, interval, terms, error=True)
    print(f"{title}: {terms} terms, largest error {mpmath.nstr(error, 3)}")
    for power, coefficient in enumerate(reversed(coefficients)):
        print(f"  x^{power}  {mpmath.nstr(coefficient, 10)}")


half_log2 = mpmath.log(2) / 2
show("(e^r - 1 - r) / r^2",
     lambda r: (mpmath.e ** r - 1 - r) / r ** 2 if abs(r) > 1e-9 else mpmath.mpf(1) / 2,
     [-half_log2, half_log2], 5)
show("ln(1 + t) / t", lambda t: mpmath.log1p(t) / t if t else mpmath.mpf(1), [0, 1], 9)
