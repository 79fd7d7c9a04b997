// Reads model_shapes.json.
#include "bench/model_shapes.hpp"

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sing/base/message.hpp"

namespace sing::bench {

ModelShapes load_model_shapes(const std::filesystem::path& file, const std::string& name) {
  std::ifstream stream(file);
  if (!stream) {
    throw FileError(fmt::format("[shapes] wanted a readable file, got {}", file.string()));
  }
  const nlohmann::json models = nlohmann::json::parse(stream);
  SING_CHECK(models.contains(name), "[shapes] wanted a model of {}, got '{}'", file.string(), name);
  const nlohmann::json& model = models.at(name);
  ModelShapes result{.name = name, .title = model.at("title"), .shapes = {}, .parameters = 0};
  for (const nlohmann::json& part : model.at("parts")) {
    const auto shapes = part.at("shapes").get<std::vector<std::vector<std::int64_t>>>();
    for (int repeat = part.at("repeat"); repeat > 0; --repeat) {
      result.shapes.insert(result.shapes.end(), shapes.begin(), shapes.end());
    }
  }
  for (const std::vector<std::int64_t>& shape : result.shapes) {
    result.parameters += std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                         std::multiplies<std::int64_t>());
  }
  SING_CHECK(result.parameters == model.at("parameters").get<std::int64_t>(),
             "[shapes] {}: wanted {} parameters, the shapes have {}", name,
             model.at("parameters").get<std::int64_t>(), result.parameters);
  return result;
}

}  // namespace sing::bench
