// Defines a training so small that it takes a fraction of a second, and functions to run and
// inspect it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lab/main/commands.hpp"
#include "lab/main/program.hpp"
#include "sing/io/safetensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::test {

using Words = std::vector<std::string>;

// Returns `more` with those flags of `usual` that it does not set.
inline Words with_usual(const Words& usual, const Words& more) {
  Words words;
  for (std::size_t flag = 0; flag < usual.size(); flag += 2) {
    if (std::find(more.begin(), more.end(), usual[flag]) == more.end()) {
      words.insert(words.end(), {usual[flag], usual[flag + 1]});
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The model has 27 056 parameters; images have 16 × 16 pixels and two rectangles.
inline Words tiny_run(const std::filesystem::path& out, const Words& more = {}) {
  const Words usual = {"--model",      "vit-micro", "--depth",       "2",   "--width",       "32",
                       "--image-size", "16",        "--patch-size",  "4",   "--rectangles",  "2",
                       "--min-side",   "4",         "--max-side",    "10",  "--min-visible", "6",
                       "--batch",      "16",        "--train-count", "256", "--test-count",  "64",
                       "--threads",    "1",         "--device",      "cpu"};
  Words words = {"train", "rde", "--out", out.string()};
  const Words flags = with_usual(usual, more);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

struct Outcome {
  int code;
  std::string out;
  std::string error;
};

inline Outcome run_sing(const Words& words) {
  std::vector<const char*> pointers = {"sing"};
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  std::ostringstream out;
  std::ostringstream error;
  const int code = lab::main::run_program(static_cast<int>(pointers.size()), pointers.data(), out,
                                          error, lab::main::add_training_commands);
  return {code, out.str(), error.str()};
}

inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(read_whole(run / "metrics.jsonl"));
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

// Returns the metrics without the values that depend on the clock.
inline std::vector<nlohmann::json> timeless_metrics_of(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines = metrics_of(run);
  for (nlohmann::json& line : lines) {
    line.erase("seconds");
    line.erase("images_per_second");
    line.erase("tokens_per_second");
  }
  return lines;
}

// Returns every tensor of a safetensors file: name to bytes.
inline std::map<std::string, std::string> tensors_of(const std::filesystem::path& file) {
  const SafetensorsReader reader(file);
  std::map<std::string, std::string> tensors;
  for (const TensorEntry& entry : reader.tensors()) {
    std::string bytes(*byte_size_of(entry), '\0');
    reader.read(entry, reinterpret_cast<std::byte*>(bytes.data()));
    tensors[entry.name] = std::move(bytes);
  }
  return tensors;
}

inline std::map<std::string, std::string> last_tensors_of(const std::filesystem::path& run) {
  return tensors_of(run / "checkpoints" / "last.safetensors");
}

}  // namespace sing::test
