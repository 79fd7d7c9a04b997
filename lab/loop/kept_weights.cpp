// Keeps and averages weights.
#include "lab/loop/kept_weights.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/loop/checkpoint.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::loop {
namespace {

constexpr const char* kPrefix = "kept_";

// The files in the order of their steps.
std::vector<std::filesystem::path> kept_files(const run::RunDirectory& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory.checkpoints(), error)) {
    if (entry.path().filename().string().starts_with(kPrefix) &&
        entry.path().extension() == ".safetensors") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void keep_weights(const run::RunDirectory& directory, const ::torch::nn::Module& module,
                  std::int64_t step, std::int64_t count) {
  const std::filesystem::path path = directory.checkpoint(fmt::format("{}{:012}", kPrefix, step));
  save_weights(path, copy_weights(module), {{"step", std::to_string(step)}});
  std::vector<std::filesystem::path> files = kept_files(directory);
  // Files of later steps are from before the run was killed; they will be written again.
  std::erase_if(files, [&](const std::filesystem::path& file) { return file > path; });
  for (std::size_t file = 0; file + static_cast<std::size_t>(count) < files.size(); ++file) {
    std::filesystem::remove(files[file]);
  }
}

void load_average(const run::RunDirectory& directory, ::torch::nn::Module& module) {
  const std::vector<std::filesystem::path> files = kept_files(directory);
  SING_CHECK(!files.empty(),
             "[sing eval] wanted weights of evaluations in '{}' (sing train --keep-weights), got "
             "none",
             directory.checkpoints().string());
  const at::NoGradGuard no_gradient;
  const auto tensors = [&] {
    std::vector<at::Tensor> list = module.parameters();
    const std::vector<at::Tensor> buffers = module.buffers();
    list.insert(list.end(), buffers.begin(), buffers.end());
    return list;
  }();
  std::vector<at::Tensor> sums;
  for (const std::filesystem::path& file : files) {
    load_weights(file, module);
    for (std::size_t place = 0; place < tensors.size(); ++place) {
      const at::Tensor value = tensors[place].to(at::kDouble);
      if (sums.size() < tensors.size()) {
        sums.push_back(value.clone());
      } else {
        sums[place] += value;
      }
    }
  }
  for (std::size_t place = 0; place < tensors.size(); ++place) {
    at::Tensor tensor = tensors[place];
    if (tensor.is_floating_point()) {
      tensor.copy_(sums[place] / static_cast<double>(files.size()));
    }
  }
}

}  // namespace sing::lab::loop
