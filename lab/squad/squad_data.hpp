// Holds the sets of question answering: texts, tokens and windows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/data/split.hpp"
#include "lab/squad/squad_file.hpp"
#include "lab/squad/windows.hpp"

namespace sing::lab::squad {

struct SquadTexts {
  std::vector<Paragraph> training, evaluation;
  std::string digest;  // SHA-256 of the files, in hexadecimal
};

// Reads train-v1.1.json and dev-v1.1.json of a folder. The dev set is the test set, as in the
// paper; for validation, a tenth of the training articles are held out, the same ones for every
// seed. Throws FileError.
SquadTexts read_squad_folder(const std::filesystem::path& folder, data::EvaluationSet evaluate_on);

// Moves a tenth of the articles, at least one, from `training` to the result. Throws
// std::invalid_argument for less than 2 articles.
std::vector<Paragraph> hold_out_articles(std::vector<Paragraph>& training);

}  // namespace sing::lab::squad
