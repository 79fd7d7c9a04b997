// Parses the header event by event, so that duplicate keys and deep nesting are seen as they come.
#include "sing/io/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sing/base/message.hpp"

namespace sing {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::string_view kDtypeKey = "dtype";
constexpr std::string_view kShapeKey = "shape";
constexpr std::string_view kOffsetsKey = "data_offsets";

struct DtypeCode {
  Dtype dtype;
  std::string_view code;
};
constexpr std::array kDtypeCodes = {
    DtypeCode{Dtype::kFloat32, "F32"}, DtypeCode{Dtype::kFloat64, "F64"},
    DtypeCode{Dtype::kBFloat16, "BF16"}, DtypeCode{Dtype::kFloat16, "F16"},
    DtypeCode{Dtype::kInt64, "I64"}};

// Text from a file is shown escaped and cut, so that a hostile name cannot spoil a message.
std::string for_message(const std::string& text) {
  constexpr std::size_t kShown = 80;
  const std::string shown = text.size() <= kShown ? text : text.substr(0, kShown) + "...";
  return nlohmann::json(shown).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;

  bool operator<(const ByteRange& other) const {
    return std::pair(begin, end) < std::pair(other.begin, other.end);
  }
};

class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(std::string_view file) : file_(file) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool /*value*/) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override {
    return unexpected(fmt::format("{}", value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return unexpected(fmt::format("{}", value));
  }
  bool binary(binary_t& /*value*/) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kOffsets) {
      offsets_.push_back(value);
      return true;
    }
    if (place_ != Place::kShape || value > std::numeric_limits<std::int64_t>::max()) {
      return unexpected(fmt::format("{}", value));
    }
    entry_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      metadata[inner_key_] = std::move(value);
      return true;
    }
    if (place_ != Place::kTensor || inner_key_ != kDtypeKey) {
      return unexpected(for_message(value));
    }
    const auto* const known = std::find_if(kDtypeCodes.begin(), kDtypeCodes.end(),
                                           [&](const auto& row) { return row.code == value; });
    if (known == kDtypeCodes.end()) {
      fail("{}wanted one of F32, F64, BF16, F16, I64, got {}", where(), for_message(value));
    }
    entry_.dtype = known->dtype;
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kFile;
    } else if (place_ == Place::kFile) {
      place_ = outer_key_ == kMetadataKey ? Place::kMetadata : Place::kTensor;
      inner_keys_.clear();
      inner_key_.clear();
      entry_ = {};
      offsets_.clear();
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    const bool in_file = place_ == Place::kFile;
    if (place_ == Place::kTensor && value != kDtypeKey && value != kShapeKey &&
        value != kOffsetsKey) {
      fail("{}: unknown key {}", for_message(outer_key_), for_message(value));
    }
    if (!(in_file ? outer_keys_ : inner_keys_).insert(value).second) {
      fail("{}key {} occurs twice", in_file ? "" : for_message(outer_key_) + ": ",
           for_message(value));
    }
    (in_file ? outer_key_ : inner_key_) = std::move(value);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      finish_tensor();
    }
    place_ = place_ == Place::kFile ? Place::kOutside : Place::kFile;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (place_ == Place::kTensor && inner_key_ == kShapeKey) {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && inner_key_ == kOffsetsKey) {
      place_ = Place::kOffsets;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    fail("the header is not valid JSON at its byte {}", position);
  }

  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<const Values&...> text, const Values&... values) const {
    throw FileError(fmt::format("[safetensors] '{}': {}", file_, fmt::format(text, values...)));
  }

  std::map<std::string, std::string> metadata;
  std::vector<std::pair<ByteRange, TensorEntry>> tensors;

 private:
  enum class Place { kOutside, kFile, kMetadata, kTensor, kShape, kOffsets };

  std::string where() const {
    std::string text = for_message(outer_key_) + ": ";
    return place_ == Place::kFile ? text : text + for_message(inner_key_) + ": ";
  }

  bool unexpected(const std::string& found) const {
    switch (place_) {
      case Place::kOutside:
        fail("wanted the header to be an object, got {}", found);
      case Place::kFile:
        fail("{}wanted an object, got {}", where(), found);
      case Place::kMetadata:
        fail("{}wanted a string, got {}", where(), found);
      case Place::kTensor:
        fail("{}{}{}", where(),
             inner_key_ == kDtypeKey ? "wanted a string, got " : "wanted an array, got ", found);
      case Place::kShape:
      case Place::kOffsets:
        fail("{}wanted an integer from 0 to 2^63 - 1, got {}", where(), found);
    }
    return false;
  }

  void finish_tensor() {
    for (const std::string_view required : {kDtypeKey, kShapeKey, kOffsetsKey}) {
      if (!inner_keys_.contains(std::string(required))) {
        fail("{}: wanted the key \"{}\", got none", for_message(outer_key_), required);
      }
    }
    entry_.name = outer_key_;
    const std::optional<std::uint64_t> bytes = byte_size_of(entry_);
    if (!bytes) {
      fail("{}: \"shape\": its size in bytes does not fit 64 bits", for_message(outer_key_));
    }
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) {
      fail("{}: \"data_offsets\": wanted [begin, end] with begin <= end", for_message(outer_key_));
    }
    if (offsets_[1] - offsets_[0] != *bytes) {
      fail("{}: \"data_offsets\": wanted {} bytes for its shape and dtype, got {}",
           for_message(outer_key_), *bytes, offsets_[1] - offsets_[0]);
    }
    tensors.emplace_back(ByteRange{offsets_[0], offsets_[1]}, std::move(entry_));
  }

  std::string_view file_;
  Place place_ = Place::kOutside;
  std::set<std::string> outer_keys_;
  std::set<std::string> inner_keys_;
  std::string outer_key_;
  std::string inner_key_;
  TensorEntry entry_{};
  std::vector<std::uint64_t> offsets_;
};

