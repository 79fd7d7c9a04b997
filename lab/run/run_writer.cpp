// Writes each record as a line of metrics.jsonl and as TensorBoard events.
#include "lab/run/run_writer.hpp"

#include <cmath>

#include "lab/run/metrics_line.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::run {

void RunWriter::write(const StepRecord& record) {
  metrics_.append(metrics_line(record));
  Scalars scalars = {{"training/loss", record.loss},
                     {"training/learning_rate", record.learning_rate},
                     {fmt::format("training/{}_per_second", record.unit), record.units_per_second},
                     {"seconds/data", record.data_seconds},
                     {"seconds/forward_backward", record.forward_backward_seconds},
                     {"seconds/optimizer", record.optimizer_seconds}};
  for (const auto& [name, norm] : record.gradient_norms) {
    scalars.emplace_back("gradient_norm/" + name, norm);
  }
  events_.write(record.step, scalars);
}

void RunWriter::write(const EvaluationRecord& record) {
  metrics_.append(metrics_line(record));
  Scalars scalars = {{"evaluation/loss", record.loss}};
  if (std::isfinite(record.accuracy)) {
    scalars.emplace_back("evaluation/" + record.score_name, record.accuracy);
  }
  for (const auto& [name, value] : record.others) {
    scalars.emplace_back("evaluation/" + name, value);
  }
  events_.write(record.step, scalars);
}

void RunWriter::write(const EndRecord& record) { metrics_.append(metrics_line(record)); }

RunFileSizes RunWriter::sync() {
  metrics_.sync();
  events_.file().sync();
  return {.metrics = metrics_.size(), .events = events_.file().size()};
}

}  // namespace sing::lab::run
