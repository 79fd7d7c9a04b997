// Lays out and checks the tensors of a checkpoint.
#include "lab/loop/checkpoint.hpp"

#include <torch/torch.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/loop/content_checksum.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::loop {
namespace {

using Json = nlohmann::ordered_json;
using Metadata = std::map<std::string, std::string>;
using sing::torch::NamedTensor;

constexpr const char* kFormat = "sing.checkpoint";
constexpr const char* kVersion = "4";
constexpr const char* kEarlierVersion = "2";  // its checksum covers only tensors
constexpr std::string_view kOptimizerPrefix = "optimizer.";
constexpr std::string_view kRandomPrefix = "random.";

// Visits each field of the state with its name, for writing and for reading.
template <class State, class Visitor>
void visit_state(State& state, Visitor&& visit) {
  visit("step", state.step);
  visit("seconds", state.seconds);
  visit("best_accuracy", state.best_accuracy);
  visit("last_accuracy", state.last_accuracy);
  visit("last_loss", state.last_loss);
  visit("window_loss", state.window_loss);
  visit("window_steps", state.window_steps);
  visit("first_loss", state.first_loss);
  visit("steps_above_first", state.steps_above_first);
  visit("metrics_bytes", state.file_sizes.metrics);
  visit("events_bytes", state.file_sizes.events);
}

// Visits the fields that earlier checkpoints do not have.
template <class State, class Visitor>
void visit_added_state(State& state, Visitor&& visit) {
  visit("best_loss", state.best_loss);
  visit("last_scores", state.last_scores);
}

template <class Number>
Json to_json(const Number& number) {
  return number;
}
Json to_json(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }
Json to_json(const std::vector<std::pair<std::string, double>>& scores) {
  Json json = Json::object();
  for (const auto& [name, value] : scores) {
    json[name] = value;
  }
  return json;
}

template <class Number>
void from_json(const Json& json, Number& number) {
  number = json.get<Number>();
}
// A number that is not finite is null in JSON.
void from_json(const Json& json, double& number) {
  number = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
void from_json(const Json& json, std::optional<double>& number) {
  number = json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

void from_json(const Json& json, std::vector<std::pair<std::string, double>>& scores) {
  for (const auto& [name, value] : json.items()) {
    from_json(value, scores.emplace_back(name, 0).second);
  }
}

// Counters and generator states are int64, and all other tensors are floating-point.
Dtype dtype_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kLong ? Dtype::kInt64 : sing::torch::dtype_of(tensor);
}

// Collects tensors in host memory before they are written to a file.
class Collection {
 public:
  void add(std::string name, const at::Tensor& tensor) {
    const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
    kept_.push_back(host);
    tensors_.push_back({{std::move(name), dtype_of(host), host.sizes().vec()},
                        static_cast<const std::byte*>(host.const_data_ptr())});
  }
  void add(TensorEntry entry, std::vector<std::byte> bytes) {
    bytes_.push_back(std::move(bytes));
    tensors_.push_back({std::move(entry), bytes_.back().data()});
  }
  void write(const std::filesystem::path& path, Metadata metadata) const {
    metadata[kChecksumKey] = content_checksum(tensors_, metadata);
    write_safetensors(path, metadata, tensors_);
  }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<TensorBytes> tensors_;
};

std::vector<NamedTensor> tensors_of(const ::torch::nn::Module& module) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : module.named_parameters()) {
    tensors.emplace_back(item.key(), item.value());
  }
  for (const auto& item : module.named_buffers()) {
    tensors.emplace_back(item.key(), item.value());
  }
  return tensors;
}

// Returns torch's default generators by name: the CPU's and, if it is another, the device's.
std::vector<std::pair<std::string, at::Generator>> generators_for(
    const ::torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Generator>> generators = {
      {"cpu", at::globalContext().defaultGenerator(at::kCPU)}};
  const auto parameters = module.parameters();
  if (!parameters.empty() && !parameters.front().device().is_cpu()) {
    generators.emplace_back("device",
                            at::globalContext().defaultGenerator(parameters.front().device()));
  }
  return generators;
}

at::Tensor state_of(const at::Generator& generator) {
  const at::Tensor bytes = generator.get_state().to(at::kCPU).contiguous();
  SING_CHECK(bytes.numel() % 8 == 0,
             "[checkpoint] wanted a generator's state of whole 64-bit words, got {} bytes",
             bytes.numel());
  return bytes.view(at::kLong);
}

// Checks the format and the checksum.
void check_file(const SafetensorsReader& reader, const std::string& path) {
  const auto value = [&](const char* key) {
    const auto found = reader.metadata().find(key);
    return found == reader.metadata().end() ? std::string() : found->second;
  };
  const std::string version = value("format_version");
  if (value("format") != kFormat) {
    throw FileError(
        fmt::format("[checkpoint] '{}': wanted a checkpoint of sing train, got another file of {} "
                    "tensors",
                    path, reader.tensors().size()));
  }
  if (version != kVersion && version != kEarlierVersion) {
    throw FileError(fmt::format("[checkpoint] '{}': wanted version {} of its format, got '{}'",
                                path, kVersion, version));
  }
  const std::string found =
      version == kVersion ? content_checksum(reader) : content_checksum_of_version_2(reader);
  if (value(kChecksumKey) != found) {
    throw FileError(
        fmt::format("[checkpoint] '{}': wanted content with checksum '{}', got {}: the file is "
                    "damaged",
                    path, value(kChecksumKey), found));
  }
}

SafetensorsReader read_header(const std::filesystem::path& path) {
  try {
    return SafetensorsReader(path);
  } catch (const FileError& problem) {
    throw FileError(fmt::format(
        "[checkpoint] wanted a checkpoint of sing train, got another file: {}", problem.what()));
  }
}

