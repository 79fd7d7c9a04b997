// Holds the flags of `sing train TASK` and makes a plan from them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lab/loop/trainer.hpp"
#include "lab/run/run_config.hpp"
#include "lab/task/task.hpp"

namespace sing::lab::loop {

class TrainingSetup {
 public:
  explicit TrainingSetup(const task::TaskEntry& entry);

  void add_flags(CLI::App& command);

  task::Task& task() { return *task_; }
  const std::string& task_name() const { return task_name_; }
  const std::string& optimizer_name() const { return optimizer_; }

  // Returns runs/<task>_<optimizer>_<learning rate>_<seed>. Throws std::invalid_argument.
  std::string default_folder() const;

  // Checks all options and prepares the task. Each rank on a machine takes a GPU of its own. Throws
  // std::invalid_argument.
  TrainingPlan make_plan(const ranks::Ranks& ranks = ranks::one_process());
  // Returns every option under the name of its flag, with the chosen value.
  std::vector<OptionInfo> options(const TrainingPlan& plan) const;
  // Returns the configuration that a run or a benchmark records.
  run::RunConfig config(const TrainingPlan& plan, std::int64_t parameters) const;
  // Throws std::invalid_argument if the task's prepared data differ from those that the run
  // recorded.
  void check_data(const run::RecordedConfig& recorded, const std::string& run) const;

  ResourceOptions resources;
  std::string device = "auto";
  bool shard_state = false;
  bool complete_evaluation = false;  // see TaskSetting::complete

 private:
  // A flag of an option that only some optimizers or schedules have: `owner` has it.
  struct OwnedFlag {
    CLI::Option* flag;
    OptionInfo info;
    std::string owner;
  };

  static void show_defaults(const std::vector<OwnedFlag>& flags,
                            const std::vector<OptionInfo>& chosen, const std::string& group);
  void show_optimizer(const std::string& name);
  void show_schedule(const std::string& name);
  Options make_optimizer() const;
  Schedule make_schedule_for(const TrainingPlan& plan) const;

  std::string task_name_;
  std::unique_ptr<task::Task> task_;
  TrainingOptions training_;
  std::string optimizer_ = "sing-adamw";
  std::string schedule_ = "warmup_cosine";
  std::vector<OwnedFlag> optimizer_flags_;
  std::vector<OwnedFlag> schedule_flags_;
  Overrides optimizer_given_;
  Overrides schedule_given_;
};

// Returns the names of the options that a resumed run may change.
std::vector<std::string> resource_names();

at::Device parse_device(const std::string& text);
// Returns the device of a rank: with the text auto or cuda, the GPU of its number on the machine.
at::Device device_of_rank(const std::string& text, const ranks::Ranks& ranks);

}  // namespace sing::lab::loop
