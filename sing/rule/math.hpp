// Square root, clamp and softplus for float and double, the same text on host and device.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

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

// ln(1 + e⁻ʸ) for 0 ≤ y; what it gives above 20 is not used.
SING_HOST_DEVICE double log1p_exp_negative(double y) { return ::log1p(::exp(-y)); }

// The float version is branch-free so that loops vectorise, and uses no library function so that
// every instruction set gives the same bits. Its error is absolute, below 2.4e-7 ln 2: the sum it is
// added to is never smaller than ln 2 (tests/rule/math_test.cpp). Polynomials from tools/fit_softplus.py,
// summed in pairs because a chain of nine dependent steps would set the pace of the whole update.
SING_HOST_DEVICE float log1p_exp_negative(float y) {
  // e⁻ʸ = 2ᵏ·2ʳ, |r| ≤ 1/2; adding 1.5·2²³ rounds to the nearest whole k in the low bits.
  const float rounder = 12582912.0F;
  const float z = y * -1.44269504F;
  const float shifted = z + rounder;
  const float r = z - (shifted - rounder);
  const float r2 = r * r;
  const float exp2_r = (1.000000075F + 0.693147188F * r) + r2 * ((0.2402210749F + 0.05550357114F * r) + r2 * (0.009676031918F + 0.001339086336F * r));
  // Below 2⁻²⁹ the result does not matter, and smaller powers would be subnormal, which is slow.
  const std::int32_t whole =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder);
  const std::int32_t power = (whole > -29 ? whole : -29) << 23;
  const float t = std::bit_cast<float>(std::bit_cast<std::int32_t>(exp2_r) + power);
  // ln(1+t)/t on [0, 1].
  const float t2 = t * t;
  const float t4 = t2 * t2;
  const float low = (0.9999999659F + -0.4999944498F * t) + t2 * (0.3331812171F + -0.2483539899F * t);
  const float high = (0.1907688074F + -0.1360224762F * t) + t2 * (0.07751608674F + -0.02907406468F * t);
  return t * (low + t4 * (high + t4 * 0.005126102141F));
}

// softplus_β(x) = ln(1 + e^{βx})/β for x ≥ 0, linear above βx > 20 (docs/algorithm.md, eq. 7).
template <class Real>
SING_HOST_DEVICE Real softplus(Real x, Real beta, Real inverse_beta) {
  const Real y = beta * x;
  const Real curved = x + log1p_exp_negative(y) * inverse_beta;
  return y <= Real(20) ? curved : x;
}

}  // namespace sing
