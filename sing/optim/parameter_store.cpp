// Adding, finding and checking parameters.
#include "sing/optim/parameter_store.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/base/strides.hpp"

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

// Checks a parameter against the options of its group.
void check_suits(const Parameter& parameter, const Options& options) {
  SING_CHECK(
      parameter.strides.empty() || takes_order(options.rule, parameter.shape, parameter.strides),
      "[optimizer] parameter {}: wanted an order in memory that rule '{}' takes, got strides "
      "[{}]",
      describe(parameter), name_of(options.rule), fmt::join(parameter.strides, ", "));
  const auto rank = static_cast<std::int64_t>(parameter.shape.size());
  const std::int64_t axis = options.standardize.centralize_axis;
  if (parameter.shard && newton_schulz_of(options.rule, rank >= 2)) {
    SING_CHECK(!parameter.shard->parts.empty(),
               "[optimizer] parameter {}: wanted a shard with the parts of all processes for rule "
               "'{}', which makes whole matrices orthogonal, got none",
               describe(parameter), name_of(options.rule));
    SING_CHECK(
        parameter.strides.empty() || is_contiguous(parameter.shape, parameter.strides),
        "[optimizer] parameter {}: wanted a contiguous shard for rule '{}', got strides [{}]",
        describe(parameter), name_of(options.rule), fmt::join(parameter.strides, ", "));
  }
  SING_CHECK(options.state == StateType::kFloat32 || parameter.dtype != Dtype::kFloat64,
             "[optimizer] parameter {}: wanted a float32 or 16-bit parameter for state 'bfloat16', "
             "got float64",
             describe(parameter));
  SING_CHECK(rank < 2 || axis < rank,
             "[optimizer] parameter {}: wanted a centralize_axis below its rank {}, got {}",
             describe(parameter), rank, axis);
}

// A misaligned address would be undefined behavior on the host and a fault on a device.
void check_aligned(const Parameter& parameter, const char* what, const void* memory, Dtype dtype) {
  SING_CHECK(reinterpret_cast<std::uintptr_t>(memory) % size_of(dtype) == 0,
             "[optimizer] parameter {}: wanted {} at a multiple of {} bytes, got address {}",
             describe(parameter), what, size_of(dtype), fmt::ptr(memory));
}

// Returns the number of elements. Sizes up to this bound do not overflow 64 bits anywhere.
double check_size(const std::string& who, const std::vector<std::int64_t>& shape) {
  double size = 1;
  for (const std::int64_t extent : shape) {
    size *= static_cast<double>(extent);
  }
  SING_CHECK(size < 0x1p60, "[optimizer] parameter {}: wanted fewer than 2^60 elements, got {}",
             who, size);
  return size;
}

void check_parameter(const Parameter& parameter) {
  const std::string who = describe(parameter);
  for (const std::int64_t extent : parameter.shape) {
    SING_CHECK(extent >= 0, "[optimizer] parameter {}: wanted extents of at least 0, got {}", who,
               extent);
  }
  const double size = check_size(who, parameter.shape);
  SING_CHECK(parameter.data != nullptr || size == 0,
             "[optimizer] parameter {}: wanted memory, got a null pointer", who);
  SING_CHECK(is_floating(parameter.dtype),
             "[optimizer] parameter {}: wanted a floating type, got {}", who,
             name_of(parameter.dtype));
  const Dtype gradient = parameter.gradient_dtype.value_or(parameter.dtype);
  const bool is_double = parameter.dtype == Dtype::kFloat64;
  SING_CHECK(is_floating(gradient) && (gradient == Dtype::kFloat64) == is_double,
             "[optimizer] parameter {}: wanted a {} gradient of a {} parameter, got {}", who,
             is_double ? "float64" : "float32, bfloat16 or float16", name_of(parameter.dtype),
             name_of(gradient));
  SING_CHECK(
      parameter.low_precision_copy == nullptr ||
          (parameter.dtype == Dtype::kFloat32 && is_low_precision(parameter.low_precision_dtype)),
      "[optimizer] parameter {}: wanted a 16-bit copy of a float32 parameter, got a {} copy of a "
      "{} parameter",
      who, name_of(parameter.low_precision_dtype), name_of(parameter.dtype));
  SING_CHECK(parameter.strides.empty() || (parameter.strides.size() == parameter.shape.size() &&
                                           is_dense(parameter.shape, parameter.strides)),
             "[optimizer] parameter {}: wanted memory without gaps and overlaps, got strides [{}]",
             who, fmt::join(parameter.strides, ", "));
  check_aligned(parameter, "its elements", parameter.data, parameter.dtype);
  check_aligned(parameter, "its gradient", parameter.gradient, gradient);
  check_aligned(parameter, "its 16-bit copy", parameter.low_precision_copy,
                parameter.low_precision_dtype);
}

