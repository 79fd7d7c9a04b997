// Parses and formats the JSON header of safetensors files; files come from anywhere and may be
// hostile.
#include "sing/io/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "sing/base/message.hpp"

namespace sing {
namespace {

using HeaderJson = nlohmann::json;

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

// Text from a file is escaped and cut, so that a hostile name cannot spoil a message.
std::string for_message(const std::string& text) {
  constexpr std::size_t kShown = 80;
  const std::string shown = text.size() <= kShown ? text : text.substr(0, kShown) + "...";
  return HeaderJson(shown).dump(-1, ' ', false, HeaderJson::error_handler_t::replace);
}

std::string kind_or_value(const HeaderJson& value) {
  if (value.is_string()) {
    return for_message(value.get_ref<const std::string&>());
  }
  if (value.is_structured()) {
    return value.is_array() ? "an array" : "an object";
  }
  return value.is_boolean() ? "a boolean" : value.dump();
}

// The parser's callback. It refuses keys that occur twice, which a parsed document no longer shows,
// and nesting that is deeper than the format's.
class StructureCheck {
 public:
  bool operator()(int depth, HeaderJson::parse_event_t event, const HeaderJson& parsed) {
    const auto level = static_cast<std::size_t>(depth);  // 0 outside, 1 in the outermost object
    if (event == HeaderJson::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      SING_CHECK(keys_.at(level - 1).insert(key).second, "{}wanted each key once, got {} twice",
                 level == 1 ? "" : for_message(outer_key_) + ": ", for_message(key));
      outer_key_ = level == 1 ? key : outer_key_;
    } else if (event == HeaderJson::parse_event_t::object_start ||
               event == HeaderJson::parse_event_t::array_start) {
      SING_CHECK(level < keys_.size(), "{}: wanted at most {} levels of nesting, got more",
                 for_message(outer_key_), keys_.size());
      keys_[level].clear();
    }
    return true;
  }

 private:
  std::array<std::set<std::string>, 3> keys_;  // by depth: file, tensor, shape
  std::string outer_key_;
};

HeaderJson parse_json(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  const std::string_view text(begin, bytes.size());
  SING_CHECK(text.starts_with('{'), "wanted a header that begins with '{{', got another file");
  // The parser would take a NUL for the end of the text and ignore the rest.
  SING_CHECK(text.find('\0') == std::string_view::npos, "wanted valid JSON, got a NUL byte");
  try {
    return HeaderJson::parse(text, StructureCheck{});
  } catch (const HeaderJson::parse_error& error) {
    throw std::invalid_argument(
        fmt::format("wanted valid JSON, got an error at byte {} of the header", error.byte));
  } catch (const HeaderJson::out_of_range&) {
    throw std::invalid_argument("wanted valid JSON, got a number out of range");
  }
}

// A member of a tensor's object.
const HeaderJson& member(const HeaderJson& object, std::string_view key, std::string_view where) {
  const auto found = object.find(key);
  SING_CHECK(found != object.end(), "{}: wanted the key \"{}\", got none", where, key);
  return *found;
}

std::vector<std::uint64_t> read_integers(const HeaderJson& list, std::uint64_t most,
                                         std::string_view where) {
  SING_CHECK(list.is_array(), "{}: wanted an array, got {}", where, kind_or_value(list));
  std::vector<std::uint64_t> integers;
  for (const HeaderJson& each : list) {
    SING_CHECK(each.is_number_unsigned() && each.get<std::uint64_t>() <= most,
               "{}: wanted an integer from 0 to {}, got {}", where, most, kind_or_value(each));
    integers.push_back(each.get<std::uint64_t>());
  }
  return integers;
}

Dtype read_dtype(const HeaderJson& code, std::string_view where) {
  SING_CHECK(code.is_string(), "{}: wanted a string, got {}", where, kind_or_value(code));
  for (const DtypeCode& row : kDtypeCodes) {
    if (code == row.code) {
      return row.dtype;
    }
  }
  throw std::invalid_argument(fmt::format("{}: wanted one of F32, F64, BF16, F16, I64, got {}",
                                          where, kind_or_value(code)));
}

struct ListedTensor {
  std::uint64_t begin, end;  // its bytes in the payload
  TensorEntry entry;
};

ListedTensor read_tensor(const std::string& name, const HeaderJson& object) {
  const std::string where = for_message(name);
  SING_CHECK(object.is_object(), "{}: wanted an object, got {}", where, kind_or_value(object));
  for (const auto& [key, value] : object.items()) {
    SING_CHECK(key == kDtypeKey || key == kShapeKey || key == kOffsetsKey,
               "{}: wanted the keys {}, {} and {}, got {}", where, kDtypeKey, kShapeKey,
               kOffsetsKey, for_message(key));
  }
  const auto where_in = [&](std::string_view key) { return fmt::format("{}: \"{}\"", where, key); };
  const Dtype dtype = read_dtype(member(object, kDtypeKey, where), where_in(kDtypeKey));
  const std::vector<std::uint64_t> shape =
      read_integers(member(object, kShapeKey, where), std::numeric_limits<std::int64_t>::max(),
                    where_in(kShapeKey));
  const std::vector<std::uint64_t> offsets =
      read_integers(member(object, kOffsetsKey, where), std::numeric_limits<std::uint64_t>::max(),
                    where_in(kOffsetsKey));
  TensorEntry entry{name, dtype, {shape.begin(), shape.end()}};
  const std::optional<std::uint64_t> bytes = byte_size_of(entry);
  SING_CHECK(bytes, "{}: wanted a size in bytes that fits 64 bits, got more", where_in(kShapeKey));
  SING_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1],
             "{}: wanted [begin, end] with begin <= end, got other numbers", where_in(kOffsetsKey));
  SING_CHECK(offsets[1] - offsets[0] == *bytes,
             "{}: wanted {} bytes for its shape and dtype, got {}", where_in(kOffsetsKey), *bytes,
             offsets[1] - offsets[0]);
  return {offsets[0], offsets[1], std::move(entry)};
}

