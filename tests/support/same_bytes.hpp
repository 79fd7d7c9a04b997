// Compares memory bit by bit and reports where it differs, without printing all of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sing::test {

inline ::testing::AssertionResult same_bytes(const std::string& actual,
                                             const std::string& expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " bytes for " << expected.size();
  }
  const auto [a, b] = std::mismatch(actual.begin(), actual.end(), expected.begin());
  if (a != actual.end()) {
    return ::testing::AssertionFailure()
           << "byte " << (a - actual.begin()) << " of " << actual.size() << " differs";
  }
  return ::testing::AssertionSuccess() << "all " << actual.size() << " bytes are equal";
}

inline ::testing::AssertionResult same_bytes(const std::vector<std::string>& actual,
                                             const std::vector<std::string>& expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " arrays for " << expected.size();
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (const auto same = same_bytes(actual[i], expected[i]); !same) {
      return ::testing::AssertionFailure() << "array " << i << ": " << same.message();
    }
  }
  return ::testing::AssertionSuccess() << "all " << actual.size() << " arrays are equal";
}

}  // namespace sing::test
