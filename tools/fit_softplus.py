"""Fits the two polynomials of sing/rule/math.hpp and prints their coefficients and errors."""

import mpmath

mpmath.mp.dps = 40


def show(title: str, function, interval, terms: int) -> None:
    coefficients, error = mpmath.chebyfit(function, interval, terms, error=True)
    print(f"{title}: {terms} terms, largest error {mpmath.nstr(error, 3)}")
    for power, coefficient in enumerate(reversed(coefficients)):
        print(f"  x^{power}  {mpmath.nstr(coefficient, 10)}")


show("2^r", lambda r: mpmath.mpf(2) ** r, [-0.5, 0.5], 6)
show("ln(1 + t) / t", lambda t: mpmath.log1p(t) / t if t else mpmath.mpf(1), [0, 1], 9)
