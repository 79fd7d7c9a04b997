// Conversions between an optimizer's state and the text of a state file.
#include "sing/optim/state_file.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"
#include "sing/io/value_json.hpp"

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

// Options that files of earlier versions do not have; they keep their defaults.
constexpr std::string_view kLaterOptions[] = {"clip_norm", "state"};

// "rule" and "lookahead" are set first, because they decide which other options exist.
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
    SING_CHECK(json.contains(info.name) ||
                   std::ranges::find(kLaterOptions, info.name) != std::end(kLaterOptions),
               "wanted the option '{}', got none", info.name);
  }
  return options;
}

std::int64_t parse_count(const Json& json, const char* name) {
  const Json& value = json.at(name);
  SING_CHECK(value.is_number_unsigned() &&
                 value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max(),
             "wanted a whole number of at least 0 as '{}', got {}", name, value.dump());
  return value.get<std::int64_t>();
}

SavedParameter parse_parameter(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .dtype = json.at("dtype").get<std::string>(),
          .shape = json.at("shape").get<std::vector<std::int64_t>>(),
          .progress = {.steps = parse_count(json, "steps"),
                       .non_finite = parse_count(json, "non_finite")}};
}

SavedOptimizer parse_optimizer(const Json& json) {
  SavedOptimizer saved;
  saved.learning_rate_factor = json.at("learning_rate_factor").get<double>();
  SING_CHECK(saved.learning_rate_factor >= 0 && std::isfinite(saved.learning_rate_factor),
             "wanted a learning_rate_factor at least 0 and finite, got {}",
             saved.learning_rate_factor);
  saved.progress.skipped_steps = parse_count(json, "skipped_steps");
  saved.progress.skipped_tensors = parse_count(json, "skipped_tensors");
  for (const Json& group : json.at("groups")) {
    SavedGroup& each = saved.groups.emplace_back();
    each.options = options_from_json(group.at("options"));
    each.progress.steps = parse_count(group, "steps");
    for (const Json& parameter : group.at("parameters")) {
      each.parameters.push_back(parse_parameter(parameter));
    }
    const NonFinite policy = each.options.non_finite;
    SING_CHECK(policy == saved.groups[0].options.non_finite,
               "wanted one non_finite policy for all groups, got {} and {}",
               name_of(saved.groups[0].options.non_finite), name_of(policy));
  }
  return saved;
}

std::string in_brackets(const std::vector<std::int64_t>& shape) { return Json(shape).dump(); }

void check_same(const SavedParameter& saved, const Parameter& parameter) {
  SING_CHECK(saved.shape == parameter.shape, "parameter '{}': wanted shape {}, got {}",
             parameter.name, in_brackets(parameter.shape), in_brackets(saved.shape));
  SING_CHECK(saved.dtype == name_of(parameter.dtype), "parameter '{}': wanted {}, got {}",
             parameter.name, name_of(parameter.dtype), saved.dtype);
}

// Returns whether an array has the parameter's own order in memory; in files all arrays are
// contiguous.
bool has_own_order(const Parameter& parameter, const StateShape& shape) {
  return !parameter.strides.empty() && shape.shape == parameter.shape;
}

void check_tensor(const SafetensorsReader& reader, const Parameter& parameter,
                  const StateShape& shape) {
  const std::string name = tensor_name(parameter, shape);
  const TensorEntry* entry = reader.find(name);
  SING_CHECK(entry != nullptr, "wanted tensor '{}', got none", name);
  SING_CHECK(entry->dtype == shape.dtype, "tensor '{}': wanted {}, got {}", name,
             name_of(shape.dtype), name_of(entry->dtype));
  SING_CHECK(entry->shape == shape.shape, "tensor '{}': wanted shape {}, got {}", name,
             in_brackets(shape.shape), in_brackets(entry->shape));
}

}  // namespace

std::map<std::string, std::string> to_metadata(const SavedOptimizer& saved) {
  Json json = {{"learning_rate_factor", saved.learning_rate_factor},
               {"skipped_steps", saved.progress.skipped_steps},
               {"skipped_tensors", saved.progress.skipped_tensors},
               {"groups", Json::array()}};
  for (const SavedGroup& group : saved.groups) {
    Json parameters = Json::array();
    for (const SavedParameter& parameter : group.parameters) {
      parameters.push_back({{"name", parameter.name},
                            {"shape", parameter.shape},
                            {"dtype", parameter.dtype},
                            {"steps", parameter.progress.steps},
                            {"non_finite", parameter.progress.non_finite}});
    }
    json["groups"].push_back({{"options", options_to_json(group.options)},
                              {"steps", group.progress.steps},
                              {"parameters", std::move(parameters)}});
  }
  return {{"format", std::string(kFormat)},
          {"format_version", std::to_string(kFormatVersion)},
          {"optimizer", json.dump()}};
}

