// Writes which operations and kernels a piece of work ran, and when.
#pragma once

#include <c10/core/Device.h>

#include <filesystem>
#include <functional>

namespace sing::lab::bench {

// Runs `work` and waits for the device. The file is a trace for ui.perfetto.dev.
void write_trace(const std::filesystem::path& file, const c10::Device& device,
                 const std::function<void()>& work);

}  // namespace sing::lab::bench
