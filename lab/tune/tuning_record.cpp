// Writes the trials as JSON, as text and as a heat map.
#include "lab/tune/tuning_record.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "lab/command/text_table.hpp"
#include "lab/page/cell_map.hpp"
#include "lab/page/html_text.hpp"
#include "lab/run/named_values.hpp"
#include "lab/run/run_directory.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::tune {
namespace {

using Json = nlohmann::ordered_json;

std::string status_of(const Trial& trial) {
  return std::string(trial.end ? name_of(trial.end->status) : "failed");
}

double seconds_of(const Trial& trial) { return trial.end ? trial.end->seconds : run::kAbsent; }

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const Setting& setting) {
  Json json = {{"learning_rate", setting.learning_rate}, {"weight_decay", setting.weight_decay}};
  if (setting.epochs > 0) {
    json["epochs"] = setting.epochs;
  }
  return json;
}

Json json_of(const Trial& trial) {
  Json json = json_of(trial.setting);
  json["run"] = trial.run;
  json["outcome"] = status_of(trial);
  json["accuracy"] = number(trial.accuracy());
  json["loss"] = number(trial.loss());
  if (trial.end) {
    if (trial.end->score_name != run::kAccuracy) {
      json["score"] = trial.end->score_name;
    }
    for (const auto& [name, value] : trial.end->others) {
      json["scores"][name] = number(value);
    }
  }
  json["seconds"] = number(seconds_of(trial));
  return json;
}

bool is_best(const Tuning& tuning, const Trial& trial) {
  return tuning.best && *tuning.best == trial.setting;
}

std::vector<Trial> sorted(std::vector<Trial> trials) {
  const auto key = [](const Trial& trial) {
    const Setting& setting = trial.setting;
    return std::tuple(setting.epochs, setting.learning_rate, setting.weight_decay);
  };
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const Trial& one, const Trial& other) { return key(one) < key(other); });
  return trials;
}

// Returns the longest training with this rate and decay.
const Trial* longest(const Tuning& tuning, double rate, double decay) {
  const Trial* found = nullptr;
  for (const Trial& trial : tuning.trials) {
    if (trial.setting.learning_rate == rate && trial.setting.weight_decay == decay &&
        (found == nullptr || trial.setting.epochs > found->setting.epochs)) {
      found = &trial;
    }
  }
  return found;
}

struct Shown {
  bool accuracy = false;  // false: the loss
  std::string score_name = run::kAccuracy;
  bool epochs = false;  // some runs are longer than others
  double low = HUGE_VAL;
  double high = -HUGE_VAL;

  double value(const Trial& trial) const { return accuracy ? trial.accuracy() : trial.loss(); }
  // Returns 1 for the best value and 0 for the worst.
  double share(const Trial& trial) const {
    const double place = high > low ? (value(trial) - low) / (high - low) : 1;
    return accuracy || high <= low ? place : 1 - place;
  }
};

Shown shown_of(const Tuning& tuning) {
  Shown shown;
  for (const Trial& trial : tuning.trials) {
    shown.accuracy |= std::isfinite(trial.accuracy());
    shown.score_name = trial.end ? trial.end->score_name : shown.score_name;
    shown.epochs |= trial.setting.epochs != tuning.trials.front().setting.epochs;
  }
  for (const Trial& trial : tuning.trials) {
    if (std::isfinite(shown.value(trial))) {
      shown.low = std::min(shown.low, shown.value(trial));
      shown.high = std::max(shown.high, shown.value(trial));
    }
  }
  return shown;
}

// Returns the names of the scores beside the accuracy.
std::vector<std::string> other_scores(const Tuning& tuning) {
  std::vector<std::string> names;
  for (const Trial& trial : tuning.trials) {
    if (trial.finished()) {
      run::add_names(trial.end->others, names);
    }
  }
  return names;
}

double other_score(const Trial& trial, const std::string& name) {
  return trial.finished() ? run::value_of(trial.end->others, name, run::kAbsent) : run::kAbsent;
}

page::CellMap::Entry entry_of(const Tuning& tuning, const Trial* trial, const Shown& shown) {
  if (trial == nullptr) {
    return {};
  }
  if (!trial->finished()) {
    return {.text = status_of(*trial)};
  }
  const double value = shown.value(*trial);
  std::string text = shown.accuracy ? page::percent_text(value) : page::short_number(value);
  if (shown.epochs) {
    text += fmt::format(", {}{}", trial->setting.epochs,
                        trial->setting.epochs == 1 ? " epoch" : " epochs");
  }
  return {.text = text,
          .share = shown.share(*trial),
          .colored = std::isfinite(value),
          .best = is_best(tuning, *trial)};
}

struct Tried {
  std::set<double> rates, decays;

  explicit Tried(const Tuning& tuning) {
    for (const Trial& trial : tuning.trials) {
      rates.insert(trial.setting.learning_rate);
      decays.insert(trial.setting.weight_decay);
    }
  }
};

// Returns the values that distinguish two tunings.
Json identity_of(const TuningRequest& request) {
  return {{"protocol", request.protocol},
          {"task", request.task},
          {"optimizer", request.optimizer},
          {"seed", request.seed},
          {"evaluate_on", name_of(request.evaluate_on)},
          {"epochs", request.epochs > 0 ? Json(request.epochs) : Json()},
          {"train_flags", request.train_flags}};
}

