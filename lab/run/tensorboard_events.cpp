// Writes Event messages (tensorflow/core/util/event.proto) in TFRecord frames. This is done by hand
// because the two formats are small and a protobuf library is not.
#include "lab/run/tensorboard_events.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

namespace sing::lab::run {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
    }
    table[byte] = value;
  }
  return table;
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes(sizeof(number), '\0');
  for (std::size_t i = 0; i < sizeof(number); ++i) {
    bytes[i] = static_cast<char>((number >> (8 * i)) & 0xffU);
  }
  return bytes;
}

// Returns the masked checksum of a TFRecord: rotated and shifted, so that checksums of data that
// contains checksums stay useful.
std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xa282ead8U);
}

std::string frame(const std::string& record) {
  const std::string length = little_endian(static_cast<std::uint64_t>(record.size()));
  return length + masked_crc(length) + record + masked_crc(record);
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) {
    bytes += static_cast<char>((number & 0x7fU) | 0x80U);
  }
  return bytes + static_cast<char>(number);
}

// Wire types of protocol buffers. A field is its number and wire type, followed by its value.
enum class Wire : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string key(unsigned field, Wire wire) {
  return varint(field << 3 | static_cast<unsigned>(wire));
}

std::string bytes_field(unsigned field, std::string_view bytes) {
  return key(field, Wire::kBytes) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time = 1
std::string event_start() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return key(1, Wire::kFixed64) + little_endian(std::bit_cast<std::uint64_t>(now.count()));
}

// Summary.Value: tag = 1, simple_value = 2
std::string summary_value(const std::string& tag, double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return bytes_field(1, tag) + key(2, Wire::kFixed32) + little_endian(bits);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_crc_table();
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xffU];
  }
  return ~crc;
}

TensorboardEvents::TensorboardEvents(const std::filesystem::path& path, std::uint64_t keep)
    : file_(path, keep) {
  if (file_.size() == 0) {
    file_.append(frame(event_start() + bytes_field(3, "brain.Event:2")));  // file_version = 3
  }
}

void TensorboardEvents::write(std::int64_t step, const Scalars& scalars) {
  std::string summary;  // Event: step = 2, summary = 5; Summary: value = 1
  for (const auto& [tag, value] : scalars) {
    summary += bytes_field(1, summary_value(tag, value));
  }
  file_.append(frame(event_start() + key(2, Wire::kVarint) +
                     varint(static_cast<std::uint64_t>(step)) + bytes_field(5, summary)));
}

}  // namespace sing::lab::run