// Throws FileError for a file that is not a checkpoint or is damaged.
SafetensorsReader open_checkpoint(const std::filesystem::path& path) {
  SafetensorsReader reader = read_header(path);
  check_file(reader, path.string());
  return reader;
}

void read_into(const SafetensorsReader& reader, const std::string& path, const std::string& name,
               at::Tensor tensor) {
  const TensorEntry* const entry = reader.find(name);
  const TensorEntry wanted{name, dtype_of(tensor), tensor.sizes().vec()};
  if (entry == nullptr || !(*entry == wanted)) {
    throw FileError(fmt::format("[checkpoint] '{}': wanted {}{}{}", path,
                                sing::torch::describe(name, tensor),
                                entry == nullptr ? ", got none" : ", got another shape or type",
                                "; is the file of a run with another model?"));
  }
  const at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  reader.read(*entry, static_cast<std::byte*>(host.mutable_data_ptr()));
  const at::NoGradGuard no_gradient;
  tensor.copy_(host);
}

void add_optimizer(Collection& tensors, Metadata& metadata, const std::string& bytes) {
  const SafetensorsReader reader(std::as_bytes(std::span(bytes)), "optimizer");
  for (const TensorEntry& entry : reader.tensors()) {
    tensors.add({fmt::format("{}{}", kOptimizerPrefix, entry.name), entry.dtype, entry.shape},
                read_bytes(reader, entry));
  }
  for (const auto& [key, value] : reader.metadata()) {
    metadata[fmt::format("{}{}", kOptimizerPrefix, key)] = value;
  }
}

// Returns the optimizer's part of the file in the format of an optimizer's own state file.
std::string optimizer_bytes(const SafetensorsReader& reader) {
  Metadata metadata;
  for (const auto& [key, value] : reader.metadata()) {
    if (key.starts_with(kOptimizerPrefix)) {
      metadata[key.substr(kOptimizerPrefix.size())] = value;
    }
  }
  std::vector<std::vector<std::byte>> kept;
  std::vector<TensorBytes> tensors;
  for (const TensorEntry& entry : reader.tensors()) {
    if (entry.name.starts_with(kOptimizerPrefix)) {
      kept.push_back(read_bytes(reader, entry));
      tensors.push_back({{entry.name.substr(kOptimizerPrefix.size()), entry.dtype, entry.shape},
                         kept.back().data()});
    }
  }
  return format_safetensors(metadata, tensors);
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const ::torch::nn::Module& module,
                     const std::string& optimizer_state, const TrainingState& state) {
  Collection tensors;
  for (const NamedTensor& each : tensors_of(module)) {
    tensors.add(each.first, each.second);
  }
  for (const auto& [name, generator] : generators_for(module)) {
    tensors.add(fmt::format("{}{}", kRandomPrefix, name), state_of(generator));
  }
  Json numbers = Json::object();
  const auto add = [&](const char* name, const auto& member) { numbers[name] = to_json(member); };
  visit_state(state, add);
  visit_added_state(state, add);
  Metadata metadata = {
      {"format", kFormat}, {"format_version", kVersion}, {"state", numbers.dump()}};
  add_optimizer(tensors, metadata, optimizer_state);
  tensors.write(path, metadata);
}

TrainingState load_checkpoint(const std::filesystem::path& path, ::torch::nn::Module& module,
                              sing::torch::Optimizer& optimizer, const PartOfState& part) {
  const SafetensorsReader reader = open_checkpoint(path);
  TrainingState state;
  try {
    const Json numbers = Json::parse(reader.metadata().at("state"));
    visit_state(state,
                [&](const char* name, auto& member) { from_json(numbers.at(name), member); });
    visit_added_state(state, [&](const char* name, auto& member) {
      if (numbers.contains(name)) {
        from_json(numbers.at(name), member);
      }
    });
  } catch (const std::exception& problem) {  // a key is missing or a value is not a number
    throw FileError(fmt::format("[checkpoint] '{}': its state is not readable: {}", path.string(),
                                problem.what()));
  }
  optimizer.load_bytes(part(optimizer_bytes(reader)));
  for (const NamedTensor& each : tensors_of(module)) {
    read_into(reader, path.string(), each.first, each.second);
  }
  for (auto& [name, generator] : generators_for(module)) {
    const at::Tensor words = at::empty_like(state_of(generator));
    if (reader.find(fmt::format("{}{}", kRandomPrefix, name)) == nullptr && name != "cpu") {
      continue;  // the checkpoint was saved on another kind of device
    }
    read_into(reader, path.string(), fmt::format("{}{}", kRandomPrefix, name), words);
    generator.set_state(words.view(at::kByte));
  }
  return state;
}

std::vector<NamedTensor> copy_weights(const ::torch::nn::Module& module) {
  std::vector<NamedTensor> copies = tensors_of(module);
  for (NamedTensor& each : copies) {
    each.second = each.second.detach().clone();
  }
  return copies;
}

void save_weights(const std::filesystem::path& path, const std::vector<NamedTensor>& weights,
                  Metadata notes) {
  Collection tensors;
  for (const NamedTensor& each : weights) {
    tensors.add(each.first, each.second);
  }
  notes["format"] = kFormat;
  notes["format_version"] = kVersion;
  tensors.write(path, std::move(notes));
}

void load_weights(const std::filesystem::path& path, ::torch::nn::Module& module) {
  const SafetensorsReader reader = open_checkpoint(path);
  for (const NamedTensor& each : tensors_of(module)) {
    read_into(reader, path.string(), each.first, each.second);
  }
}

}  // namespace sing::lab::loop
