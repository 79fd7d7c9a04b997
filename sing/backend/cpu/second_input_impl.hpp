// The second input of a block of elements, whichever a rule takes. Part of kernels_impl.hpp.

// Elements [begin, begin + count): where they lie, or in `buffer`; for rules without a second input
// nothing is read.
template <class R, class Real>
const Real* second_input_block(const TensorPass& pass, std::int64_t begin, std::int64_t count,
                               Real* buffer) {
  if constexpr (kIsFactored<R>) {
    estimate_block<R>(pass, begin, count, buffer);
  } else if constexpr (kTakesCurvature<R>) {
    const TensorStep& tensor = *pass.tensor;
    if (tensor.curvature == nullptr) {
      standardize_block(pass, begin, count, buffer);
      return buffer;
    }
    const auto factor = static_cast<Real>(pass.curvature_factor);
    with_type<Real>(tensor.curvature, tensor.gradient_dtype, begin,
                    [&](auto* from) { standardize_run(from, Real(0), factor, buffer, count); });
  } else if constexpr (kIsOrthogonal<R>) {
    if (pass.orthogonal != nullptr) {
      return static_cast<const Real*>(pass.orthogonal) + begin;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      buffer[i] = 0;
    }
  }
  return buffer;
}
