// Writes RDE images, shows some of them or checks many.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "lab/command/field_flags.hpp"
#include "lab/main/commands.hpp"
#include "lab/picture/png.hpp"
#include "lab/rde/census.hpp"
#include "lab/rde/epochs.hpp"
#include "lab/rde/preview.hpp"
#include "lab/rde/set_file.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

constexpr std::size_t kPreviewImages = 16;

struct RdeDataFlags {
  rde::RdeOptions options;
  std::int64_t count = 1000;
  std::int64_t seed = 0;
  bool test = false;
  std::int64_t check = 0;
  std::int64_t threads = 0;
  std::string out;
  std::string preview;

  static constexpr auto fields() {
    return std::tuple{
        field("count", &RdeDataFlags::count, "number of images to write", between(1, 1e9)),
        field("seed", &RdeDataFlags::seed, "seed of the set of images", at_least(0)),
        field("test", &RdeDataFlags::test, "write the seed's test images, not its training images"),
        field("check", &RdeDataFlags::check,
              "draw this many images, run the solver on them and print counts; 0: none",
              between(0, 1e12)),
        field("threads", &RdeDataFlags::threads, "0: all cores", between(0, 1024))};
  }
};

void run(const RdeDataFlags& flags, std::ostream& out) {
  rde::check(flags.options);
  validate(flags, "sing data rde");
  SING_CHECK(!flags.out.empty() || !flags.preview.empty() || flags.check > 0,
             "[sing data rde] wanted --out, --preview or --check, got none of them");
  const auto seed = static_cast<std::uint64_t>(flags.seed);
  const int threads = flags.threads > 0
                          ? static_cast<int>(flags.threads)
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(flags.count));
  std::iota(indices.begin(), indices.end(), flags.test ? rde::kTestImages : 0);
  if (!flags.out.empty()) {
    rde::write_set(flags.out, {flags.options, seed, threads}, indices);
    out << flags.out << ": " << flags.count << " images\n";
  }
  if (!flags.preview.empty()) {
    indices.resize(std::min(indices.size(), kPreviewImages));
    picture::write_png(flags.preview, rde::preview(flags.options, seed, indices));
    out << flags.preview << ": the first " << indices.size() << " images, " << rde::kPreviewLegend
        << '\n';
  }
  if (flags.check > 0) {
    const rde::Census census = rde::take_census(flags.options, seed, flags.check, threads);
    out << text_of(census);
    if (!is_sound(census)) {
      throw Error(
          "[rde] wanted no wrong contact and every kept image solved, got the counts above");
    }
  }
}

}  // namespace

void add_rde_data_command(CLI::App& data, CommandContext& context) {
  CLI::App* const command = data.add_subcommand("rde", "Rectangle depth estimation (docs/rde.md)");
  const auto flags = std::make_shared<RdeDataFlags>();
  command->add_option("--out", flags->out, "safetensors file: images, targets, rectangles")
      ->type_name("FILE");
  command
      ->add_option("--preview", flags->preview,
                   "PNG of the first images: input, target, rectangles")
      ->each([](const std::string& name) { picture::check_png_name(name, "--preview"); })
      ->type_name("FILE");
  command::add_field_flags(*command, *flags);
  command::add_field_flags(*command, flags->options);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
