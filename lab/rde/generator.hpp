// Image k of a seed: the first attempt at it that keeps every rule.
#pragma once

#include <cstdint>

#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// Attempts at one image before the options are held to ask for what hardly exists.
inline constexpr std::uint32_t kMaxAttempts = 1U << 20;

// A function of its arguments alone: the same scene on every machine, in any order. `options` has
// passed check(). Throws std::invalid_argument after kMaxAttempts.
Scene make_scene(const RdeOptions& options, std::uint64_t seed, std::uint64_t index);

}  // namespace sing::lab::rde
