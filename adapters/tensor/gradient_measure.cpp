// Measures gradients by a step that is always abandoned.
#include "adapters/tensor/gradient_measure.hpp"

#include <limits>
#include <string>

namespace sing {
namespace {

Options measuring_options() {
  Options options;
  options.rule = Gradient{};  // keeps no state
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.lookahead.reset();
  options.non_finite = NonFinite::kSkipStep;
  return options;
}

}  // namespace

GradientMeasure::GradientMeasure(std::span<const Parameter> parameters,
                                 std::shared_ptr<Backend> backend)
    : nan_(backend->allocate(sizeof(float))), optimizer_(measuring_options(), backend) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  backend->write(nan_.get(), &nan, sizeof(nan));
  std::vector<Parameter> listed;
  for (const Parameter& each : parameters) {
    listed.push_back({.name = std::to_string(listed.size()),
                      .data = each.data,
                      .shape = each.shape,
                      .strides = each.strides,
                      .dtype = each.dtype});
  }
  listed.push_back({.name = "nan", .data = nan_.get(), .shape = {1}, .gradient = nan_.get()});
  optimizer_.add_group(std::move(listed));
}

MeasuredGradients GradientMeasure::run(std::span<const Parameter> parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& each = parameters[i];
    optimizer_.set_data(i, each.data);
    optimizer_.set_gradient(i, each.gradient, each.gradient_dtype.value_or(each.dtype));
  }
  optimizer_.step();
  const std::int64_t first = optimizer_.status().first_non_finite;
  return {.all_finite = first == static_cast<std::int64_t>(parameters.size()) + 1,
          .norms = optimizer_.gradient_norms()};
}

}  // namespace sing
