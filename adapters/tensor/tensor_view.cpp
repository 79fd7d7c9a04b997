// Checks of parameters and gradients that all adapters share.
#include "adapters/tensor/tensor_view.hpp"

#include <algorithm>

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"

namespace sing {
namespace {

constexpr const char* kTypes = "float32, float64, bfloat16 or float16";

std::string in_brackets(std::span<const std::int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

std::string Subject::text() const { return fmt::format("[{}] {} '{}': ", where, role, name); }

TensorFacts facts_of_parameter(const TensorView& tensor, const Subject& subject) {
  SING_CHECK(tensor.is_strided, "{}wanted a dense tensor, got a sparse one", subject.text());
  SING_CHECK(tensor.dtype, "{}wanted {}, got another type", subject.text(), kTypes);
  SING_CHECK(tensor.device, "{}wanted a CPU or CUDA device, got another one", subject.text());
  return {.device = *tensor.device,
          .dtype = *tensor.dtype,
          .sizes = {tensor.sizes.begin(), tensor.sizes.end()},
          .strides = {tensor.strides.begin(), tensor.strides.end()}};
}

void check_unchanged(const TensorView& tensor, const TensorFacts& parameter,
                     const Subject& subject) {
  const bool is_unchanged = tensor.is_strided && tensor.device == parameter.device &&
                            tensor.dtype == parameter.dtype &&
                            std::ranges::equal(tensor.sizes, parameter.sizes) &&
                            std::ranges::equal(tensor.strides, parameter.strides);
  SING_CHECK(is_unchanged,
             "{}wanted {} on {} with shape {} and strides {}, as when it was added, got {} on {} "
             "with shape {} and strides {}",
             subject.text(), name_of(parameter.dtype), name_of(parameter.device),
             in_brackets(parameter.sizes), in_brackets(parameter.strides),
             tensor.dtype ? name_of(*tensor.dtype) : "another type",
             tensor.device ? name_of(*tensor.device) : "another device", in_brackets(tensor.sizes),
             in_brackets(tensor.strides));
}

void check_gradient(const TensorView& gradient, const TensorFacts& parameter,
                    const Subject& subject, Elsewhere elsewhere) {
  SING_CHECK(gradient.is_strided, "{}wanted a dense tensor, got a sparse one", subject.text());
  SING_CHECK(std::ranges::equal(gradient.sizes, parameter.sizes), "{}wanted shape {}, got {}",
             subject.text(), in_brackets(parameter.sizes), in_brackets(gradient.sizes));
  SING_CHECK(elsewhere == Elsewhere::kAllowed || gradient.device == parameter.device,
             "{}wanted a tensor on {}, got one on {}", subject.text(), name_of(parameter.device),
             gradient.device ? name_of(*gradient.device) : "another device");
  SING_CHECK(gradient.dtype, "{}wanted {}, got another type", subject.text(), kTypes);
  SING_CHECK((*gradient.dtype == Dtype::kFloat64) == (parameter.dtype == Dtype::kFloat64),
             "{}wanted a type that a {} parameter takes, got {}", subject.text(),
             name_of(parameter.dtype), name_of(*gradient.dtype));
}

bool lies_alike(const TensorView& gradient, const TensorFacts& parameter) {
  return gradient.device == parameter.device &&
         same_places(gradient.sizes, gradient.strides, parameter.strides);
}

}  // namespace sing
