// Options as JSON text.
#include "adapters/torch/operators/json_options.hpp"

#include <nlohmann/json.hpp>

namespace sing::operators {
namespace {

using Json = nlohmann::ordered_json;

Value value_of(const std::string& name, const Json& json) {
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  if (json.is_number_integer()) {
    return json.get<std::int64_t>();
  }
  if (json.is_number()) {
    return json.get<double>();
  }
  if (json.is_string()) {
    return json.get<std::string>();
  }
  SING_CHECK(json.is_null(), "[", name, "] wanted a plain value, got ", json.dump());
  return std::monostate{};
}

Json json_of(const Value& value) {
  return std::visit(
      []<class T>(const T& each) -> Json {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else {
          return each;
        }
      },
      value);
}

}  // namespace

Overrides overrides_of(const std::string& text) {
  Overrides overrides;
  try {
    const Json json = Json::parse(text);
    for (const auto& [name, value] : json.items()) {
      overrides.emplace_back(name, value_of(name, value));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(concat("[options] wanted a JSON object: ", error.what()));
  }
  return overrides;
}

std::string json_of(const std::vector<OptionInfo>& options) {
  Json json = Json::object();
  for (const OptionInfo& info : options) {
    json[info.name] = json_of(info.value);
  }
  return json.dump();
}

}  // namespace sing::operators
