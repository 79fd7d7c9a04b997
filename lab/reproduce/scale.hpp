// Defines the size of a reproduction's trainings as flags that override a recipe's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::reproduce {

struct ScaleFlags {
  std::vector<std::string> flags;
  std::string notice;  // a sentence for the user and the report
};

// "full" is the unchanged recipe. "short" has a tenth of its epochs. "smoke" has a tiny model and a
// few steps, and uses generated data if `data`, the task's folder, has no files. Throws
// std::invalid_argument for another name.
ScaleFlags scale_flags(std::string_view scale, std::string_view task,
                       const std::filesystem::path& data);

// Returns the scale's flags without those that `given` names, which take precedence; the notice
// names them. Giving --steps or --epochs removes both.
ScaleFlags without_given(const ScaleFlags& scale, const std::vector<std::string>& given);

// Returns the folder where the task looks for files unless --data is given.
std::filesystem::path default_data(std::string_view task);

}  // namespace sing::lab::reproduce