// Returns what the runs record about where they were trained.
Json origin_of(const Tuning& tuning, const std::filesystem::path& folder) {
  if (tuning.trials.empty()) {
    return Json();
  }
  std::ifstream stream(run::RunDirectory(folder / tuning.trials.front().run).config());
  const Json config = Json::parse(stream, /*callback=*/nullptr, /*allow_exceptions=*/false);
  Json origin = Json::object();
  for (const char* key : {"commit", "versions", "machine", "data_digest", "total_steps"}) {
    if (config.is_object() && config.contains(key)) {
      origin[key] = config[key];
    }
  }
  return origin;
}

// Writes a line for every value, and for every result, so that the file is short and a comparison
// of two files shows what differs.
std::string text_of(const Json& json) {
  std::string text = "{";
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}\n  {}: ", text.size() > 1 ? "," : "", Json(key).dump());
    if (key != "results" || value.empty()) {
      text += value.dump();
      continue;
    }
    std::string rows;
    for (const Json& row : value) {
      rows += fmt::format("{}\n    {}", rows.empty() ? "" : ",", row.dump());
    }
    text += "[" + rows + "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace

void check_record(const TuningRequest& request, const std::filesystem::path& folder) {
  std::ifstream stream(folder / "tune.json");
  const Json found = Json::parse(stream, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!found.is_object()) {
    return;  // no file, or not one that can be continued
  }
  const Json wanted = identity_of(request);
  for (const auto& [name, value] : wanted.items()) {
    SING_CHECK(found.value(name, Json()) == value,
               "[sing tune] '{}' holds a tuning with {} {}, given {}: wanted another --out",
               folder.string(), name, found.value(name, Json()).dump(), value.dump());
  }
}

void write_record(const TuningRequest& request, const Tuning& tuning,
                  const std::filesystem::path& folder) {
  Json json = identity_of(request);
  const Tried tried(tuning);
  json["grid"] = {{"learning_rates", tried.rates},
                  {"weight_decays", tried.decays},
                  {"first_weight_decay", request.weight_decay}};
  json["origin"] = origin_of(tuning, folder);
  json["results"] = Json::array();
  json["best"] = tuning.best ? json_of(*tuning.best) : Json();
  json["remarks"] = tuning.remarks;
  for (const Trial& trial : tuning.trials) {
    json["results"].push_back(json_of(trial));
  }
  replace_file(folder / "tune.json", text_of(json));
}

std::string text_of(const TuningRequest& request, const Tuning& tuning) {
  const std::vector<std::string> others = other_scores(tuning);
  const Shown shown = shown_of(tuning);
  const bool has_column = shown.accuracy || others.empty();
  const auto line_of = [&](std::vector<std::string> setting, const std::string& accuracy,
                           const std::vector<std::string>& rest) {
    if (has_column) {
      setting.push_back(accuracy);
    }
    setting.insert(setting.end(), rest.begin(), rest.end());
    return setting;
  };
  std::vector<std::string> rest = {"loss"};
  rest.insert(rest.end(), others.begin(), others.end());
  rest.insert(rest.end(), {"time", ""});
  std::vector<std::vector<std::string>> lines = {
      line_of({"learning rate", "weight decay", "epochs"}, shown.score_name, rest)};
  for (const Trial& trial : sorted(tuning.trials)) {
    const Setting& setting = trial.setting;
    rest = {page::short_number(trial.loss())};
    for (const std::string& name : others) {
      rest.push_back(page::short_number(other_score(trial, name)));
    }
    rest.push_back(page::duration_text(seconds_of(trial)));
    rest.push_back(is_best(tuning, trial) ? "best" : (trial.finished() ? "" : status_of(trial)));
    lines.push_back(
        line_of({shortest_text(setting.learning_rate), shortest_text(setting.weight_decay),
                 setting.epochs > 0 ? std::to_string(setting.epochs) : "–"},
                page::percent_text(trial.accuracy()), rest));
  }
  return command::text_table(lines) + fmt::format("{}loss: on the {} set\n",
                                                  has_column ? shown.score_name + " and " : "",
                                                  name_of(request.evaluate_on));
}

std::string section_of(const TuningRequest& request, const Tuning& tuning) {
  const Tried tried(tuning);
  const Shown shown = shown_of(tuning);
  page::CellMap map{
      .title = fmt::format("Final {} on the {} set", shown.accuracy ? shown.score_name : "loss",
                           name_of(request.evaluate_on)),
      .row_name = "weight decay",
      .column_name = "learning rate"};
  for (const double rate : tried.rates) {
    map.columns.push_back(shortest_text(rate));
  }
  for (const double decay : tried.decays) {
    map.rows.push_back(shortest_text(decay));
    for (const double rate : tried.rates) {
      map.entries.push_back(entry_of(tuning, longest(tuning, rate, decay), shown));
    }
  }
  std::string section = "<section id=\"tuning\"><h2>Tuning of ";
  section += page::escape_html(request.optimizer) + "</h2>\n" + page::draw_cell_map(map);
  for (const std::string& remark : tuning.remarks) {
    section += "<p class=\"note\">" + page::escape_html(remark) + "</p>\n";
  }
  return section + "</section>\n";
}

}  // namespace sing::lab::tune
