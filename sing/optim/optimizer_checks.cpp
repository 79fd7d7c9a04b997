// What an optimizer demands of the parameters it is given, before anything is changed.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing {
namespace {

struct MemoryRange {
  const std::byte* begin;
  const std::byte* end;
  const Parameter* parameter;
};

MemoryRange range_of(const Parameter& parameter) {
  const auto* begin = static_cast<const std::byte*>(parameter.data);
  return {begin, begin + count_elements(parameter.shape) * size_of(parameter.dtype), &parameter};
}

}  // namespace

bool Optimizer::takes_curvature(std::size_t parameter) const {
  parameter_name(parameter);  // refuses an unknown index
  return std::visit([]<class R>(const R&) { return kTakesCurvature<R>; },
                    groups_[parameters_[parameter].group].options.rule);
}

// A tensor listed again under any name is the same parameter and is dropped; a gradient given
// only there is kept.
std::vector<Parameter> Optimizer::without_repeats(std::vector<Parameter> parameters) const {
  std::vector<Parameter> kept;
  std::unordered_map<const void*, std::size_t> seen;
  for (Parameter& parameter : parameters) {
    const bool has_memory = parameter.data != nullptr && count_elements(parameter.shape) > 0;
    const auto earlier = has_memory ? seen.find(parameter.data) : seen.end();
    if (earlier == seen.end()) {
      if (has_memory) {
        seen.emplace(parameter.data, kept.size());
      }
      kept.push_back(std::move(parameter));
      continue;
    }
    Parameter& first = kept[earlier->second];
    SING_CHECK(first.shape == parameter.shape && first.strides == parameter.strides &&
                   first.dtype == parameter.dtype,
               "[optimizer] {} {} has the memory of {} {}", describe(parameter),
               name_of(parameter.dtype), describe(first), name_of(first.dtype));
    SING_CHECK(first.gradient == nullptr || parameter.gradient == nullptr ||
                   first.gradient == parameter.gradient,
               "[optimizer] {} is listed twice with two gradients", describe(first));
    if (first.gradient == nullptr) {
      first.gradient = parameter.gradient;
      first.gradient_dtype = parameter.gradient_dtype;
    }
  }
  return kept;
}

void Optimizer::check_parameter(const Parameter& parameter, const Options& options) const {
  const std::string who = fmt::format("[optimizer] parameter {}: ", describe(parameter));
  for (const std::int64_t extent : parameter.shape) {
    SING_CHECK(extent >= 0, "{}extents must not be negative", who);
  }
  double size = 1;
  for (const std::int64_t extent : parameter.shape) {
    size *= static_cast<double>(extent);
  }
  SING_CHECK(size < 0x1p60, "{}wanted fewer than 2^60 elements", who);
  SING_CHECK(parameter.data != nullptr || size == 0, "{}wanted memory, got a null pointer", who);
  SING_CHECK(is_floating(parameter.dtype), "{}wanted a floating type, got {}", who,
             name_of(parameter.dtype));
  const Dtype gradient = parameter.gradient_dtype.value_or(parameter.dtype);
  SING_CHECK(is_floating(gradient) &&
                 (gradient == Dtype::kFloat64) == (parameter.dtype == Dtype::kFloat64),
             "{}a {} parameter cannot take a {} gradient", who, name_of(parameter.dtype),
             name_of(gradient));
  SING_CHECK(
      parameter.low_precision_copy == nullptr ||
          (parameter.dtype == Dtype::kFloat32 && is_low_precision(parameter.low_precision_dtype)),
      "{}wanted a 16-bit copy of a float32 parameter, got a {} copy of a {} one", who,
      name_of(parameter.low_precision_dtype), name_of(parameter.dtype));
  if (!parameter.strides.empty()) {
    SING_CHECK(parameter.strides.size() == parameter.shape.size() &&
                   is_dense(parameter.shape, parameter.strides),
               "{}wanted memory without gaps and overlaps, got strides [{}]", who,
               fmt::join(parameter.strides, ", "));
    SING_CHECK(takes_order(options.rule, parameter.shape, parameter.strides),
               "{}wanted an order in memory that rule '{}' takes, got strides [{}]", who,
               name_of(options.rule), fmt::join(parameter.strides, ", "));
  }
  const auto rank = static_cast<std::int64_t>(parameter.shape.size());
  SING_CHECK(rank < 2 || options.standardize.centralize_axis < rank,
             "{}centralize_axis must be below the rank {}, got {}", who, rank,
             options.standardize.centralize_axis);
}

void Optimizer::check_overlap(const std::vector<Parameter>& added) const {
  std::vector<MemoryRange> ranges;
  for (const Record& record : parameters_) {
    ranges.push_back(range_of(record.parameter));
  }
  for (const Parameter& parameter : added) {
    ranges.push_back(range_of(parameter));
  }
  std::erase_if(ranges, [](const MemoryRange& range) { return range.begin == range.end; });
  std::sort(ranges.begin(), ranges.end(), [](const MemoryRange& a, const MemoryRange& b) {
    return std::less<>{}(a.begin, b.begin);
  });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    SING_CHECK(!std::less<>{}(ranges[i].begin, ranges[i - 1].end),
               "[optimizer] {} and {} share memory", describe(*ranges[i - 1].parameter),
               describe(*ranges[i].parameter));
  }
}

}  // namespace sing
