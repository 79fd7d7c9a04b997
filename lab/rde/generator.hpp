// Generates image k of a seed: the first attempt at it that satisfies every rule.
#pragma once

#include <cstdint>

#include "lab/rde/scene.hpp"

namespace sing::lab::rde {

// After this many attempts at one image, the options are considered too restrictive.
inline constexpr std::uint32_t kMaxAttempts = 1U << 20;

// Depends only on its arguments: the scene is the same on every machine and in any order. `options`
// must have passed check(). Throws std::invalid_argument after kMaxAttempts.
Scene make_scene(const RdeOptions& options, std::uint64_t seed, std::uint64_t index);

}  // namespace sing::lab::rde