// Sorts the tensors by their bytes and checks that those follow each other and fill the payload.
void expect_exact_cover(HeaderEvents& events, std::uint64_t payload_bytes) {
  std::stable_sort(events.tensors.begin(), events.tensors.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint64_t end = 0;
  for (const auto& [range, entry] : events.tensors) {
    if (range.begin != end) {
      events.fail(
          "{}: \"data_offsets\": wanted to begin at {} where the tensor before it ends, got {}",
          for_message(entry.name), end, range.begin);
    }
    end = range.end;
  }
  if (end != payload_bytes) {
    events.fail("{}wanted {} bytes of tensors after the header, got {}",
                end > payload_bytes ? "truncated: " : "bytes after the last tensor: ", end,
                payload_bytes);
  }
}

std::string json_text(const nlohmann::json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::type_error&) {
    const std::string shown =
        value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 80);
    throw std::invalid_argument(fmt::format("[safetensors] wanted UTF-8 text, got {}", shown));
  }
}

}  // namespace

std::optional<std::uint64_t> byte_size_of(const TensorEntry& entry) {
  std::uint64_t bytes = size_of(entry.dtype);
  for (const std::int64_t size : entry.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> json_text,
                                           std::uint64_t payload_bytes, std::string_view file) {
  HeaderEvents events(file);
  if (json_text.empty() || json_text.front() != std::byte{'{'}) {
    events.fail("wanted a safetensors header that begins with '{{'");
  }
  // The parser would take a NUL for the end of the text and ignore what follows.
  if (std::find(json_text.begin(), json_text.end(), std::byte{0}) != json_text.end()) {
    events.fail("the header is not valid JSON: it contains a NUL byte");
  }
  const char* const text = reinterpret_cast<const char*>(json_text.data());
  nlohmann::json::sax_parse(text, text + json_text.size(), &events);
  expect_exact_cover(events, payload_bytes);

  SafetensorsHeader header;
  header.metadata = std::move(events.metadata);
  for (auto& [range, entry] : events.tensors) {
    header.tensors.push_back(std::move(entry));
    header.offsets.push_back(range.begin);
  }
  return header;
}

std::string format_safetensors_header(const std::map<std::string, std::string>& metadata,
                                      std::span<const TensorEntry> tensors) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += fmt::format("{}{}\":{}{}", '"', kMetadataKey, json_text(metadata), ',');
  }
  std::set<std::string_view> names = {kMetadataKey};
  std::uint64_t offset = 0;
  for (const TensorEntry& entry : tensors) {
    const std::string name = json_text(entry.name);
    SING_CHECK(names.insert(entry.name).second,
               "[safetensors] wanted names that differ and are not {}, got {}", kMetadataKey, name);
    const auto* const code =
        std::find_if(kDtypeCodes.begin(), kDtypeCodes.end(),
                     [&](const auto& row) { return row.dtype == entry.dtype; });
    SING_CHECK(code != kDtypeCodes.end(), "[safetensors] {}: unknown dtype", name);
    const std::optional<std::uint64_t> bytes = byte_size_of(entry);
    const std::uint64_t begin = offset;
    SING_CHECK(bytes && !__builtin_add_overflow(begin, *bytes, &offset),
               "[safetensors] {}: wanted sizes >= 0 and a product that fits 64 bits, got shape {}",
               name, nlohmann::json(entry.shape).dump());
    text += fmt::format("{}:{{\"{}\":\"{}\",\"", name, kDtypeKey, code->code);
    text += fmt::format("{}\":{},\"", kShapeKey, nlohmann::json(entry.shape).dump());
    text += fmt::format("{}\":[{}{}{}]}},", kOffsetsKey, begin, ',', offset);
  }
  if (text.back() == ',') {
    text.pop_back();
  }
  text += '}';
  // The eight bytes of the length come first: the payload then begins at a multiple of eight.
  text.append((8 - text.size() % 8) % 8, ' ');
  SING_CHECK(text.size() <= kMaxHeaderBytes,
             "[safetensors] wanted a header of at most {} bytes, got {}", kMaxHeaderBytes,
             text.size());
  return text;
}

}  // namespace sing
