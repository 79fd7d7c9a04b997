// Lets messages show torch's types (sing/base/message.hpp).
#pragma once

#include <ATen/ATen.h>
#include <fmt/ostream.h>

#include "sing/base/message.hpp"

template <>
struct fmt::formatter<at::ScalarType> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<at::Device> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<at::IntArrayRef> : fmt::ostream_formatter {};
