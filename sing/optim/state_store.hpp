// The arrays of state of every parameter, in backend memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sing/backend/backend.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter.hpp"

namespace sing {

// The places of a parameter's arrays: the rule's slots, then the slow weights of LookAhead and the
// float32 master of a 16-bit parameter.
inline constexpr std::size_t kSlowPlace = kMaxSlots;
inline constexpr std::size_t kMasterPlace = kMaxSlots + 1;
inline constexpr std::size_t kPlaceCount = kMaxSlots + 2;

// One array that a parameter's state consists of.
struct StateShape {
  std::string_view slot;  // its name in state files
  std::size_t place;
  Dtype dtype;
  std::vector<std::int64_t> shape;

  std::size_t bytes() const { return count_elements(shape) * size_of(dtype); }
  bool operator==(const StateShape&) const = default;
};

// The arrays of a parameter under these options, in the order of their places.
std::vector<StateShape> state_shapes(const Parameter& parameter, const Options& options);

// Throws std::invalid_argument unless the parameter has the same arrays under both options.
void check_same_state(const Parameter& parameter, const Options& present, const Options& changed);

// Throws std::invalid_argument unless the backends of a device step state of this type.
void check_state_on(const Device& device, const Parameter& parameter, const Options& options);

// The memory of a parameter's arrays by place; an array that is not used is null.
using StateMemory = std::array<std::shared_ptr<void>, kPlaceCount>;

class StateStore {
 public:
  explicit StateStore(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // The state of a parameter; null before its first gradient.
  const StateMemory* find(std::size_t parameter) const;
  // Zeroed memory for these arrays, which belong to no parameter yet.
  StateMemory allocate(const std::vector<StateShape>& shapes) const;
  // Makes room for the state of `count` parameters, so that replace() does not throw.
  void resize(std::size_t count);
  // Gives a parameter this state, or none.
  void replace(std::size_t parameter, std::optional<StateMemory> memory);

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<std::optional<StateMemory>> memory_;  // by parameter
};

}  // namespace sing
