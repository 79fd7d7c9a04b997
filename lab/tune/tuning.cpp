// Runs the searches with child processes.
#include "lab/tune/tuning.hpp"

#include <algorithm>
#include <ostream>

#include "lab/tune/budget.hpp"
#include "lab/tune/tuning_record.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::tune {
namespace {

// A factor of 1.8 between learning rates, and of 3.2 between weight decays, whose effect is weaker.
constexpr int kRatesPerDecade = 4;
constexpr int kDecaysPerDecade = 2;
constexpr double kUsualDecay = 0.05;  // the first decay tried after 0, in the middle of the others

class Tuner {
 public:
  Tuner(const TuningRequest& request, const compare::Workplace& place, std::ostream& out,
        const std::function<bool()>& stop)
      : request_(request), place_(place), out_(out), stop_(stop), runner_(place, out, stop) {}

  Tuning by_budget() {
    const Ladder rates = ladder_around(request_.learning_rate, kRatesPerDecade);
    const BudgetResult tried =
        spend(static_cast<int>(request_.rate_runs), {}, [&](const std::vector<int>& places) {
          return attempt_at(places, [&](int place) {
            return Setting{rates(place), request_.weight_decay, request_.epochs};
          });
        });
    remark(tried, rates, "learning rate", "--rate-runs");
    if (!tried.best || tried.stopped) {
      return end(std::nullopt, tried.stopped);
    }
    const double rate = rates(*tried.best);
    if (request_.rates_only) {
      return end(Setting{rate, request_.weight_decay, request_.epochs}, false);
    }
    return budget_of_decays(rate, tried.tried.at(*tried.best));
  }

  Tuning by_paper() {
    const Places grid = paper_rates(request_.optimizer);
    const Walk rates = walk(grid, static_cast<int>(request_.extensions), [&](int place) {
      return attempt({rate_at(place), request_.weight_decay, request_.epochs});
    });
    remark(rates, rate_at, "learning rate");
    if (!rates.best || rates.stopped) {
      return end(std::nullopt, rates.stopped);
    }
    const double rate = rate_at(*rates.best);
    if (request_.rates_only) {
      return end(Setting{rate, request_.weight_decay, request_.epochs}, false);
    }
    say_rate(rate);
    const Walk decays = walk(kPaperDecays, static_cast<int>(request_.extensions), [&](int place) {
      return attempt({rate, decay_at(place), request_.epochs});
    });
    remark(decays, decay_at, "weight decay");
    return end(best_setting(), decays.stopped);
  }

  Tuning by_halving() {
    std::vector<Setting> settings;
    for (const double rate : values_of(rate_at, paper_rates(request_.optimizer))) {
      for (const double decay : values_of(decay_at, kPaperDecays)) {
        settings.push_back({rate, decay});
      }
    }
    const std::vector<std::int64_t> epochs = round_epochs(settings.size(), request_.epochs);
    for (std::size_t round = 0; round < epochs.size() && !settings.empty(); ++round) {
      if (settings.size() == 1) {  // nothing to compare it with before the last round
        round = epochs.size() - 1;
      }
      out_ << "round " << round + 1 << " of " << epochs.size() << ": " << settings.size()
           << (settings.size() == 1 ? " run of " : " runs of ") << epochs[round]
           << (epochs[round] == 1 ? " epoch" : " epochs") << ", each from its start" << std::endl;
      for (Setting& setting : settings) {
        setting.epochs = epochs[round];
      }
      const std::optional<std::vector<Trial>> trials = attempt_all(settings);
      if (!trials) {
        return end(std::nullopt, true);
      }
      settings = better_half(*trials);
    }
    return end(settings.empty() ? std::nullopt : std::optional(settings.front()), false);
  }

 private:
  // The first decay is the middle of the others and has been tried already.
  Tuning budget_of_decays(double rate, const Trial& first) {
    say_rate(rate);
    const bool from_zero = request_.weight_decay == 0;
    const Ladder decays =
        ladder_around(from_zero ? kUsualDecay : request_.weight_decay, kDecaysPerDecade);
    const TriedPlaces known = from_zero ? TriedPlaces{} : TriedPlaces{{0, first}};
    const BudgetResult tried =
        spend(static_cast<int>(request_.decay_runs), known, [&](const std::vector<int>& places) {
          return attempt_at(
              places, [&](int place) { return Setting{rate, decays(place), request_.epochs}; });
        });
    remark(tried, decays, "weight decay", "--decay-runs");
    return end(best_setting(), tried.stopped);
  }

  // The decay that the rates were tried with may be outside the grid and still be the best.
  Setting best_setting() const { return tuning_.trials[*best_of(tuning_.trials)].setting; }

  void say_rate(double rate) {
    out_ << "learning rate " << shortest_text(rate) << " is best; now weight decays" << std::endl;
  }

  std::optional<std::vector<Trial>> attempt_at(const std::vector<int>& places,
                                               const std::function<Setting(int)>& setting_at) {
    std::vector<Setting> settings;
    for (const int place : places) {
      settings.push_back(setting_at(place));
    }
    return attempt_all(settings);
  }

  std::optional<Trial> attempt(const Setting& setting) {
    const std::optional<std::vector<Trial>> trials = attempt_all({setting});
    return trials ? std::optional(trials->front()) : std::nullopt;
  }

