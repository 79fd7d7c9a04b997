// Saving and loading an optimizer's whole state as one safetensors file (docs/state_files.md).
#include <set>

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"
#include "sing/io/safetensors.hpp"
#include "sing/io/value_json.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "sing.optimizer";
constexpr int kFormatVersion = 1;

Json options_to_json(const Options& options) {
  Json json = Json::object();
  for (const OptionInfo& info : list_options(options)) {
    json[info.name] = to_json(info.value);
  }
  return json;
}

// "rule" and "lookahead" come first, so that the options they bring are known.
Options options_from_json(const Json& json) {
  Options options;
  set_option(options, "rule", from_json(json.at("rule"), "options"));
  set_option(options, "lookahead", from_json(json.at("lookahead"), "options"));
  for (const auto& [name, value] : json.items()) {
    if (name != "rule") {
      set_option(options, name, from_json(value, "options"));
    }
  }
  validate(options);
  for (const OptionInfo& info : list_options(options)) {
    SING_CHECK(json.contains(info.name), "wanted the option '{}', got none", info.name);
  }
  return options;
}

// What the file says, read and typed, before it is compared with the optimizer.
struct SavedParameter {
  std::string dtype;
  std::vector<std::int64_t> shape;
  TensorProgress progress;
};

struct SavedGroup {
  Options options;
  GroupProgress progress;
  std::map<std::string, SavedParameter> parameters;
};

struct SavedOptimizer {
  double learning_rate_factor = 1;
  OptimizerProgress progress;
  std::vector<SavedGroup> groups;
};

std::int64_t parse_count(const Json& json, const char* name) {
  const Json& count = json.at(name);
  SING_CHECK(count.is_number_integer() && count.get<std::int64_t>() >= 0,
             "wanted a whole number of at least 0 as '{}', got {}", name, count.dump());
  return count.get<std::int64_t>();
}

SavedOptimizer parse(const std::string& text) {
  const Json json = Json::parse(text);
  SavedOptimizer saved;
  saved.learning_rate_factor = json.at("learning_rate_factor").get<double>();
  SING_CHECK(saved.learning_rate_factor >= 0 && std::isfinite(saved.learning_rate_factor),
             "'learning_rate_factor' must be at least 0 and finite, got {}",
             saved.learning_rate_factor);
  saved.progress.skipped_steps = parse_count(json, "skipped_steps");
  saved.progress.skipped_tensors = parse_count(json, "skipped_tensors");
  for (const Json& group : json.at("groups")) {
    SavedGroup& each = saved.groups.emplace_back();
    each.options = options_from_json(group.at("options"));
    each.progress.steps = parse_count(group, "steps");
    for (const Json& parameter : group.at("parameters")) {
      SavedParameter entry;
      entry.dtype = parameter.at("dtype").get<std::string>();
      entry.shape = parameter.at("shape").get<std::vector<std::int64_t>>();
      entry.progress.steps = parse_count(parameter, "steps");
      entry.progress.non_finite = parse_count(parameter, "non_finite");
      SING_CHECK(each.parameters.emplace(parameter.at("name").get<std::string>(), entry).second,
                 "[load] a parameter is listed twice");
    }
  }
  return saved;
}

// The metadata text of the file, after checking that it is one of ours.
const std::string& optimizer_text(const SafetensorsReader& reader) {
  const auto& metadata = reader.metadata();
  const auto value = [&](const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string("none") : found->second;
  };
  SING_CHECK(value("format") == kFormat, "wanted format '{}', got '{}'", kFormat, value("format"));
  SING_CHECK(value("format_version") == std::to_string(kFormatVersion),
             "wanted format version {}, got {}", kFormatVersion, value("format_version"));
  SING_CHECK(metadata.contains("optimizer"), "wanted the metadata 'optimizer', got none");
  return metadata.at("optimizer");
}

template <class T>
std::string in_brackets(const std::vector<T>& values) {
  return Json(values).dump();
}

const SavedParameter& find_saved(const SavedGroup& saved, std::size_t group,
                                 const Parameter& parameter) {
  const auto found = saved.parameters.find(parameter.name);
  SING_CHECK(found != saved.parameters.end(), "parameter '{}' of group {} is missing",
             parameter.name, group);
  SING_CHECK(found->second.shape == parameter.shape, "parameter '{}' must have shape {}, got {}",
             parameter.name, in_brackets(parameter.shape), in_brackets(found->second.shape));
  SING_CHECK(found->second.dtype == name_of(parameter.dtype), "parameter '{}' must be {}, got {}",
             parameter.name, name_of(parameter.dtype), found->second.dtype);
  return found->second;
}

}  // namespace

