"""Fits the quotient of polynomials in softplus() of sing/rule/math.hpp and prints its coefficients and error.

ln(2 cosh h) = A(h²) / B(h²) for 0 ≤ h ≤ LIMIT, such that the largest error relative to softplus(2h) = h + ln(2 cosh h) is
least (Remez exchange). Beyond LIMIT softplus(2h) is taken for 2h.
"""

import mpmath

mpmath.mp.dps = 40
LIMIT = mpmath.mpf("6.6")
TERMS_ABOVE, TERMS_BELOW = 6, 5
ROUNDS = 30
SAMPLES = 4000


def log_two_cosh(h):
    return h + mpmath.log1p(mpmath.exp(-2 * h))


def polynomial(coefficients, w):
    return mpmath.polyval(list(reversed(coefficients)), w)


def solve(reference, below):
    """The quotient whose relative error has equal sizes and alternating signs at the reference points."""
    unknowns = TERMS_ABOVE + TERMS_BELOW
    matrix, right = mpmath.matrix(unknowns), mpmath.matrix(unknowns, 1)
    for row, h in enumerate(reference):
        w, value = h * h, log_two_cosh(h)
        for k in range(TERMS_ABOVE):
            matrix[row, k] = w**k
        for k in range(1, TERMS_BELOW):
            matrix[row, TERMS_ABOVE + k - 1] = -value * w**k
        matrix[row, unknowns - 1] = (-1) ** row * (h + value) * polynomial(below, w)
        right[row] = value
    solution = list(mpmath.lu_solve(matrix, right))
    return solution[:TERMS_ABOVE], [mpmath.mpf(1), *solution[TERMS_ABOVE : unknowns - 1]]


def extrema(above, below):
    """The point of largest error between each two changes of its sign."""
    points, last_sign = [], 0
    for i in range(SAMPLES + 1):
        h = LIMIT * (1 - mpmath.cos(mpmath.pi * i / SAMPLES)) / 2
        value = log_two_cosh(h)
        error = (polynomial(above, h * h) / polynomial(below, h * h) - value) / (h + value)
        if mpmath.sign(error) != last_sign:
            points.append((abs(error), h))
            last_sign = mpmath.sign(error)
        elif abs(error) > points[-1][0]:
            points[-1] = (abs(error), h)
    return points


count = TERMS_ABOVE + TERMS_BELOW
reference = [LIMIT * (1 - mpmath.cos(mpmath.pi * i / (count - 1))) / 2 for i in range(count)]
below = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (TERMS_BELOW - 1)
for _ in range(ROUNDS):
    above, below = solve(reference, below)
    points = extrema(above, below)
    if len(points) == count:
        reference = [h for _, h in points]

print("largest error", mpmath.nstr(max(error for error, _ in points), 4))
print("of the line beyond the limit", mpmath.nstr((log_two_cosh(LIMIT) - LIMIT) / (2 * LIMIT), 4))
for name, coefficients in (("above", above), ("below", below)):
    for power, coefficient in enumerate(coefficients):
        print(f"{name} w^{power}  {mpmath.nstr(coefficient, 10)}")
