// Options as JSON text.
#include "adapters/torch/operators/json_options.hpp"

#include "sing/base/message.hpp"
#include "sing/io/value_json.hpp"

namespace sing::operators {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Overrides overrides_of(const std::string& text) {
  Overrides overrides;
  try {
    const Json json = Json::parse(text);
    for (const auto& [name, value] : json.items()) {
      overrides.emplace_back(name, from_json(value, name));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(
        fmt::format("[options] wanted a JSON object, got other text: {}", error.what()));
  }
  return overrides;
}

std::string json_of(const std::vector<OptionInfo>& options) {
  Json json = Json::object();
  for (const OptionInfo& info : options) {
    json[info.name] = to_json(info.value);
  }
  return json.dump();
}

}  // namespace sing::operators