SavedOptimizer from_metadata(const std::map<std::string, std::string>& metadata) {
  const auto value = [&](const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string("none") : found->second;
  };
  SING_CHECK(value("format") == kFormat, "wanted format '{}', got '{}'", kFormat, value("format"));
  SING_CHECK(value("format_version") == std::to_string(kFormatVersion),
             "wanted format version {}, got {}", kFormatVersion, value("format_version"));
  SING_CHECK(metadata.contains("optimizer"), "wanted the metadata 'optimizer', got none");
  try {
    return parse_optimizer(Json::parse(metadata.at("optimizer")));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(
        fmt::format("wanted the metadata of an optimizer, got {}", error.what()));
  }
}

std::vector<TensorProgress> match_parameters(const SavedOptimizer& saved,
                                             const ParameterStore& parameters) {
  using Key = std::pair<std::size_t, std::string_view>;  // group and name
  std::map<Key, const SavedParameter*> found;
  for (std::size_t group = 0; group < saved.groups.size(); ++group) {
    for (const SavedParameter& parameter : saved.groups[group].parameters) {
      SING_CHECK(found.emplace(Key(group, parameter.name), &parameter).second,
                 "wanted each parameter once, got '{}' of group {} twice", parameter.name, group);
    }
  }
  std::vector<TensorProgress> progress;
  for (const auto& [parameter, group, layout, shard] : parameters) {
    const auto entry = found.find(Key(group, parameter.name));
    SING_CHECK(entry != found.end(), "wanted parameter '{}' in group {}, got none", parameter.name,
               group);
    check_same(*entry->second, parameter);
    progress.push_back(entry->second->progress);
    found.erase(entry);
  }
  if (!found.empty()) {
    const auto& [group, name] = found.begin()->first;
    throw std::invalid_argument(fmt::format(
        "wanted the parameters of the optimizer, got also '{}' in group {}", name, group));
  }
  return progress;
}

std::string tensor_name(const Parameter& parameter, const StateShape& shape) {
  return fmt::format("{}.{}", parameter.name, shape.slot);
}

SavedArrays collect_arrays(const Backend& backend, const ParameterStore& parameters,
                           std::span<const Options> options, const StateStore& state,
                           std::span<const TensorProgress> progress) {
  SavedArrays saved;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (progress[i].steps == 0) {
      continue;
    }
    const auto& [parameter, group, layout, shard] = parameters[i];
    for (StateShape& each : state_shapes(parameter, options[group])) {
      const void* const memory = (*state.find(i))[each.place].get();
      const auto* data = static_cast<const std::byte*>(memory);
      if (backend.device().type != DeviceType::kCpu) {
        auto& copy = saved.host_copies.emplace_back(each.bytes());
        backend.read(copy.data(), memory, copy.size());
        data = copy.data();
      }
      if (has_own_order(parameter, each)) {
        std::vector<std::byte> ordered(each.bytes());
        reorder(ordered.data(), contiguous_strides(each.shape), data, parameter.strides, each.shape,
                size_of(each.dtype));
        data = saved.host_copies.emplace_back(std::move(ordered)).data();
      }
      saved.tensors.push_back(
          {{tensor_name(parameter, each), each.dtype, std::move(each.shape)}, data});
    }
  }
  return saved;
}

std::vector<std::optional<StateMemory>> read_arrays(const SafetensorsReader& reader,
                                                    const Backend& backend,
                                                    const ParameterStore& parameters,
                                                    std::span<const Options> options,
                                                    const StateStore& state,
                                                    std::span<const TensorProgress> progress) {
  std::vector<std::vector<StateShape>> shapes(parameters.size());
  std::set<std::string> wanted;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [parameter, group, layout, shard] = parameters[i];
    if (progress[i].steps > 0) {
      shapes[i] = state_shapes(parameter, options[group]);
    }
    for (const StateShape& each : shapes[i]) {
      check_tensor(reader, parameter, each);
      wanted.insert(tensor_name(parameter, each));
    }
  }
  for (const TensorEntry& entry : reader.tensors()) {
    SING_CHECK(wanted.contains(entry.name),
               "wanted only tensors of parameters with updates, got '{}'", entry.name);
  }
  std::vector<std::optional<StateMemory>> memories(parameters.size());
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (progress[i].steps == 0) {
      continue;
    }
    memories[i] = state.allocate(shapes[i]);
    for (const StateShape& each : shapes[i]) {
      const Parameter& parameter = parameters[i].parameter;
      bytes.resize(each.bytes());
      reader.read(*reader.find(tensor_name(parameter, each)), bytes.data());
      if (has_own_order(parameter, each)) {
        std::vector<std::byte> ordered(bytes.size());
        reorder(ordered.data(), parameter.strides, bytes.data(), contiguous_strides(each.shape),
                each.shape, size_of(each.dtype));
        bytes = std::move(ordered);
      }
      backend.write((*memories[i])[each.place].get(), bytes.data(), bytes.size());
    }
  }
  return memories;
}

}  // namespace sing
