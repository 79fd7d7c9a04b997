// Decides which arrays a parameter has, and allocates them.
#include "sing/optim/state_store.hpp"

#include <algorithm>
#include <tuple>

#include "sing/base/message.hpp"

namespace sing {

std::vector<StateShape> state_shapes(const Parameter& parameter, const Options& options) {
  const std::vector<std::int64_t>& shape = parameter.shape;
  const Dtype dtype = state_dtype(parameter.dtype);
  const bool factored = shape.size() >= 2;
  std::vector<StateShape> shapes;
  std::visit(
      [&](const auto& rule) {
        for (std::size_t place = 0; place < std::size(rule.kSlots); ++place) {
          const Slot& slot = rule.kSlots[place];
          if (rule.uses_slot(place, factored)) {
            shapes.push_back({slot.name, place, slot_dtype(slot, options.state, parameter.dtype),
                              shape_of(slot.shape, shape)});
          }
        }
      },
      options.rule);
  if (options.lookahead) {
    shapes.push_back({"slow", kSlowPlace, dtype, shape});
  }
  if (options.master_weights && is_low_precision(parameter.dtype)) {
    shapes.push_back({"master", kMasterPlace, Dtype::kFloat32, shape});
  }
  return shapes;
}

void check_same_state(const Parameter& parameter, const Options& present, const Options& changed) {
  const std::vector<StateShape> kept = state_shapes(parameter, present);
  const std::vector<StateShape> wanted = state_shapes(parameter, changed);
  if (kept == wanted) {
    return;
  }
  SING_CHECK(present.state == changed.state,
             "[optimizer] wanted options that keep the state of '{}' in {}, got state '{}'; the "
             "type of state cannot change",
             parameter.name, name_of(present.state), name_of(changed.state));
  // The first array that only the longer list has.
  const bool is_added = wanted.size() > kept.size();
  const auto& [more, less] = is_added ? std::tie(wanted, kept) : std::tie(kept, wanted);
  const auto differs = std::mismatch(less.begin(), less.end(), more.begin()).second;
  throw std::invalid_argument(
      fmt::format("[optimizer] wanted options that keep the state, got options that would {} '{}' "
                  "of '{}'; which state exists cannot change",
                  is_added ? "add" : "drop", differs->slot, parameter.name));
}

void check_state_on(const Device& device, const Parameter& parameter, const Options& options) {
  SING_CHECK(options.state == StateType::kFloat32 || device.type == DeviceType::kCpu,
             "[optimizer] parameter {}: wanted float32 state on {}, got {}", describe(parameter),
             name_of(device), name_of(options.state));
}

const StateMemory* StateStore::find(std::size_t parameter) const {
  return parameter < memory_.size() && memory_[parameter] ? &*memory_[parameter] : nullptr;
}

StateMemory StateStore::allocate(const std::vector<StateShape>& shapes) const {
  StateMemory memory;
  for (const StateShape& each : shapes) {
    memory[each.place] = backend_->allocate(each.bytes());
  }
  return memory;
}

void StateStore::resize(std::size_t count) { memory_.resize(count); }

void StateStore::replace(std::size_t parameter, std::optional<StateMemory> memory) {
  memory_[parameter] = std::move(memory);
}

}  // namespace sing
