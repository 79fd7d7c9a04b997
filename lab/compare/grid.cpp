// Reads the lists of the command line and forms all combinations.
#include "lab/compare/grid.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::compare {
namespace {

constexpr const char* kWhere = "[sing compare] ";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

void check_name(const std::string& name) {
  const auto is_plain = [](unsigned char character) {
    return std::isalnum(character) != 0 || character == '-' || character == '.' || character == '_';
  };
  SING_CHECK(!name.empty() && name.front() != '.' && name.front() != '-' &&
                 std::all_of(name.begin(), name.end(), is_plain),
             "{}wanted a name of letters, digits, '-', '.' and '_', got '{}'", kWhere, name);
}

Contestant variant_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::vector<std::string> words = equals == std::string::npos
                                             ? std::vector<std::string>{}
                                             : split(text.substr(equals + 1), ' ');
  SING_CHECK(!words.empty() && words.front().front() != '-',
             "{}--variant: wanted NAME=OPTIMIZER FLAGS…, got '{}'", kWhere, text);
  Contestant variant{.name = text.substr(0, equals), .flags = {"--optimizer"}};
  variant.flags.insert(variant.flags.end(), words.begin(), words.end());
  return variant;
}

std::vector<std::optional<double>> numbers_of(const std::string& list) {
  std::vector<std::optional<double>> numbers;
  for (const std::string& word : split(list, ',')) {
    const std::optional<double> number = parse_number<double>(word);
    SING_CHECK(number && *number > 0 && std::isfinite(*number),
               "{}--learning-rates: wanted numbers above 0, got '{}'", kWhere, word);
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// A list for one name replaces the list for all.
void give_learning_rates(const std::vector<std::string>& texts,
                         std::vector<Contestant>& contestants) {
  std::vector<std::string> names;
  for (const Contestant& contestant : contestants) {
    names.push_back(contestant.name);
  }
  std::vector<std::optional<double>> for_all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      const auto numbers = numbers_of(text);
      for_all.insert(for_all.end(), numbers.begin(), numbers.end());
      continue;
    }
    const std::string name = text.substr(0, equals);
    const auto found = std::find(names.begin(), names.end(), name);
    SING_CHECK(found != names.end(),
               "{}--learning-rates: wanted a name of --optimizers or --variant, got '{}'{}", kWhere,
               name, did_you_mean(name, names));
    contestants[static_cast<std::size_t>(found - names.begin())].learning_rates =
        numbers_of(text.substr(equals + 1));
  }
  if (for_all.empty()) {
    for_all.push_back(std::nullopt);
  }
  for (Contestant& contestant : contestants) {
    if (contestant.learning_rates.empty()) {
      contestant.learning_rates = for_all;
    }
  }
}

Cell cell_of(const GridText& text, const Contestant& contestant,
             std::optional<double> learning_rate, std::int64_t seed) {
  Cell cell{.contestant = contestant.name, .learning_rate = learning_rate, .seed = seed};
  cell.name = contestant.name;
  cell.arguments = {"train", text.task};
  cell.arguments.insert(cell.arguments.end(), contestant.flags.begin(), contestant.flags.end());
  if (learning_rate) {
    cell.name += fmt::format("_lr{}", shortest_text(*learning_rate));
    cell.arguments.insert(cell.arguments.end(), {"--learning-rate", shortest_text(*learning_rate)});
  }
  cell.name += fmt::format("_seed{}", seed);
  cell.arguments.insert(cell.arguments.end(), {"--seed", std::to_string(seed)});
  cell.arguments.insert(cell.arguments.end(), text.train_flags.begin(), text.train_flags.end());
  return cell;
}

}  // namespace

void check_train_flags(const std::vector<std::string>& flags, const std::vector<std::string>& owned,
                       std::string_view where) {
  for (const std::string& flag : flags) {
    const std::string name = flag.substr(0, flag.find('='));
    for (const std::string& own : owned) {
      SING_CHECK(
          name != own,
          "{}wanted flags of sing train that runs may share, got {}, which is set for each run",
          where, own);
    }
  }
}

std::optional<std::string> flag_value(const std::vector<std::string>& flags,
                                      const std::string& name) {
  for (std::size_t at = 0; at < flags.size(); ++at) {
    if (flags[at] == name && at + 1 < flags.size()) {
      return flags[at + 1];
    }
    if (flags[at].starts_with(name + "=")) {
      return flags[at].substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::vector<Contestant> contestants_of(const GridText& text) {
  std::vector<Contestant> contestants;
  for (const std::string& optimizer : text.optimizers) {
    contestants.push_back({.name = optimizer, .flags = {"--optimizer", optimizer}});
  }
  for (const std::string& variant : text.variants) {
    contestants.push_back(variant_of(variant));
  }
  SING_CHECK(!contestants.empty(), "{}wanted --optimizers or --variant, got none", kWhere);
  for (std::size_t at = 0; at < contestants.size(); ++at) {
    check_name(contestants[at].name);
    for (std::size_t other = 0; other < at; ++other) {
      SING_CHECK(contestants[other].name != contestants[at].name,
                 "{}wanted every name once, got '{}' twice", kWhere, contestants[at].name);
    }
  }
  give_learning_rates(text.learning_rates, contestants);
  return contestants;
}

std::vector<Cell> cells_of(const GridText& text) {
  const std::vector<Contestant> contestants = contestants_of(text);
  const std::vector<std::string> owned = {"--optimizer", "--learning-rate", "--lr",
                                          "--seed",      "--out",           "--resume"};
  check_train_flags(text.train_flags, owned, kWhere);
  for (const Contestant& contestant : contestants) {
    check_train_flags({contestant.flags.begin() + 2, contestant.flags.end()}, owned, kWhere);
  }
  std::vector<std::int64_t> seeds;
  for (const std::int64_t seed : text.seeds) {
    SING_CHECK(seed >= 0, "{}--seeds: wanted numbers of at least 0, got {}", kWhere, seed);
    if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end()) {
      seeds.push_back(seed);
    }
  }
  std::vector<Cell> cells;
  for (const std::int64_t seed : seeds) {
    for (const Contestant& contestant : contestants) {
      for (const std::optional<double> learning_rate : contestant.learning_rates) {
        cells.push_back(cell_of(text, contestant, learning_rate, seed));
      }
    }
  }
  return cells;
}

}  // namespace sing::lab::compare
