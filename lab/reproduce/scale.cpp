// Defines the flags of each scale and task.
#include "lab/reproduce/scale.hpp"

#include <algorithm>

#include "lab/cifar100/cifar100_files.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::reproduce {
namespace {

namespace fs = std::filesystem;

bool has_files(std::string_view task, const fs::path& data) {
  if (task == "cifar100") {
    return image::has_files(cifar100::official_set(), data);
  }
  std::error_code error;
  return fs::exists(data, error);
}

// These tasks take the vocabulary of the encoder whose weights they train further; the smallest
// model has none.
bool takes_weights(std::string_view task) { return task == "squad" || task == "choice"; }

std::vector<std::string> short_flags(std::string_view task) {
  if (task == "cifar100") {
    return {"--epochs", "30"};
  }
  if (takes_weights(task)) {
    return {"--epochs", "1"};
  }
  return {"--epochs", task == "imagefolder" ? "9" : "10"};
}

std::vector<std::string> smoke_flags(std::string_view task) {
  std::vector<std::string> flags = {"--precision", "float32", "--log-steps", "5"};
  const auto add = [&](std::initializer_list<const char*> more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  if (task == "rde") {
    add({"--rectangles", "2", "--image-size", "32", "--min-side", "8", "--max-side", "24"});
    add({"--min-visible", "16", "--train-count", "640", "--test-count", "200"});
    add({"--model", "vit-micro", "--batch", "32", "--steps", "40", "--evaluate-steps", "40"});
    return flags;
  }
  add({"--steps", "30", "--evaluate-steps", "30"});
  if (task == "translation") {
    add({"--layers", "2", "--width", "64", "--feed-forward", "128", "--heads", "4"});
    add({"--batch", "512", "--accumulate", "1", "--evaluation-sentences", "50"});
    return flags;
  }
  add({"--batch", "16"});
  if (takes_weights(task)) {
    add({"--model", "encoder-tiny"});
  }
  if (task == "squad") {
    add({"--length", "96", "--stride", "32", "--question-length", "16"});
  }
  if (task == "choice") {
    add({"--length", "48"});
  }
  if (task == "cifar100" || task == "imagefolder") {
    add({"--width", "4"});
  }
  if (task == "imagefolder") {
    add({"--train-size", "64", "--test-size", "64"});
  }
  return flags;
}

bool names_flag(const std::vector<std::string>& words, std::string_view flag) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.substr(0, word.find('=')) == flag;
  });
}

}  // namespace

ScaleFlags scale_flags(std::string_view scale, std::string_view task, const fs::path& data) {
  if (scale == "full") {
    return {};
  }
  if (scale == "short") {
    return {
        .flags = short_flags(task),
        .notice = "short: a tenth of the epochs, so the results are below those of the recipes"};
  }
  const std::vector<std::string> known = {"smoke", "short", "full"};
  SING_CHECK(scale == known.front(), "[sing reproduce] --scale: wanted {}, got '{}'{}",
             joined_names(known), scale, did_you_mean(scale, known));
  ScaleFlags smoke{
      .flags = smoke_flags(task),
      .notice = "smoke: a tiny model and a few steps; the numbers only show that the recipes run"};
  if (takes_weights(task)) {
    smoke.flags.insert(smoke.flags.end(), {"--stand-in", "--stand-in-count", "100"});
    smoke.notice += "; generated stand-in data, on which they mean nothing";
  } else if (task != "rde" && !has_files(task, data)) {
    smoke.flags.emplace_back("--stand-in");
    if (task == "cifar100" || task == "translation") {
      smoke.flags.insert(smoke.flags.end(), {"--stand-in-train", "1000", "--stand-in-test", "250"});
    }
    smoke.notice += fmt::format("; no data in {}: generated stand-in data, so they mean nothing",
                                data.string());
  }
  return smoke;
}

ScaleFlags without_given(const ScaleFlags& scale, const std::vector<std::string>& given) {
  ScaleFlags left{.flags = {}, .notice = scale.notice};
  bool is_given = false;
  for (const std::string& word : scale.flags) {
    if (word.starts_with("--")) {
      is_given = names_flag(given, word) || (word == "--steps" && names_flag(given, "--epochs")) ||
                 (word == "--epochs" && names_flag(given, "--steps"));
      left.notice += is_given ? fmt::format("; but {} as given", word) : "";
    }
    if (!is_given) {
      left.flags.push_back(word);
    }
  }
  return left;
}

fs::path default_data(std::string_view task) { return fs::path("data") / task; }

}  // namespace sing::lab::reproduce
