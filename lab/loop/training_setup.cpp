// Makes flags from the option lists, and a plan from the flags.
#include "lab/loop/training_setup.hpp"

#include <torch/cuda.h>
#include <torch/version.h>

#include <algorithm>
#include <thread>

#include "lab/command/field_flags.hpp"
#include "lab/loop/longer_run.hpp"
#include "lab/loop/state_shares.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/c_api/sing.h"

namespace sing::lab::loop {
namespace {

// Adds a flag for an option that only some optimizers or schedules have.
CLI::Option* add_override(CLI::App& command, const OptionInfo& option, Overrides& given) {
  const std::string names =
      command::flag_of(option.name) + (option.name == "learning_rate" ? ",--lr" : "");
  return command
      .add_option_function<std::string>(
          names,
          [&given, name = option.name](const std::string& text) {
            given.emplace_back(name, command::value_of_text(text));
          },
          option.help)
      ->type_name(std::holds_alternative<bool>(option.value) ? "true|false"
                                                             : command::kind_of(option.value));
}

bool has_option(const std::vector<OptionInfo>& options, std::string_view name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const OptionInfo& each) { return each.name == name; });
}

}  // namespace

TrainingSetup::TrainingSetup(const task::TaskEntry& entry)
    : task_name_(entry.name), task_(entry.make()) {}

void TrainingSetup::add_flags(CLI::App& command) {
  command.add_option("--optimizer", optimizer_, optimizer::optimizer_help())
      ->type_name("NAME")
      ->capture_default_str()
      ->each([this](const std::string& name) { show_optimizer(name); });
  command.add_option("--schedule", schedule_, joined_names(schedule_names()))
      ->type_name("NAME")
      ->capture_default_str()
      ->each([this](const std::string& name) { show_schedule(name); });
  command.add_option("--device", device, "auto, cpu, cuda or cuda:1")
      ->type_name("NAME")
      ->capture_default_str();
  command::add_field_flags(command, training_);
  command::add_field_flags(command, resources);
  task_->add_flags(command);
  for (const auto& [info, owner] : optimizer::all_optimizer_options()) {
    optimizer_flags_.push_back({add_override(command, info, optimizer_given_), info, owner});
  }
  for (const std::string& owner : schedule_names()) {
    for (const OptionInfo& info : list_options(make_schedule(owner))) {
      if (command.get_option_no_throw(command::flag_of(info.name)) == nullptr) {
        schedule_flags_.push_back({add_override(command, info, schedule_given_), info, owner});
      }
    }
  }
  show_optimizer(optimizer_);
  show_schedule(schedule_);
}

// The help text has the defaults of the chosen optimizer, and of another one for the options that
// the chosen one does not have.
void TrainingSetup::show_defaults(const std::vector<OwnedFlag>& flags,
                                  const std::vector<OptionInfo>& chosen, const std::string& group) {
  for (const OwnedFlag& each : flags) {
    const auto own = std::find_if(chosen.begin(), chosen.end(), [&](const OptionInfo& option) {
      return option.name == each.info.name;
    });
    each.flag->group(group);
    each.flag->default_str(
        own != chosen.end()
            ? run::option_text(own->value)
            : fmt::format("{} with {}", run::option_text(each.info.value), each.owner));
  }
}

void TrainingSetup::show_optimizer(const std::string& name) {
  show_defaults(optimizer_flags_, list_options(optimizer::make_optimizer_options(name)),
                fmt::format("Options of the optimizer, with the defaults of {}", name));
}

void TrainingSetup::show_schedule(const std::string& name) {
  show_defaults(schedule_flags_, list_options(make_schedule(name)),
                fmt::format("Options of the schedule, with the defaults of {}", name));
  for (const OwnedFlag& each : schedule_flags_) {
    if (each.info.name == "total_steps") {
      each.flag->default_str("all steps");
    } else if (each.info.name == "warmup_steps") {
      each.flag->default_str("as --warmup-fraction");
    }
  }
}

std::string TrainingSetup::default_folder() const {
  return fmt::format("runs/{}_{}_{}_{}", task_name_, optimizer_,
                     shortest_text(learning_rate_of(make_optimizer().rule)), training_.seed);
}

Options TrainingSetup::make_optimizer() const {
  Options options = optimizer::make_optimizer_options(optimizer_);
  // LookAhead must be on before its own options are set.
  Overrides ordered = optimizer_given_;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const auto& each) { return each.first == "lookahead"; });
  for (const auto& [name, value] : ordered) {
    set_option(options, name, value);
  }
  sing::validate(options);
  return options;
}

