// Reads a set of multiple choice and divides it into training and evaluation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/choice/choice_item.hpp"
#include "lab/choice/options.hpp"
#include "lab/data/split.hpp"

namespace sing::lab::choice {

struct ChoiceData {
  std::vector<ChoiceItem> training, evaluation;
  std::string digest;  // SHA-256 of the files, in hexadecimal
  std::string notice;  // a report must say it; "" for nothing
};

// SWAG: the folder's train.csv and val.csv, which is the test set, as in the paper; for validation
// a tenth of train.csv is held out. HellaSwag and CODAH: one file, which split() divides. Throws
// FileError.
ChoiceData read_choice_data(ChoiceSet set, const std::filesystem::path& path,
                            data::EvaluationSet evaluate_on);

struct ChoiceSplit {
  std::vector<ChoiceItem> training, validation, test;
};

// Divides the different contexts at random into shares of 7, 1 and 2 tenths: the questions of one
// context stay together. Depends only on the items, so that every run has the same parts. Throws
// std::invalid_argument for less than 10 contexts.
ChoiceSplit split(const std::vector<ChoiceItem>& items);

}  // namespace sing::lab::choice
