// Declares the parameter shapes of a model, read from model_shapes.json
// (tools/make_model_shapes.py).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sing::bench {

struct ModelShapes {
  std::string name;  // key in the file
  std::string title;
  std::vector<std::vector<std::int64_t>> shapes;
  std::int64_t parameters = 0;
};

// Throws FileError if the file is unreadable, std::invalid_argument if it has no such model.
ModelShapes load_model_shapes(const std::filesystem::path& file, const std::string& name);

}  // namespace sing::bench
