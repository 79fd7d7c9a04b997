// Writes records as lines of JSON. A number that is not finite is null: JSON has no word for it.
#include "lab/run/metrics_log.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sing::lab::run {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::optional<double> optional_number(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

}  // namespace

void MetricsLog::write(const StepRecord& record) {
  Json line = {{"kind", "step"},
               {"step", record.step},
               {"epoch", record.epoch},
               {"loss", number(record.loss)},
               {"learning_rate", record.learning_rate},
               {"images_per_second", number(record.images_per_second)},
               {"seconds",
                {{"data", number(record.data_seconds)},
                 {"forward_backward", number(record.forward_backward_seconds)},
                 {"optimizer", number(record.optimizer_seconds)}}}};
  if (!record.gradient_norms.empty()) {
    Json norms = Json::object();
    for (const auto& [name, norm] : record.gradient_norms) {
      norms[name] = number(norm);
    }
    line["gradient_norms"] = std::move(norms);
  }
  file_.append(line.dump() + "\n");
}

void MetricsLog::write(const EvaluationRecord& record) {
  const Json line = {{"kind", "evaluation"},
                     {"step", record.step},
                     {"epoch", record.epoch},
                     {"loss", number(record.loss)},
                     {"accuracy", number(record.accuracy)}};
  file_.append(line.dump() + "\n");
}

void MetricsLog::write(const EndRecord& record) {
  const Json line = {{"kind", "end"},
                     {"status", name_of(record.status)},
                     {"best_accuracy", number(record.best_accuracy)},
                     {"final_accuracy", number(record.final_accuracy)},
                     {"final_loss", number(record.final_loss)},
                     {"seconds", record.seconds}};
  file_.append(line.dump() + "\n");
}

std::optional<EndRecord> read_end(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    last = std::move(line);
  }
  const Json record = Json::parse(last, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || record.value("kind", "") != "end") {
    return std::nullopt;
  }
  for (const RunStatus status : {RunStatus::kFinished, RunStatus::kDiverged}) {
    if (record.value("status", "") == name_of(status)) {
      return EndRecord{.status = status,
                       .best_accuracy = optional_number(record, "best_accuracy"),
                       .final_accuracy = optional_number(record, "final_accuracy"),
                       .final_loss = optional_number(record, "final_loss"),
                       .seconds = optional_number(record, "seconds").value_or(0)};
    }
  }
  return std::nullopt;
}

}  // namespace sing::lab::run
