// Lists the variants of the RDE images that tests iterate over.
#pragma once

#include <string>
#include <vector>

#include "lab/rde/options.hpp"

namespace sing::lab::rde::test {

struct Variant {
  std::string name;
  RdeOptions options;
};

inline std::vector<Variant> variants() {
  return {
      {"default", {}},
      {"one", {.rectangles = 1}},
      {"two", {.rectangles = 2}},
      {"chain", {.labels = Labels::kChain}},
      {"eight", {.rectangles = 8, .min_side = 20, .max_side = 80, .min_visible = 30}},
      {"chain_of_five",
       {.rectangles = 5,
        .min_side = 20,
        .max_side = 80,
        .min_visible = 30,
        .labels = Labels::kChain}},
      {"small",
       {.rectangles = 3, .image_size = 32, .min_side = 8, .max_side = 24, .min_visible = 16}},
      {"odd_size",
       {.rectangles = 4, .image_size = 51, .min_side = 1, .max_side = 51, .min_visible = 1}},
  };
}

}  // namespace sing::lab::rde::test