std::map<std::string, std::string> read_metadata(const HeaderJson& object) {
  SING_CHECK(object.is_object(), "\"{}\": wanted an object, got {}", kMetadataKey,
             kind_or_value(object));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : object.items()) {
    SING_CHECK(value.is_string(), "\"{}\": {}: wanted a string, got {}", kMetadataKey,
               for_message(key), kind_or_value(value));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The bytes of sorted tensors must follow each other and fill the payload.
void check_cover(std::span<const ListedTensor> tensors, std::uint64_t payload_bytes) {
  std::uint64_t end = 0;
  for (const ListedTensor& tensor : tensors) {
    SING_CHECK(tensor.begin == end,
               "{}: \"{}\": wanted to begin at {} where the tensor before it ends, got {}",
               for_message(tensor.entry.name), kOffsetsKey, end, tensor.begin);
    end = tensor.end;
  }
  SING_CHECK(end == payload_bytes, "wanted {} bytes of tensors after the header, got {}; {}", end,
             payload_bytes,
             end > payload_bytes ? "the file is truncated" : "bytes follow the last tensor");
}

SafetensorsHeader read_header(const HeaderJson& root, std::uint64_t payload_bytes) {
  SafetensorsHeader header;
  std::vector<ListedTensor> tensors;
  for (const auto& [name, value] : root.items()) {
    if (name == kMetadataKey) {
      header.metadata = read_metadata(value);
    } else {
      tensors.push_back(read_tensor(name, value));
    }
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  check_cover(tensors, payload_bytes);
  for (ListedTensor& tensor : tensors) {
    header.tensors.push_back(std::move(tensor.entry));
    header.offsets.push_back(tensor.begin);
  }
  return header;
}

std::string json_text(const HeaderJson& value) {
  try {
    return value.dump();
  } catch (const HeaderJson::type_error&) {
    throw std::invalid_argument(fmt::format(
        "[safetensors] wanted UTF-8 text, got {}",
        value.dump(-1, ' ', false, HeaderJson::error_handler_t::replace).substr(0, 80)));
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
  try {
    return read_header(parse_json(json_text), payload_bytes);
  } catch (const std::invalid_argument& error) {
    throw FileError(fmt::format("[safetensors] '{}': {}", file, error.what()));
  }
}

std::string format_safetensors_header(const std::map<std::string, std::string>& metadata,
                                      std::span<const TensorEntry> tensors) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += fmt::format("\"{}\":{},", kMetadataKey, json_text(metadata));
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
    SING_CHECK(code != kDtypeCodes.end(), "[safetensors] {}: wanted a dtype of the format, got {}",
               name, static_cast<int>(entry.dtype));
    const std::optional<std::uint64_t> bytes = byte_size_of(entry);
    const std::uint64_t begin = offset;
    SING_CHECK(bytes && !__builtin_add_overflow(begin, *bytes, &offset),
               "[safetensors] {}: wanted sizes >= 0 and a product that fits 64 bits, got shape {}",
               name, HeaderJson(entry.shape).dump());
    text += fmt::format(R"({}:{{"{}":"{}","{}":{},"{}":[{},{}]}},)", name, kDtypeKey, code->code,
                        kShapeKey, HeaderJson(entry.shape).dump(), kOffsetsKey, begin, offset);
  }
  if (text.back() == ',') {
    text.pop_back();
  }
  text += '}';
  // The eight bytes of the length come first, so the payload begins at a multiple of eight.
  text.append((8 - text.size() % 8) % 8, ' ');
  SING_CHECK(text.size() <= kMaxHeaderBytes,
             "[safetensors] wanted a header of at most {} bytes, got {}", kMaxHeaderBytes,
             text.size());
  return text;
}

}  // namespace sing
