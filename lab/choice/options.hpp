// Defines the options of multiple choice.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::choice {

enum class ChoiceSet : std::int32_t { kSwag, kHellaSwag, kCodah };

constexpr auto enum_names(ChoiceSet) {
  return std::to_array<EnumName<ChoiceSet>>({{ChoiceSet::kSwag, "swag"},
                                             {ChoiceSet::kHellaSwag, "hellaswag"},
                                             {ChoiceSet::kCodah, "codah"}});
}

struct ChoiceOptions {
  ChoiceSet set = ChoiceSet::kSwag;
  std::int64_t length = 80;
  bool stand_in = false;
  std::int64_t stand_in_count = 2000;

  static constexpr auto fields() {
    using O = ChoiceOptions;
    return std::tuple{
        field("set", &O::set, "swag, hellaswag or codah: the form of the files"),
        field("length", &O::length,
              "tokens of a context with one ending and special tokens; the rest is left out",
              between(8, 4096)),
        field("stand_in", &O::stand_in, "train on generated questions; results mean nothing"),
        field("stand_in_count", &O::stand_in_count, "generated questions for training",
              between(1, 1e6))};
  }
};

}  // namespace sing::lab::choice
