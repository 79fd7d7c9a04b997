// Declares the task of translating sentences.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::translation {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::translation
