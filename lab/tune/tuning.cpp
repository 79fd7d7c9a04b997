// Runs the searches with child processes.
#include "lab/tune/tuning.hpp"

#include <algorithm>
#include <ostream>

#include "lab/tune/tuning_record.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::tune {
namespace {

class Tuner {
 public:
  Tuner(const TuningRequest& request, const compare::Workplace& place, std::ostream& out,
        const std::function<bool()>& stop)
      : request_(request), place_(place), out_(out), stop_(stop), runner_(place, out, stop) {
    tuning_.rates = paper_rates(request.optimizer);
    tuning_.decays = kPaperDecays;
  }

  Tuning by_paper() {
    const Walk rates = walk(tuning_.rates, static_cast<int>(request_.extensions), [&](int place) {
      return attempt({rate_at(place), request_.weight_decay, request_.epochs});
    });
    tuning_.rates = rates.tried;
    remark(rates, rate_at, "learning rate");
    if (!rates.best || rates.stopped) {
      return end(std::nullopt, rates.stopped);
    }
    const double rate = rate_at(*rates.best);
    if (request_.rates_only) {
      return end(Setting{rate, request_.weight_decay, request_.epochs}, false);
    }
    out_ << "learning rate " << shortest_text(rate) << " is best; now weight decays" << std::endl;
    const Walk decays = walk(tuning_.decays, static_cast<int>(request_.extensions), [&](int place) {
      return attempt({rate, decay_at(place), request_.epochs});
    });
    tuning_.decays = decays.tried;
    remark(decays, decay_at, "weight decay");
    // The decay that the rates were tried with may be outside the grid and still be the best.
    const auto best = best_of(tuning_.trials);
    return end(tuning_.trials[*best].setting, decays.stopped);
  }

  Tuning by_halving() {
    std::vector<Setting> settings;
    for (const double rate : values_of(rate_at, tuning_.rates)) {
      for (const double decay : values_of(decay_at, tuning_.decays)) {
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
      std::vector<Trial> trials;
      for (Setting setting : settings) {
        setting.epochs = epochs[round];
        const std::optional<Trial> trial = attempt(setting);
        if (!trial) {
          return end(std::nullopt, true);
        }
        trials.push_back(*trial);
      }
      settings = better_half(trials);
    }
    return end(settings.empty() ? std::nullopt : std::optional(settings.front()), false);
  }

 private:
  std::optional<Trial> attempt(const Setting& setting) {
    const compare::Cell cell = cell_of(request_, setting);
    const auto same = std::find_if(tuning_.trials.begin(), tuning_.trials.end(),
                                   [&](const Trial& each) { return each.run == cell.name; });
    if (same != tuning_.trials.end()) {
      return *same;  // the learning rates were tried with this weight decay of the grid
    }
    if (stop_()) {
      return std::nullopt;
    }
    compare::check_commands({cell}, place_);
    const auto result = runner_.run(cell);
    if (!result) {
      return std::nullopt;
    }
    tuning_.trials.push_back({setting, cell.name, result->end});
    write_record(request_, tuning_, place_.folder);
    if (!result->end) {
      throw Error(
          fmt::format("[sing tune] wanted a result of {} to go on from, it failed; the same "
                      "command starts there",
                      cell.name));
    }
    return tuning_.trials.back();
  }

  void remark(const Walk& walk, Ladder ladder, const char* what) {
    if (walk.stopped) {
      return;
    }
    if (!walk.best) {
      tuning_.remarks.push_back(fmt::format("no run finished: every {} down to {} diverged", what,
                                            shortest_text(ladder(walk.tried.first))));
    } else if (walk.at_end) {
      tuning_.remarks.push_back(fmt::format(
          "the best {}, {}, is at an end of what was tried: more --extensions look beyond it", what,
          shortest_text(ladder(*walk.best))));
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
  SING_CHECK(request.protocol == "paper" || request.protocol == "halving",
             "[sing tune] --protocol: wanted paper or halving, got '{}'", request.protocol);
  check_record(request, place.folder);
  Tuner tuner(request, place, out, stop);
  return request.protocol == "paper" ? tuner.by_paper() : tuner.by_halving();
}

}  // namespace sing::lab::tune
