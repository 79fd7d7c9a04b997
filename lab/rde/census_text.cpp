// Writes a census as the lines that `sing data rde --check` prints.
#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <locale>
#include <sstream>

#include "lab/rde/census.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {
namespace {

class Lines {
 public:
  Lines() {
    stream_.imbue(std::locale::classic());
    stream_ << std::fixed;
  }

  void heading(const std::string& text) { stream_ << text << '\n'; }

  void number(const std::string& name, std::int64_t value) {
    begin(name) << std::setw(12) << value << '\n';
  }
  void share(const std::string& name, std::int64_t part, std::int64_t whole) {
    const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
    begin(name) << std::setw(12) << part << std::setprecision(3) << std::setw(10) << percent
                << " %\n";
  }
  void real(const std::string& name, double value, int digits) {
    begin(name) << std::setw(12) << std::setprecision(digits) << value << '\n';
  }

  std::string text() const { return stream_.str(); }

 private:
  std::ostream& begin(const std::string& name) {
    return stream_ << "  " << std::left << std::setw(46) << name << std::right;
  }

  std::ostringstream stream_;
};

void write_verdicts(Lines& lines, const Verdicts& verdicts) {
  lines.number("images", verdicts.images);
  lines.number("contacts", verdicts.contacts);
  lines.share("undecided contacts", verdicts.undecided_contacts, verdicts.contacts);
  lines.share("contradictory contacts", verdicts.contradictory_contacts, verdicts.contacts);
  lines.share("wrong contacts", verdicts.wrong_contacts, verdicts.contacts);
  lines.share("images undecided", verdicts.undecided_images, verdicts.images);
  lines.share("images misread", verdicts.misread_images, verdicts.images);
  lines.share("images solved", verdicts.solved_images, verdicts.images);
}

template <class Counts>
void write_histogram(Lines& lines, const std::string& name, const Counts& counts,
                     std::int64_t whole) {
  for (std::size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] != 0) {
      lines.share(fmt::format("{} {}", name, value), counts[value], whole);
    }
  }
}

// Writes the scores of predictors that ignore the image: mean squared errors to height / count.
void write_floors(Lines& lines, const Census& census) {
  const Content& kept = census.kept;
  const double count = static_cast<double>(census.options.rectangles);
  double pixels = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t height = 0; height < kept.pixels_at.size(); ++height) {
    const auto share = static_cast<double>(kept.pixels_at[height]);
    const double target = static_cast<double>(height) / count;
    pixels += share;
    sum += share * target;
    squares += share * target * target;
  }
  const double foreground = pixels - static_cast<double>(kept.pixels_at[0]);
  double of_mean_picture = 0;
  for (const std::int64_t height : kept.height_at_pixel) {
    const double mean = static_cast<double>(height) / count / static_cast<double>(kept.images);
    of_mean_picture += mean * mean;
  }
  lines.real("mean target", sum / pixels, 5);
  lines.real("MSE of predicting 0", squares / pixels, 5);
  lines.real("MSE of predicting each pixel's mean",
             squares / pixels - of_mean_picture / static_cast<double>(kept.height_at_pixel.size()),
             5);
  lines.real("MSE of one level for all rectangles", (squares - sum * sum / foreground) / pixels, 5);
}

void write_content(Lines& lines, const Census& census) {
  const Content& kept = census.kept;
  const std::int64_t size = census.options.image_size;
  const std::int64_t rectangles = kept.images * census.options.rectangles;
  lines.share("background pixels", kept.visible_pixels[0], kept.images * size * size);
  for (std::size_t k = 1; k <= static_cast<std::size_t>(census.options.rectangles); ++k) {
    lines.real(fmt::format("mean visible pixels of rectangle {}", k),
               static_cast<double>(kept.visible_pixels[k]) / static_cast<double>(kept.images), 1);
  }
  write_histogram(lines, "images with contacts:", kept.images_with_contacts, kept.images);
  write_histogram(lines, "rectangles of height", kept.rectangles_at, rectangles);
  write_histogram(lines, "images of greatest height", kept.highest, kept.images);
  write_floors(lines, census);
}

}  // namespace

std::string text_of(const Census& census) {
  Lines lines;
  lines.heading("draws");
  lines.number("draws", census.draws);
  lines.share(census.options.labels == Labels::kChain ? "show enough pixels and form a chain"
                                                      : "show enough pixels",
              census.showing, census.draws);
  lines.share("of these, no two sides on one line", census.distinct_lines.images, census.showing);
  lines.share("of these, every contact decided", census.kept.images, census.distinct_lines.images);
  lines.heading("solver, before either rule");
  write_verdicts(lines, census.without_rules);
  lines.heading("solver, no two sides on one line, undecided images not yet dropped");
  write_verdicts(lines, census.distinct_lines);
  lines.number("rule and solver disagree on", census.disagreements);
  lines.heading("images kept");
  lines.share("solved", census.distinct_lines.solved_images, census.kept.images);
  write_content(lines, census);
  return lines.text();
}

}  // namespace sing::lab::rde
