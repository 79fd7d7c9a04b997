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

// ln(1 + e⁻ʸ) for 0 ≤ y ≤ 20.
SING_HOST_DEVICE double log1p_exp_negative(double y) { return ::log1p(::exp(-y)); }

// The float version is branch-free so that loops vectorise, and uses no library function so that
// every instruction set gives the same bits. Error below 1.2e-7 of ln 2 (tests/rule/math_test.cpp).
SING_HOST_DEVICE float log1p_exp_negative(float y) {
  // e⁻ʸ = 2ᵏ·eʳ, |r| ≤ ln2/2; adding 1.5·2²³ rounds to the nearest whole k in the low bits.
  const float rounder = 12582912.0F;
  const float shifted = y * -1.44269504F + rounder;
  const float k = shifted - rounder;
  const float r = (-y - k * 0.693359375F) + k * 2.12194440e-4F;  // ln 2 in two parts (Cody, Waite)
  const float exp_r = 1.0F + (r + r * r * (0.5F + r * (0.1666657703F + r * (0.04166655466F + r * (0.008363173075F + r * (0.001392617612F))))));
  const std::int32_t power =
      (std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder)) << 23;
  const float t = std::bit_cast<float>(std::bit_cast<std::int32_t>(exp_r) + power);
  // Both polynomials are fitted by tools/fit_softplus.py; this one is ln(1+t)/t on [0, 1].
  return t * (0.9999999659F + t * (-0.4999944498F + t * (0.3331812171F + t * (-0.2483539899F + t * (0.1907688074F + t * (-0.1360224762F + t * (0.07751608674F + t * (-0.02907406468F + t * (0.005126102141F)))))))));
}

// softplus_β(x) = ln(1 + e^{βx})/β for x ≥ 0, linear above βx > 20 (docs/algorithm.md, eq. 7).
template <class Real>
SING_HOST_DEVICE Real softplus(Real x, Real beta, Real inverse_beta) {
  const Real y = beta * x;
  const Real curved = x + log1p_exp_negative(smaller(y, Real(20))) * inverse_beta;
  return y <= Real(20) ? curved : x;
}

}  // namespace sing
