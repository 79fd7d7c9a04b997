// Writes RDE images, shows some of them or checks many.
#include "lab/rde/data_command.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "lab/cli/field_flags.hpp"
#include "lab/picture/png.hpp"
#include "lab/rde/census.hpp"
#include "lab/rde/epochs.hpp"
#include "lab/rde/preview.hpp"
#include "lab/rde/set_file.hpp"
#include "sing/base/message.hpp"

namespace sing::rde {
namespace {

constexpr std::size_t kPreviewImages = 16;

struct Request {
  Options options;
  std::int64_t count = 1000;
  std::int64_t seed = 0;
  bool test = false;
  std::int64_t check = 0;
  std::int64_t threads = 0;
  std::string out;
  std::string preview;

  static constexpr auto fields() {
    return std::tuple{
        field("count", &Request::count, "images to write", between(1, 1e9)),
        field("seed", &Request::seed, "names the set of images", at_least(0)),
        field("test", &Request::test, "the seed's test images, not its training images"),
        field("check", &Request::check, "draw this many, have them solved, print counts; 0: none",
              between(0, 1e12)),
        field("threads", &Request::threads, "0: all cores", between(0, 1024))};
  }
};

void run(const Request& request, std::ostream& out) {
  check(request.options);
  validate(request, "sing data rde");
  SING_CHECK(!request.out.empty() || !request.preview.empty() || request.check > 0,
             "[sing data rde] wanted --out, --preview or --check, got none of them");
  const auto seed = static_cast<std::uint64_t>(request.seed);
  const int threads = request.threads > 0
                          ? static_cast<int>(request.threads)
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(request.count));
  std::iota(indices.begin(), indices.end(), request.test ? kTestImages : 0);
  if (!request.out.empty()) {
    write_set(request.out, {request.options, seed, threads}, indices);
    out << request.out << ": " << request.count << " images\n";
  }
  if (!request.preview.empty()) {
    indices.resize(std::min(indices.size(), kPreviewImages));
    lab::write_png(request.preview, preview(request.options, seed, indices));
    out << request.preview << ": the first " << indices.size() << " images\n";
  }
  if (request.check > 0) {
    const Census census = take_census(request.options, seed, request.check, threads);
    out << text_of(census);
    if (!is_sound(census)) {
      throw Error("[rde] wanted no contact told wrong and every kept image solved: see above");
    }
  }
}

}  // namespace

void add_data_command(CLI::App& data, lab::Session& session) {
  CLI::App* const command = data.add_subcommand("rde", "Rectangle depth estimation (docs/rde.md)");
  const auto request = std::make_shared<Request>();
  command->add_option("--out", request->out, "safetensors file: images, targets, rectangles")
      ->type_name("FILE");
  command
      ->add_option("--preview", request->preview,
                   "PNG of the first images: input, target, rectangles")
      ->type_name("FILE");
  lab::add_field_flags(*command, *request);
  lab::add_field_flags(*command, request->options);
  command->callback([request, &session] {
    session.chosen = [request, &session] { run(*request, session.out); };
  });
}

}  // namespace sing::rde
