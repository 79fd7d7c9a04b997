// Generates and writes the tensors of a set file one after another.
#include "lab/rde/set_file.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lab/data/safetensors_stream.hpp"
#include "lab/rde/batch_filler.hpp"
#include "lab/rde/epochs.hpp"

namespace sing::lab::rde {
namespace {

std::map<std::string, std::string> metadata_of(const SetSource& source,
                                               std::span<const std::uint64_t> indices) {
  const bool is_test = !indices.empty() && indices.front() >= kTestImages;
  std::map<std::string, std::string> metadata = {{"task", "rde"},
                                                 {"format_version", "1"},
                                                 {"seed", std::to_string(source.seed)},
                                                 {"split", is_test ? "test" : "train"}};
  visit_fields(source.options, [&](const auto& field, const auto& member) {
    const Value value = to_value(member);
    const auto* text = std::get_if<std::string>(&value);
    metadata[std::string(field.name)] = text != nullptr ? *text : to_text(value);
  });
  return metadata;
}

// Writes one tensor of the file: the member `part` of BatchBuffers.
template <class Element>
void write_tensor(data::SafetensorsStream& file, BatchFiller& filler,
                  std::span<const std::uint64_t> indices, Element* BatchBuffers::* part) {
  constexpr std::size_t kPiece = 256;
  const auto size = static_cast<std::size_t>(filler.options().image_size);
  std::vector<Element> piece(std::min(kPiece, indices.size()) * size * size);
  BatchBuffers buffers;
  buffers.*part = piece.data();
  for (std::size_t begin = 0; begin < indices.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, indices.size() - begin);
    filler.fill(indices.subspan(begin, count), buffers);
    file.write(std::as_bytes(std::span(piece.data(), count * size * size)));
  }
}

}  // namespace

void write_set(const std::filesystem::path& path, const SetSource& source,
               std::span<const std::uint64_t> indices) {
  BatchFiller filler(source.options, source.seed, source.threads);
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::int64_t size = source.options.image_size;
  data::SafetensorsStream file(path, metadata_of(source, indices),
                               {{"images", data::ElementType::kFloat32, {count, 1, size, size}},
                                {"targets", data::ElementType::kFloat32, {count, 1, size, size}},
                                {"rectangles", data::ElementType::kUInt8, {count, size, size}}});
  write_tensor(file, filler, indices, &BatchBuffers::images);
  write_tensor(file, filler, indices, &BatchBuffers::targets);
  write_tensor(file, filler, indices, &BatchBuffers::rectangles);
  file.commit();
}

}  // namespace sing::lab::rde
