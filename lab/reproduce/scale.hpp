// How large the trainings of a reproduction are, as flags that win over a recipe's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::reproduce {

struct ScaleFlags {
  std::vector<std::string> flags;
  std::string notice;  // a sentence for the person at the terminal and the report
};

// "full": the recipe as it is. "short": a tenth of its epochs. "smoke": a tiny model and a few
// steps, and generated data where `data`, the task's folder, has no files. Throws
// std::invalid_argument for another name.
ScaleFlags scale_flags(std::string_view scale, std::string_view task,
                       const std::filesystem::path& data);

// The scale's flags less those that `given` names, which win; the notice says which. Either of
// --steps and --epochs stands for both.
ScaleFlags without_given(const ScaleFlags& scale, const std::vector<std::string>& given);

// Where the task looks for files unless --data says otherwise.
std::filesystem::path default_data(std::string_view task);

}  // namespace sing::lab::reproduce