void Optimizer::save(const std::filesystem::path& path) const {
  const std::vector<TensorProgress> progress = tensor_progress();
  std::vector<std::vector<std::byte>> host_copies;
  write_safetensors(path, saved_metadata(progress), saved_tensors(progress, host_copies));
}

std::string Optimizer::save_bytes() const {
  const std::vector<TensorProgress> progress = tensor_progress();
  std::vector<std::vector<std::byte>> host_copies;
  return format_safetensors(saved_metadata(progress), saved_tensors(progress, host_copies));
}

double Optimizer::current_learning_rate(std::size_t group) const {
  const float* source = groups_[group].learning_rate_source;
  if (source == nullptr) {
    return learning_rate_of(groups_[group].options.rule);
  }
  float rate = 0;
  backend_->read(&rate, source, sizeof(rate));
  return static_cast<double>(rate);
}

std::map<std::string, std::string> Optimizer::saved_metadata(
    const std::vector<TensorProgress>& progress) const {
  SING_CHECK(!slow_weights_in_use_, "[save] slow weights are in use");
  const OptimizerProgress whole = read_progress();
  Json json = {{"learning_rate_factor", learning_rate_factor_},
               {"skipped_steps", whole.skipped_steps},
               {"skipped_tensors", whole.skipped_tensors},
               {"groups", Json::array()}};
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    GroupProgress group_progress;
    backend_->read(&group_progress, groups_[group].progress.get(), sizeof(group_progress));
    Json options = options_to_json(groups_[group].options);
    options["learning_rate"] = current_learning_rate(group);
    json["groups"].push_back({{"options", std::move(options)},
                              {"steps", group_progress.steps},
                              {"parameters", Json::array()}});
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Record& record = parameters_[i];
    json["groups"][record.group]["parameters"].push_back(
        {{"name", record.parameter.name},
         {"shape", record.parameter.shape},
         {"dtype", name_of(record.parameter.dtype)},
         {"steps", progress[i].steps},
         {"non_finite", progress[i].non_finite}});
  }
  return {{"format", std::string(kFormat)},
          {"format_version", std::to_string(kFormatVersion)},
          {"optimizer", json.dump()}};
}

std::vector<TensorBytes> Optimizer::saved_tensors(
    const std::vector<TensorProgress>& progress,
    std::vector<std::vector<std::byte>>& host_copies) const {
  std::vector<TensorBytes> tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (progress[i].steps == 0) {
      continue;
    }
    for (StateTensor& tensor : state(i)) {
      TensorEntry entry{std::move(tensor.name), tensor.dtype, std::move(tensor.shape)};
      const auto* data = static_cast<const std::byte*>(tensor.memory.get());
      if (backend_->device().type != DeviceType::kCpu) {
        auto& copy = host_copies.emplace_back(*byte_size_of(entry));
        backend_->read(copy.data(), tensor.memory.get(), copy.size());
        data = copy.data();
      }
      const Parameter& parameter = parameters_[i].parameter;
      if (!parameter.strides.empty() && entry.shape == parameter.shape) {
        std::vector<std::byte> ordered(*byte_size_of(entry));
        reorder(ordered.data(), contiguous_strides(entry.shape), data, parameter.strides,
                entry.shape, size_of(entry.dtype));
        data = host_copies.emplace_back(std::move(ordered)).data();
      }
      tensors.push_back({std::move(entry), data});
    }
  }
  return tensors;
}

