// Converts records to JSON and back.
#include "lab/run/metrics_line.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sing/base/message.hpp"

namespace sing::lab::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "kind";
constexpr const char* kStep = "step";  // a kind of line, and the key of its step
constexpr const char* kEvaluation = "evaluation";
constexpr const char* kEnd = "end";
constexpr const char* kStatus = "status";
constexpr const char* kSeconds = "seconds";
constexpr const char* kGradientNorms = "gradient_norms";
constexpr std::string_view kPerSecond = "_per_second";  // after the unit
constexpr const char* kScore = "score";                 // the name, if it is not accuracy
constexpr const char* kScores = "scores";

// A key of the file and the number that it holds.
template <class Record>
struct Field {
  const char* key;
  double Record::* number;
};

constexpr Field<StepRecord> kStepFields[] = {{"epoch", &StepRecord::epoch},
                                             {"loss", &StepRecord::loss},
                                             {"learning_rate", &StepRecord::learning_rate}};
constexpr Field<StepRecord> kStepSeconds[] = {
    {"data", &StepRecord::data_seconds},
    {"forward_backward", &StepRecord::forward_backward_seconds},
    {"optimizer", &StepRecord::optimizer_seconds}};
constexpr Field<EvaluationRecord> kEvaluationFields[] = {{"epoch", &EvaluationRecord::epoch},
                                                         {"loss", &EvaluationRecord::loss},
                                                         {"accuracy", &EvaluationRecord::accuracy}};
constexpr Field<EndRecord> kEndFields[] = {{"best_accuracy", &EndRecord::best_accuracy},
                                           {"final_accuracy", &EndRecord::final_accuracy},
                                           {"final_loss", &EndRecord::final_loss},
                                           {kSeconds, &EndRecord::seconds}};

Json number_or_null(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

double to_number(const Json& value) { return value.is_number() ? value.get<double>() : kAbsent; }

template <class Record, std::size_t count>
void write_fields(Json& json, const Record& record, const Field<Record> (&fields)[count]) {
  for (const Field<Record>& field : fields) {
    json[field.key] = number_or_null(record.*field.number);
  }
}

template <class Record, std::size_t count>
void read_fields(const Json& json, Record& record, const Field<Record> (&fields)[count]) {
  for (const Field<Record>& field : fields) {
    const auto found = json.find(field.key);
    record.*field.number = found != json.end() ? to_number(*found) : kAbsent;
  }
}

template <class Record>
void write_scores(Json& line, const Record& record) {
  if (record.score_name != kAccuracy) {
    line[kScore] = record.score_name;
  }
  for (const auto& [name, value] : record.others) {
    line[kScores][name] = number_or_null(value);
  }
}

Json json_of(const StepRecord& record) {
  Json line = {{kKind, kStep}, {kStep, record.step}};
  write_fields(line, record, kStepFields);
  line[fmt::format("{}{}", record.unit, kPerSecond)] = number_or_null(record.units_per_second);
  write_fields(line[kSeconds], record, kStepSeconds);
  for (const auto& [name, norm] : record.gradient_norms) {
    line[kGradientNorms][name] = number_or_null(norm);
  }
  return line;
}

Json json_of(const EvaluationRecord& record) {
  Json line = {{kKind, kEvaluation}, {kStep, record.step}};
  write_fields(line, record, kEvaluationFields);
  write_scores(line, record);
  return line;
}

Json json_of(const EndRecord& record) {
  Json line = {{kKind, kEnd}, {kStatus, name_of(record.status)}};
  write_fields(line, record, kEndFields);
  write_scores(line, record);
  return line;
}

std::string text_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json object_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_object() ? *found : Json::object();
}

// Reads the speed from the key that ends in "_per_second".
void read_speed(const Json& line, StepRecord& record) {
  for (const auto& [key, value] : line.items()) {
    if (key.ends_with(kPerSecond)) {
      record.unit = key.substr(0, key.size() - kPerSecond.size());
      record.units_per_second = to_number(value);
    }
  }
}

template <class Record>
void read_scores(const Json& line, Record& record) {
  if (const std::string name = text_at(line, kScore); !name.empty()) {
    record.score_name = name;
  }
  const Json scores = object_at(line, kScores);
  for (const auto& [name, value] : scores.items()) {
    record.others.emplace_back(name, to_number(value));
  }
}

std::optional<std::int64_t> step_of(const Json& line) {
  const auto found = line.find(kStep);
  if (found == line.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0) {
    return std::nullopt;
  }
  return found->get<std::int64_t>();
}

StepRecord step_record(const Json& line, std::int64_t step) {
  StepRecord record{.step = step};
  read_fields(line, record, kStepFields);
  read_speed(line, record);
  read_fields(object_at(line, kSeconds), record, kStepSeconds);
  const Json norms = object_at(line, kGradientNorms);
  for (const auto& [name, value] : norms.items()) {
    record.gradient_norms.emplace_back(name, to_number(value));
  }
  return record;
}

EvaluationRecord evaluation_record(const Json& line, std::int64_t step) {
  EvaluationRecord record{.step = step};
  read_fields(line, record, kEvaluationFields);
  read_scores(line, record);
  return record;
}

std::optional<MetricsRecord> end_record(const Json& line) {
  const std::string status = text_at(line, kStatus);
  for (const auto& [value, name] : enum_names(RunStatus{})) {
    if (status == name) {
      EndRecord record{.status = value};
      read_fields(line, record, kEndFields);
      read_scores(line, record);
      return record;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string metrics_line(const MetricsRecord& record) {
  return std::visit([](const auto& each) { return json_of(each).dump() + "\n"; }, record);
}

std::optional<MetricsRecord> parse_metrics_line(const std::string& text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string kind = line.is_object() ? text_at(line, kKind) : std::string();
  if (kind == kEnd) {
    return end_record(line);
  }
  const std::optional<std::int64_t> step = line.is_object() ? step_of(line) : std::nullopt;
  if (step && kind == kStep) {
    return step_record(line, *step);
  }
  if (step && kind == kEvaluation) {
    return evaluation_record(line, *step);
  }
  return std::nullopt;
}

}  // namespace sing::lab::run
