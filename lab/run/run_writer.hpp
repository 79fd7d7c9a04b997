// Writes the records of a run: metrics.jsonl and the TensorBoard events.
#pragma once

#include <cstdint>

#include "lab/run/appended_file.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_record.hpp"
#include "lab/run/tensorboard_events.hpp"

namespace sing::lab::run {

// Lengths in bytes of the files that grow during a run.
struct RunFileSizes {
  std::uint64_t metrics = 0;
  std::uint64_t events = 0;
};

class RunWriter {
 public:
  // Truncates the files to the sizes that a checkpoint recorded. This and the functions below throw
  // FileError.
  RunWriter(const RunDirectory& directory, const RunFileSizes& keep)
      : metrics_(directory.metrics(), keep.metrics), events_(directory.events(), keep.events) {}

  void write(const StepRecord& record);
  void write(const EvaluationRecord& record);
  void write(const EndRecord& record);

  // Makes everything written so far survive a crash of the machine.
  RunFileSizes sync();

 private:
  AppendedFile metrics_;
  TensorboardEvents events_;
};

}  // namespace sing::lab::run