// Reads the arrays of one parameter into fresh memory after checking them against the header.
Optimizer::Memory Optimizer::read_state(const Record& record,
                                        const SafetensorsReader& reader) const {
  const auto entry_of = [&](const StateShape& each) -> const TensorEntry& {
    const std::string name = fmt::format("{}.{}", record.parameter.name, each.slot);
    const TensorEntry* entry = reader.find(name);
    SING_CHECK(entry != nullptr, "tensor '{}' is missing", name);
    SING_CHECK(entry->dtype == each.dtype, "tensor '{}' must be {}, got {}", name,
               name_of(each.dtype), name_of(entry->dtype));
    SING_CHECK(entry->shape == each.shape, "tensor '{}' must have shape {}, got {}", name,
               in_brackets(each.shape), in_brackets(entry->shape));
    return *entry;
  };
  const std::vector<StateShape> shapes = state_shapes(record);
  for (const StateShape& each : shapes) {
    entry_of(each);
  }
  Memory memory = allocate_state(record);
  std::vector<std::byte> bytes;
  for (const StateShape& each : shapes) {
    const TensorEntry& entry = entry_of(each);
    bytes.resize(*byte_size_of(entry));
    reader.read(entry, bytes.data());
    if (!record.parameter.strides.empty() && entry.shape == record.parameter.shape) {
      std::vector<std::byte> ordered(bytes.size());
      reorder(ordered.data(), record.parameter.strides, bytes.data(),
              contiguous_strides(entry.shape), entry.shape, size_of(entry.dtype));
      bytes = std::move(ordered);
    }
    backend_->write(array_of(memory, groups_[record.group].options.rule, each.slot).get(),
                    bytes.data(), bytes.size());
  }
  return memory;
}

void Optimizer::load(const std::filesystem::path& path) {
  load(SafetensorsReader(path), path.string());
}

void Optimizer::load_bytes(std::string_view bytes) {
  load(SafetensorsReader(std::as_bytes(std::span(bytes)), "bytes"), "bytes");
}

void Optimizer::load(const SafetensorsReader& reader, std::string_view where) {
  SING_CHECK(!slow_weights_in_use_, "[load] slow weights are in use");
  try {
    restore(reader);
  } catch (const std::invalid_argument& error) {
    throw FileError(fmt::format("[load] {}: {}", where, error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw FileError(fmt::format("[load] {}: bad metadata: {}", where, error.what()));
  }
}

// Everything is read and checked before the first change.
void Optimizer::restore(const SafetensorsReader& reader) {
  const SavedOptimizer saved = parse(optimizer_text(reader));
  SING_CHECK(saved.groups.size() == groups_.size(), "wanted {} groups, got {}", groups_.size(),
             saved.groups.size());
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    check_replacement(group, saved.groups[group].options);
  }
  std::vector<std::optional<Memory>> memories(parameters_.size());
  std::vector<TensorProgress> progress(parameters_.size());
  std::size_t tensor_count = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Record& record = parameters_[i];
    progress[i] = find_saved(saved.groups[record.group], record.group, record.parameter).progress;
    if (progress[i].steps > 0) {
      memories[i] = read_state(record, reader);
      tensor_count += state_shapes(record).size();
    }
  }
  std::set<std::pair<std::size_t, std::string_view>> known;
  for (const Record& record : parameters_) {
    known.emplace(record.group, record.parameter.name);
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const auto& [name, parameter] : saved.groups[group].parameters) {
      SING_CHECK(known.contains({group, name}), "parameter '{}' of the file is not in group {}",
                 name, group);
    }
  }
  SING_CHECK(tensor_count == reader.tensors().size(),
             "wanted {} tensors, got {}; one too many is '{}'", tensor_count,
             reader.tensors().size(), first_unknown_tensor(reader));

  defaults_.non_finite =
      saved.groups.empty() ? defaults_.non_finite : saved.groups[0].options.non_finite;
  learning_rate_factor_ = saved.learning_rate_factor;
  backend_->write(progress_.get(), &saved.progress, sizeof(saved.progress));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].memory = std::move(memories[i]);
    backend_->write(tensor_steps_[i].progress, &progress[i], sizeof(TensorProgress));
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    backend_->write(groups_[group].progress.get(), &saved.groups[group].progress,
                    sizeof(GroupProgress));
    replace_options(group, saved.groups[group].options);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    refresh_tensor_step(i);
  }
  version_ = next_version();
}

std::string Optimizer::first_unknown_tensor(const SafetensorsReader& reader) const {
  std::set<std::string> known;
  for (const Record& record : parameters_) {
    for (const StateShape& each : state_shapes(record)) {
      known.insert(fmt::format("{}.{}", record.parameter.name, each.slot));
    }
  }
  for (const TensorEntry& entry : reader.tensors()) {
    if (!known.contains(entry.name)) {
      return entry.name;
    }
  }
  return "of a parameter without steps";
}

}  // namespace sing
