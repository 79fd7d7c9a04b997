// Square root, clamp, sign and softplus for float and double, the same text on host and device.
#pragma once

#include <cmath>

#include "sing/base/portable.hpp"

namespace sing {

SING_HOST_DEVICE float square_root(float x) {
#if defined(__CUDA_ARCH__)
  return ::sqrtf(x);  // within 1 ulp: device code is compiled with --prec-sqrt=false
#else
  return __builtin_sqrtf(x);
#endif
}

SING_HOST_DEVICE double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return ::sqrt(x);
#else
  return __builtin_sqrt(x);
#endif
}

template <class Real>
SING_HOST_DEVICE Real larger(Real a, Real b) {
  return a > b ? a : b;
}

template <class Real>
SING_HOST_DEVICE Real smaller(Real a, Real b) {
  return a < b ? a : b;
}

// −1, 0 or 1.
template <class Real>
SING_HOST_DEVICE Real sign(Real x) {
  return Real(x > 0 ? 1 : 0) - Real(x < 0 ? 1 : 0);
}

// above / below. Both parts are kept, so that dividing by the quotient costs one division.
template <class Real>
struct Quotient {
  Real above, below;
};

// Constants of softplus(β · factor · √v).
template <class Real>
struct Softplus {
  Real beta;  // 0 turns softplus off
  Real half;  // β · factor / 2
  Real half_squared;
  Real near_zero_limit;  // the v up to which softplus_near_zero() holds
  // Set by a loop that has checked that all its v are below the limit.
  bool is_near_zero = false;

  SING_HOST_DEVICE static Softplus of(double beta, double factor) {
    const double half = beta * factor / 2;
    return {Real(beta), Real(half), Real(half * half), Real(0.49 / (half * half))};
  }
};

// softplus(y) = ln(1 + eʸ) for y = β · factor · √v, linear above y > 20: β times the softplus_β of
// docs/algorithm.md, eq. 7. Rules multiply their step size by β once instead.
SING_HOST_DEVICE Quotient<double> softplus(double v, const Softplus<double>& c) {
  const double y = 2 * (square_root(v) * c.half);
  return {y <= 20 ? y + ::log1p(::exp(-y)) : y, 1.0};
}

// With h = y/2 and w = h², softplus(y) = h + ln(2 cosh h), and ln(2 cosh h) is a polynomial in w
// for h ≤ 0.7 to 6.4e-8 of the sum. Normalized gradients of large tensors almost always stay in
// this range.
SING_HOST_DEVICE Quotient<float> softplus_near_zero(float v, const Softplus<float>& c) {
  const float h = square_root(v) * c.half;
  const float w = v * c.half_squared;
  const float even = (0.6931472246F + 0.4999938686F * w) +
                     w * w * ((-0.0832165883F + 0.02146880455F * w) + w * w * -0.004725122877F);
  return {h + even, 1.0F};
}

// Everywhere, ln(2 cosh h) = A(w)/B(w) for h ≤ 6.6 to 1.4e-7 of the sum; beyond, it is h to 1.5e-7
// of it. It has no branch and calls no library function, so that loops vectorize and every
// instruction set gives the same bits. w is computed from v, so that the polynomials
// (tools/fit_softplus.py) do not depend on the root. Terms are summed in pairs: the latency of a
// chain would bound the whole update.
SING_HOST_DEVICE Quotient<float> softplus_anywhere(float v, const Softplus<float>& c) {
  const float h = square_root(v) * c.half;
  const float w = smaller(v * c.half_squared, 43.56F);
  const float w2 = w * w;
  const float a =
      (0.6931472752F + 0.8836834456F * w) +
      w2 * ((0.2506872998F + 0.01957992638F * w) + w2 * (0.0003540633579F + 6.478649123e-7F * w));
  const float b = (1.0F + 0.5535443786F * w) +
                  w2 * ((0.08255965142F + 0.003243755322F * w) + w2 * 2.274197563e-5F);
  const float line = h * b;
  return {line + larger(a, line), b};
}

SING_HOST_DEVICE Quotient<float> softplus(float v, const Softplus<float>& c) {
#if defined(__CUDA_ARCH__)
  return softplus_anywhere(v, c);  // the GPU is bandwidth-bound, so it always uses the general form
#else
  return c.is_near_zero ? softplus_near_zero(v, c) : softplus_anywhere(v, c);
#endif
}

}  // namespace sing
