// The options of an optimizer or of one of its groups, and access to them by name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

// The defaults are the paper's SING: AdamW with softplus on standardized gradients, LookAhead.
struct Options {
  Standardize standardize = {};
  Rule rule = AdamW{.softplus_beta = 50};
  std::optional<Lookahead> lookahead = Lookahead{};
  bool decay_vectors = false;
  bool master_weights = false;
  NonFinite non_finite = NonFinite::kSkipTensor;

  static constexpr auto fields() {
    return std::tuple{field("decay_vectors", &Options::decay_vectors,
                            "weight decay for tensors of rank 0 and 1 too"),
                      field("master_weights", &Options::master_weights,
                            "keep a float32 master of each 16-bit parameter"),
                      field("non_finite", &Options::non_finite,
                            "what becomes of a non-finite gradient; one for the whole optimizer")};
  }
};

// Options by name, as groups, files, the C interface and command lines give them. Names are those
// of the fields, and two more: "rule" (a rule's name, resets the rule's options) and "lookahead"
// (true or false). Applied in order.
using Overrides = std::vector<std::pair<std::string, Value>>;

// Every option with its present value. With LookAhead off its two options are left out.
std::vector<OptionInfo> list_options(const Options& options);

// Throws std::invalid_argument for an unknown name (naming the nearest) or a wrong kind of value.
void set_option(Options& options, std::string_view name, const Value& value);

Value get_option(const Options& options, std::string_view name);

// Throws std::invalid_argument if a value is out of its bounds or the options contradict.
void validate(const Options& options);

}  // namespace sing
