"""Fits the quotient of polynomials in softplus() of sing/rule/math.hpp and prints its coefficients and its error.

The fit is ln(2 cosh h) = A(h²) / B(h²) for 0 ≤ h ≤ LIMIT. It minimizes the largest error relative to
softplus(2h) = h + ln(2 cosh h) (Remez exchange). Beyond LIMIT, softplus(2h) is replaced by 2h.
"""

import mpmath

mpmath.mp.dps = 40
ROUNDS = 30
SAMPLES = 4000


def log_two_cosh(h):
    return h + mpmath.log1p(mpmath.exp(-2 * h))


def polynomial(coefficients, w):
    return mpmath.polyval(list(reversed(coefficients)), w)


def solve(reference, below, terms_above):
    """Returns the quotient whose relative error has equal sizes and alternating signs at the reference points."""
    unknowns = terms_above + len(below)
    matrix, right = mpmath.matrix(unknowns), mpmath.matrix(unknowns, 1)
    for row, h in enumerate(reference):
        w, value = h * h, log_two_cosh(h)
        for k in range(terms_above):
            matrix[row, k] = w**k
        for k in range(1, len(below)):
            matrix[row, terms_above + k - 1] = -value * w**k
        matrix[row, unknowns - 1] = (-1) ** row * (h + value) * polynomial(below, w)
        right[row] = value
    solution = list(mpmath.lu_solve(matrix, right))
    return solution[:terms_above], [mpmath.mpf(1), *solution[terms_above : unknowns - 1]]


def extrema(above, below, limit):
    """Returns the point of largest error between each two sign changes of the error."""
    points, last_sign = [], 0
    for i in range(SAMPLES + 1):
        h = limit * (1 - mpmath.cos(mpmath.pi * i / SAMPLES)) / 2
        value = log_two_cosh(h)
        error = (polynomial(above, h * h) / polynomial(below, h * h) - value) / (h + value)
        if mpmath.sign(error) != last_sign:
            points.append((abs(error), h))
            last_sign = mpmath.sign(error)
        elif abs(error) > points[-1][0]:
            points[-1] = (abs(error), h)
    return points


def fit(limit, terms_above, terms_below):
    count = terms_above + terms_below
    reference = [limit * (1 - mpmath.cos(mpmath.pi * i / (count - 1))) / 2 for i in range(count)]
    below = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (terms_below - 1)
    for _ in range(ROUNDS):
        above, below = solve(reference, below, terms_above)
        points = extrema(above, below, limit)
        if len(points) == count:
            reference = [h for _, h in points]
    print("up to h =", mpmath.nstr(limit, 4), "largest error", mpmath.nstr(max(error for error, _ in points), 4))
    for name, coefficients in (("above", above), ("below", below)):
        for power, coefficient in enumerate(coefficients):
            print(f"{name} w^{power}  {mpmath.nstr(coefficient, 10)}")


if __name__ == "__main__":
    LIMIT = mpmath.mpf("6.6")
    fit(LIMIT, 6, 5)
    print("error of 2h beyond the limit", mpmath.nstr((log_two_cosh(LIMIT) - LIMIT) / (2 * LIMIT), 4))
    fit(mpmath.mpf("0.7"), 5, 1)
