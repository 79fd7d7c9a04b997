// Defines the endless ladders of values that learning rates and weight decays are tried at.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace sing::lab::tune {

// Returns the value at a place of the ladder. The next place has the next larger value.
using Ladder = std::function<double(int place)>;

// Returns one of …, 5e-4, 1e-3, 5e-3, 1e-2, …: place 0 is 1, place 1 is 5, place −1 is 0.5.
double rate_at(int place);
// Returns one of …, 5e-4, 5e-3, 5e-2, …: place 0 is 5.
double decay_at(int place);

struct Places {
  int first = 0;
  int last = 0;

  friend bool operator==(const Places&, const Places&) = default;
};

// Returns the places of the paper, section 5.1: {5e-4, 1e-3, 5e-3, 1e-2}, and {5e-3, 1e-2, 5e-2,
// 1e-1} for SING ("sing-…").
Places paper_rates(std::string_view optimizer);
// {5e-4, 5e-3, 5e-2, 5e-1}.
inline constexpr Places kPaperDecays = {-4, -1};

// Returns `middle` times powers of 10^(1 / per_decade), rounded to two digits: place 0 is `middle`.
Ladder ladder_around(double middle, int per_decade);

std::vector<double> values_of(const Ladder& ladder, Places places);

}  // namespace sing::lab::tune