Schedule TrainingSetup::make_schedule_for(const TrainingPlan& plan) const {
  Schedule schedule = make_schedule(schedule_);
  const std::vector<OptionInfo> known = list_options(schedule);
  if (has_option(known, "total_steps")) {
    set_option(schedule, "total_steps", plan.total_steps);
  }
  if (has_option(known, "warmup_steps")) {
    set_option(schedule, "warmup_steps",
               automatic_warmup(plan.training.warmup_fraction, plan.total_steps));
  }
  for (const auto& [name, value] : schedule_given_) {
    set_option(schedule, name, value);
  }
  sing::validate(schedule);
  return schedule;
}

TrainingPlan TrainingSetup::make_plan(const ranks::Ranks& ranks) {
  validate(training_, "training");
  validate(resources, "training");
  TrainingPlan plan{.training = training_,
                    .resources = resources,
                    .optimizer = make_optimizer(),
                    .schedule = {},
                    .device = device_of_rank(device, ranks),
                    .ranks = ranks.count(),
                    .shard_state = shard_state};
  if (shard_state) {
    check_shareable(plan.optimizer);
  }
  const auto cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int automatic = plan.device.is_cpu() ? 1 : cores;
  task_->prepare({.seed = static_cast<std::uint64_t>(training_.seed),
                  .device = plan.device,
                  .data_threads = resources.data_threads > 0
                                      ? static_cast<int>(resources.data_threads)
                                      : automatic,
                  .evaluate_on = training_.evaluate_on,
                  .bf16 = training_.precision == Precision::kBFloat16,
                  .complete = complete_evaluation});
  count_steps(plan, *task_);
  plan.schedule = make_schedule_for(plan);
  return plan;
}

std::vector<OptionInfo> TrainingSetup::options(const TrainingPlan& plan) const {
  std::vector<OptionInfo> list = {{"optimizer", "", optimizer_}};
  for (OptionInfo& option : list_options(plan.optimizer)) {
    if (option.name != "rule") {
      list.push_back(std::move(option));
    }
  }
  list.push_back({"schedule", "", schedule_});
  append(list, list_options(plan.schedule));
  append(list, list_fields(plan.training));
  append(list, task_->options());
  append(list, list_fields(plan.resources));
  list.push_back({"device", "", plan.device.str()});
  return list;
}

run::RunConfig TrainingSetup::config(const TrainingPlan& plan, std::int64_t parameters) const {
  return {.task = task_name_,
          .picture_legend = task_->picture_legend(),
          .data_digest = task_->data_digest(),
          .options = options(plan),
          .parameters = parameters,
          .total_steps = plan.total_steps,
          .steps_per_epoch = plan.steps_per_epoch,
          .ranks = plan.ranks,
          .versions = {{"sing", sing_version()}, {"torch", TORCH_VERSION}}};
}

void TrainingSetup::check_data(const run::RecordedConfig& recorded, const std::string& run) const {
  if (recorded.data_digest.empty()) {
    return;
  }
  const std::string found = task_->data_digest();
  SING_CHECK(found == recorded.data_digest,
             "[{}] wanted the data that the run '{}' was trained on, with digest {}, got others, "
             "with digest {}",
             task_name_, run, recorded.data_digest, found.empty() ? "none" : found);
}

std::vector<std::string> resource_names() {
  std::vector<std::string> names = names_of(list_fields(ResourceOptions{}));
  names.emplace_back("device");
  return names;
}

at::Device parse_device(const std::string& text) {
  const bool has_cuda = ::torch::cuda::is_available() && is_cuda_available();
  if (text == "auto") {
    return has_cuda ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  }
  if (text == "cpu") {
    return at::kCPU;
  }
  const auto number =
      text == "cuda"
          ? std::optional(0)
          : (text.starts_with("cuda:") ? parse_number<int>(text.substr(5)) : std::nullopt);
  SING_CHECK(number && *number >= 0, "[--device] wanted auto, cpu, cuda or cuda:NUMBER, got '{}'",
             text);
  SING_CHECK(has_cuda, "[--device] wanted '{}', but this program or machine has no CUDA", text);
  SING_CHECK(*number < ::torch::cuda::device_count(),
             "[--device] wanted one of {} CUDA devices, got '{}'",
             static_cast<int>(::torch::cuda::device_count()), text);
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(*number));
}

at::Device device_of_rank(const std::string& text, const ranks::Ranks& ranks) {
  const at::Device device = parse_device(text);
  if (ranks.count() == 1 || device.is_cpu() || text.starts_with("cuda:")) {
    return device;
  }
  return parse_device(fmt::format("cuda:{}", ranks.rank_on_machine()));
}

}  // namespace sing::lab::loop
