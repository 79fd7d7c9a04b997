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
  // Cuts the files back to what a checkpoint knew of. Throws FileError, here as below.
  RunWriter(const RunDirectory& directory, const RunFileSizes& keep)
      : metrics_(directory.metrics(), keep.metrics), events_(directory.events(), keep.events) {}

  void write(const StepRecord& record);
  void write(const EvaluationRecord& record);
  void write(const EndRecord& record);

  // What was written so far survives a crash of the machine.
  RunFileSizes sync();

 private:
  AppendedFile metrics_;
  TensorboardEvents events_;
};

}  // namespace sing::lab::run
