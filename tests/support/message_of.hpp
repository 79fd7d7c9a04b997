// Returns the message of an exception that an action is expected to throw.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace sing::test {

template <class Exception, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Exception& exception) {
    return exception.what();
  }
  ADD_FAILURE() << "expected an exception, got none";
  return {};
}

}  // namespace sing::test
