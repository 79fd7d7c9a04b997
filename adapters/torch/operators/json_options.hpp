// Options as JSON text, the form in which Python gives and reads them.
#pragma once

#include <string>

#include "sing/optim/options.hpp"
#include "sing/optim/schedule.hpp"

namespace sing::operators {

// The members of a JSON object in their order; throws std::invalid_argument for other text.
Overrides overrides_of(const std::string& json);

std::string json_of(const std::vector<OptionInfo>& options);

}  // namespace sing::operators