// The parts must contain as many elements as the whole; that none contains an element of another is
// left to the caller.
void check_parts(const Parameter& parameter, const Shard& shard) {
  const std::string who = describe(parameter);
  SING_CHECK(shard.own_part < shard.parts.size(),
             "[optimizer] parameter {}: wanted own_part below {}, got {}", who, shard.parts.size(),
             shard.own_part);
  const Block own{.offset = shard.offset, .shape = parameter.shape};
  SING_CHECK(
      shard.parts[shard.own_part] == own,
      "[optimizer] parameter {}: wanted parts[{}] to be this parameter, of shape ({}) at offset "
      "({}), got shape ({}) at offset ({})",
      who, shard.own_part, fmt::join(own.shape, ", "), fmt::join(own.offset, ", "),
      fmt::join(shard.parts[shard.own_part].shape, ", "),
      fmt::join(shard.parts[shard.own_part].offset, ", "));
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < shard.parts.size(); ++i) {
    const auto& [offset, shape] = shard.parts[i];
    bool is_inside = offset.size() == own.shape.size() && shape.size() == own.shape.size();
    for (std::size_t axis = 0; is_inside && axis < shape.size(); ++axis) {
      is_inside = shape[axis] >= 0 && offset[axis] >= 0 &&
                  offset[axis] <= shard.whole_shape[axis] - shape[axis];
    }
    SING_CHECK(is_inside,
               "[optimizer] parameter {}: wanted part {} inside of ({}), got ({}) at ({})", who, i,
               fmt::join(shard.whole_shape, ", "), fmt::join(shape, ", "), fmt::join(offset, ", "));
    elements += product(shape);
  }
  SING_CHECK(elements == product(shard.whole_shape),
             "[optimizer] parameter {}: wanted parts with the {} elements of the whole tensor, got "
             "{}",
             who, product(shard.whole_shape), elements);
}

// Shards of one sum group that have parts must number the processes alike.
void check_alike(const Parameter& parameter, const Parameter& earlier) {
  const Shard& shard = *parameter.shard;
  const Shard& first = *earlier.shard;
  SING_CHECK(shard.parts.size() == first.parts.size() && shard.own_part == first.own_part,
             "[optimizer] parameter {}: wanted part {} of {} as parameter {} of sum_group {} has, "
             "got part {} of {}",
             describe(parameter), first.own_part, first.parts.size(), describe(earlier),
             shard.sum_group, shard.own_part, shard.parts.size());
}

void check_shard(const Parameter& parameter, const Shard& shard) {
  const std::string who = describe(parameter);
  const std::size_t rank = parameter.shape.size();
  SING_CHECK(shard.whole_shape.size() == rank && shard.offset.size() == rank,
             "[optimizer] parameter {}: wanted a shard with {} extents and offsets, got {} and {}",
             who, rank, shard.whole_shape.size(), shard.offset.size());
  SING_CHECK(shard.sum_group >= 0,
             "[optimizer] parameter {}: wanted a sum_group of at least 0, got {}", who,
             shard.sum_group);
  for (const std::int64_t axis : shard.cut_axes) {
    SING_CHECK(axis >= 0 && static_cast<std::size_t>(axis) < rank,
               "[optimizer] parameter {}: wanted cut axes below {}, got {}", who, rank, axis);
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_cut =
        std::ranges::find(shard.cut_axes, static_cast<std::int64_t>(axis)) != shard.cut_axes.end();
    const std::int64_t extent = parameter.shape[axis];
    const std::int64_t offset = shard.offset[axis];
    const std::int64_t whole = shard.whole_shape[axis];
    SING_CHECK(
        whole >= extent && offset >= 0 && offset <= whole - extent && (is_cut || extent == whole),
        "[optimizer] parameter {}: wanted a part of the whole tensor along axis {}, got {} "
        "elements from {} on of {}, {}cut",
        who, axis, extent, offset, whole, is_cut ? "" : "not ");
  }
  check_size(who, shard.whole_shape);
  if (!shard.parts.empty()) {
    check_parts(parameter, shard);
  }
}

// A tensor that is listed again, under any name, is the same parameter and is dropped. A gradient
// that is set only there is kept.
std::vector<Parameter> without_repeats(std::vector<Parameter> parameters) {
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
               "[optimizer] wanted one shape, order and type per address, got {} {} and {} {}",
               describe(first), name_of(first.dtype), describe(parameter),
               name_of(parameter.dtype));
    SING_CHECK(first.shard == parameter.shard,
               "[optimizer] wanted one shard per address, got {} and {} with different shards",
               describe(first), describe(parameter));
    SING_CHECK(first.gradient == nullptr || parameter.gradient == nullptr ||
                   first.gradient == parameter.gradient,
               "[optimizer] wanted one gradient per parameter, got two gradients of {}",
               describe(first));
    if (first.gradient == nullptr) {
      first.gradient = parameter.gradient;
      first.gradient_dtype = parameter.gradient_dtype;
    }
  }
  return kept;
}

}  // namespace