  const Trial* trial_of(const std::string& run) const {
    const auto same = std::find_if(tuning_.trials.begin(), tuning_.trials.end(),
                                   [&](const Trial& each) { return each.run == run; });
    return same != tuning_.trials.end() ? &*same : nullptr;
  }

  // Trains the settings that have not been tried yet. Returns nothing if a signal stopped the
  // trials.
  std::optional<std::vector<Trial>> attempt_all(const std::vector<Setting>& settings) {
    std::vector<compare::Cell> cells;
    std::vector<Setting> untried;
    for (const Setting& setting : settings) {
      compare::Cell cell = cell_of(request_, setting);
      if (trial_of(cell.name) == nullptr) {
        cells.push_back(std::move(cell));
        untried.push_back(setting);
      }
    }
    if (!cells.empty() && stop_()) {
      return std::nullopt;
    }
    compare::check_commands(cells, place_);
    const std::vector<std::optional<compare::Result>> results = runner_.run(cells);
    std::string failed;
    bool stopped = false;
    for (std::size_t at = 0; at < cells.size(); ++at) {
      stopped |= !results[at];
      if (results[at]) {
        tuning_.trials.push_back({untried[at], cells[at].name, results[at]->end});
        failed = results[at]->end || !failed.empty() ? failed : cells[at].name;
      }
    }
    if (!cells.empty()) {
      write_record(request_, tuning_, place_.folder);
    }
    if (!failed.empty()) {
      throw Error(fmt::format(
          "[sing tune] wanted a result of {}, got a failure; the same command continues from there",
          failed));
    }
    if (stopped) {
      return std::nullopt;
    }
    std::vector<Trial> trials;
    for (const Setting& setting : settings) {
      trials.push_back(*trial_of(cell_of(request_, setting).name));
    }
    return trials;
  }

  void remark_none(const char* what, double least) {
    tuning_.remarks.push_back(
        fmt::format("no run finished: every {} down to {} diverged", what, shortest_text(least)));
  }

  void remark(const Walk& walk, const Ladder& ladder, const char* what) {
    if (walk.stopped) {
      return;
    }
    if (!walk.best) {
      remark_none(what, ladder(walk.tried.first));
    } else if (walk.at_end) {
      tuning_.remarks.push_back(
          fmt::format("the best {}, {}, is at an end of the values that were tried: more "
                      "--extensions would look beyond it",
                      what, shortest_text(ladder(*walk.best))));
    }
  }

  void remark(const BudgetResult& tried, const Ladder& ladder, const char* what, const char* flag) {
    if (tried.stopped || tried.tried.empty()) {
      return;
    }
    if (!tried.best) {
      remark_none(what, ladder(tried.tried.begin()->first));
    } else if (!tried.settled) {
      tuning_.remarks.push_back(
          fmt::format("the best {}, {}, was not tried between its two neighbors: more {} would",
                      what, shortest_text(ladder(*tried.best)), flag));
    }
  }

  Tuning end(const std::optional<Setting>& best, bool stopped) {
    tuning_.best = best;
    tuning_.stopped = stopped;
    write_record(request_, tuning_, place_.folder);
    return tuning_;
  }

  const TuningRequest& request_;
  const compare::Workplace& place_;
  std::ostream& out_;
  const std::function<bool()>& stop_;
  compare::CellRunner runner_;
  Tuning tuning_;
};

}  // namespace

compare::Cell cell_of(const TuningRequest& request, const Setting& setting) {
  const std::string rate = shortest_text(setting.learning_rate);
  const std::string decay = shortest_text(setting.weight_decay);
  const std::string seed = std::to_string(request.seed);
  compare::Cell cell{.contestant = request.optimizer,
                     .learning_rate = setting.learning_rate,
                     .seed = request.seed};
  cell.arguments = {"train", request.task, "--optimizer", request.optimizer};
  cell.arguments.insert(cell.arguments.end(),
                        {"--learning-rate", rate, "--weight-decay", decay, "--seed", seed});
  if (request.evaluate_on == data::EvaluationSet::kValidation) {
    cell.arguments.insert(cell.arguments.end(),
                          {"--evaluate-on", std::string(name_of(request.evaluate_on))});
  }
  cell.name = fmt::format("lr{}_wd{}", rate, decay);
  if (setting.epochs > 0) {
    // A number of steps in a file of options would take precedence, so --steps is reset.
    cell.arguments.insert(cell.arguments.end(),
                          {"--epochs", std::to_string(setting.epochs), "--steps", "0"});
    cell.name += fmt::format("_epochs{}", setting.epochs);
  }
  cell.name += fmt::format("_seed{}", seed);
  cell.arguments.insert(cell.arguments.end(), request.train_flags.begin(),
                        request.train_flags.end());
  return cell;
}

Tuning run_tuning(const TuningRequest& request, const compare::Workplace& place, std::ostream& out,
                  const std::function<bool()>& stop) {
  const std::vector<std::string> known = {"budget", "paper", "halving"};
  SING_CHECK(std::find(known.begin(), known.end(), request.protocol) != known.end(),
             "[sing tune] --protocol: wanted {}, got '{}'{}", joined_names(known), request.protocol,
             did_you_mean(request.protocol, known));
  check_record(request, place.folder);
  Tuner tuner(request, place, out, stop);
  if (request.protocol == "budget") {
    return tuner.by_budget();
  }
  return request.protocol == "paper" ? tuner.by_paper() : tuner.by_halving();
}

}  // namespace sing::lab::tune
