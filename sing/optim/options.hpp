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
  std::optional<double> clip_norm = std::nullopt;
  bool master_weights = false;
  StateType state = StateType::kFloat32;
  NonFinite non_finite = NonFinite::kSkipTensor;

  bool clips() const { return clip_norm && standardize.keeps_scale(); }

  static constexpr auto fields() {
    return std::tuple{field("decay_vectors", &Options::decay_vectors,
                            "apply weight decay to tensors of rank 0 and 1 too"),
                      field("clip_norm", &Options::clip_norm,
                            "upper bound of the norm of all gradients together, as "
                            "torch.nn.utils.clip_grad_norm_ applies it before the step; none does "
                            "not clip, and normalized gradients do not change",
                            at_least(1e-30)),
                      field("master_weights", &Options::master_weights,
                            "keep a float32 master copy of each 16-bit parameter"),
                      field("state", &Options::state,
                            "type of moments and momentum: float32 (float64 for float64 "
                            "parameters), or bfloat16 with stochastic rounding"),
                      field("non_finite", &Options::non_finite,
                            "policy for non-finite gradients, the same for the whole optimizer")};
  }
};

// Options by name, as groups, files, the C interface and command lines set them, applied in order.
// Besides the names of the fields there are "rule" and "lookahead" (true or false). "rule" is a
// rule's name, which resets the rule's options; the name of a form may set clip_norm too.
using Overrides = std::vector<std::pair<std::string, Value>>;

// Every option with its present value. If LookAhead is off, the list leaves out its two options.
std::vector<OptionInfo> list_options(const Options& options);

// Throws std::invalid_argument for an unknown name, with the nearest known one, and for a value of
// the wrong kind.
void set_option(Options& options, std::string_view name, const Value& value);

Value get_option(const Options& options, std::string_view name);

// Throws std::invalid_argument if a value is out of its bounds or options contradict each other.
void validate(const Options& options);

}  // namespace sing