void ParameterStore::check_index(std::size_t index) const {
  SING_CHECK(index < entries_.size(), "[optimizer] wanted a parameter below {}, got {}",
             entries_.size(), index);
}

std::size_t ParameterStore::find(std::string_view name) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].parameter.name == name) {
      return i;
    }
    known.push_back(entries_[i].parameter.name);
  }
  throw std::invalid_argument(fmt::format("[optimizer] wanted the name of a parameter, got '{}'{}",
                                          name, did_you_mean(name, known)));
}

std::vector<Parameter> ParameterStore::prepare(std::vector<Parameter> parameters,
                                               const Options& options) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    if (parameter.name.empty()) {
      parameter.name = std::to_string(entries_.size() + i);
    }
    check_parameter(parameter);
    if (parameter.shard) {
      check_shard(parameter, *parameter.shard);
    }
    check_suits(parameter, options);
    if (!parameter.strides.empty() && is_contiguous(parameter.shape, parameter.strides)) {
      parameter.strides.clear();
    }
  }
  std::vector<Parameter> added = without_repeats(std::move(parameters));
  check_overlap(added);
  std::unordered_set<std::string_view> names;
  std::unordered_map<std::int32_t, const Parameter*> sharers;  // a shard with parts by sum group
  const auto check_parts_alike = [&](const Parameter& parameter) {
    if (parameter.shard && !parameter.shard->parts.empty()) {
      const auto found = sharers.emplace(parameter.shard->sum_group, &parameter).first;
      check_alike(parameter, *found->second);
    }
  };
  for (const Entry& entry : entries_) {
    names.insert(entry.parameter.name);
    check_parts_alike(entry.parameter);
  }
  for (const Parameter& parameter : added) {
    check_parts_alike(parameter);
    SING_CHECK(names.insert(parameter.name).second,
               "[optimizer] wanted names that differ, got two parameters named '{}'",
               parameter.name);
  }
  return added;
}

void ParameterStore::reserve_more(std::size_t count) { entries_.reserve(entries_.size() + count); }

void ParameterStore::add(std::vector<Parameter> parameters, std::size_t group,
                         std::int64_t centralize_axis) {
  for (Parameter& parameter : parameters) {
    const Layout layout = layout_of(parameter, centralize_axis);
    std::shared_ptr<const ShardLayout> shard = shard_layout_of(parameter, centralize_axis);
    if (shard != nullptr) {
      shards_.push_back(entries_.size());
    }
    entries_.push_back({std::move(parameter), group, layout, std::move(shard)});
  }
}

void ParameterStore::check_options(std::size_t group, const Options& options) const {
  for (const Entry& entry : entries_) {
    if (entry.group == group) {
      check_suits(entry.parameter, options);
    }
  }
}

void ParameterStore::set_centralize_axis(std::size_t group, std::int64_t axis) {
  for (Entry& entry : entries_) {
    if (entry.group == group) {
      entry.layout = layout_of(entry.parameter, axis);
      entry.shard = shard_layout_of(entry.parameter, axis);
    }
  }
}

void ParameterStore::set_gradient(std::size_t index, const void* gradient) {
  check_index(index);
  Parameter& parameter = entries_[index].parameter;
  check_aligned(parameter, "its gradient", gradient,
                parameter.gradient_dtype.value_or(parameter.dtype));
  parameter.gradient = gradient;
}

void ParameterStore::set_gradient(std::size_t index, const void* gradient, Dtype dtype) {
  check_index(index);
  Parameter changed = entries_[index].parameter;
  changed.gradient = gradient;
  changed.gradient_dtype = dtype;
  check_parameter(changed);
  entries_[index].parameter.gradient = gradient;
  entries_[index].parameter.gradient_dtype = dtype;
}

void ParameterStore::set_low_precision_copy(std::size_t index, void* copy, Dtype dtype) {
  check_index(index);
  Parameter changed = entries_[index].parameter;
  changed.low_precision_copy = copy;
  changed.low_precision_dtype = dtype;
  check_parameter(changed);
  entries_[index].parameter = std::move(changed);
}

void ParameterStore::set_data(std::size_t index, void* data) {
  check_index(index);
  Parameter changed = entries_[index].parameter;
  changed.data = data;
  check_parameter(changed);
  entries_[index].parameter.data = data;
  has_moved_ = true;
}

void ParameterStore::check_moved() {
  if (has_moved_) {
    check_overlap({});
    has_moved_ = false;
  }
}

void ParameterStore::check_overlap(const std::vector<Parameter>& added) const {
  std::vector<MemoryRange> ranges;
  for (const Entry& entry : entries_) {
    ranges.push_back(range_of(entry.parameter));
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
               "[optimizer] wanted parameters that do not share memory, got {} and {}",
               describe(*ranges[i - 1].parameter), describe(*ranges[i].parameter));
  }
}

}  // namespace sing
