// Draws images attempt by attempt, solves them and counts the results.
#include "lab/rde/census.hpp"

#include <algorithm>
#include <cstddef>

#include "lab/data/parallel_chunks.hpp"
#include "lab/rde/cell_grid.hpp"
#include "lab/rde/generator.hpp"
#include "lab/rde/render.hpp"
#include "lab/rde/rules.hpp"
#include "lab/rde/solver.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {
namespace {

// An attempt with its grid and contacts.
struct Attempt {
  Scene scene;
  CellGrid grid;
  Contacts contacts;
};

struct ImageKey {
  std::uint64_t seed;
  std::uint64_t index;
};

// Examines one image at a time; the solver sees only the rendered pixels.
class Examiner {
 public:
  explicit Examiner(const RdeOptions& options)
      : image_(static_cast<std::size_t>(options.image_size * options.image_size)) {}

  // Adds to `verdicts` and returns whether the solver decided.
  bool examine(Attempt& attempt, ImageKey place, Verdicts& verdicts) {
    Scene& scene = attempt.scene;
    set_heights(scene, attempt.contacts);
    draw_greys(scene, place.seed, place.index);
    render(scene, {.image = image_.data()});
    const Solution solution = solve(image_.data(), scene.image_size);
    const auto count = static_cast<std::size_t>(scene.count);
    std::array<std::size_t, kMaxRectangles + 1> region{};
    for (std::size_t k = 1; k <= count; ++k) {
      const auto* const found =
          std::find(solution.greys.begin() + 1, solution.greys.end(), scene.greys[k]);
      region[k] = static_cast<std::size_t>(found - solution.greys.begin());
    }
    bool misread = solution.regions != scene.count;
    bool solved = solution.decided && !misread;
    for (std::size_t k = 1; k <= count && !misread; ++k) {
      solved = solved && solution.heights[region[k]] == scene.heights[k];
      for (std::size_t below = 1; below < k; ++below) {
        const bool touches = has_pair(solution.contacts.touches, region[k], region[below]);
        misread = misread || touches != has_pair(attempt.contacts.touches, k, below);
        if (touches) {
          misread =
              !count_contact(solution.contacts.over, region[k], region[below], verdicts) || misread;
        }
      }
    }
    verdicts.images += 1;
    verdicts.undecided_images += solution.decided ? 0 : 1;
    verdicts.misread_images += misread || (solution.decided && !solved) ? 1 : 0;
    verdicts.solved_images += solved && !misread ? 1 : 0;
    return solution.decided;
  }

 private:
  // `upper` was drawn later. Returns false if a junction shows the opposite order.
  static bool count_contact(const PairSet& over, std::size_t upper, std::size_t lower,
                            Verdicts& verdicts) {
    const bool told = has_pair(over, upper, lower);
    const bool told_wrong = has_pair(over, lower, upper);
    verdicts.contacts += 1;
    verdicts.undecided_contacts += !told && !told_wrong ? 1 : 0;
    verdicts.contradictory_contacts += told && told_wrong ? 1 : 0;
    verdicts.wrong_contacts += told_wrong && !told ? 1 : 0;
    return !told_wrong;
  }

  std::vector<float> image_;
};

void count_content(const Attempt& attempt, Content& content) {
  const auto pixels = attempt.grid.visible_pixels();
  const Scene& scene = attempt.scene;
  std::size_t contacts = 0;
  std::uint8_t highest = 0;
  content.images += 1;
  content.visible_pixels[0] += pixels[0];
  content.pixels_at[0] += pixels[0];
  for (std::size_t k = 1; k <= static_cast<std::size_t>(scene.count); ++k) {
    const std::uint8_t height = scene.heights[k];
    content.visible_pixels[k] += pixels[k];
    content.pixels_at[height] += pixels[k];
    content.rectangles_at[height] += 1;
    highest = std::max(highest, height);
    for (std::size_t other = 1; other < k; ++other) {
      contacts += has_pair(attempt.contacts.touches, k, other) ? 1 : 0;
    }
  }
  content.highest[highest] += 1;
  content.images_with_contacts[contacts] += 1;
  const auto size = static_cast<std::size_t>(scene.image_size);
  for (int row = 0; row < attempt.grid.rows; ++row) {
    for (int column = 0; column < attempt.grid.columns; ++column) {
      const auto r = static_cast<std::size_t>(row);
      const auto c = static_cast<std::size_t>(column);
      const std::int64_t height = scene.heights[attempt.grid.at(row, column)];
      for (int y = attempt.grid.y[r]; height != 0 && y < attempt.grid.y[r + 1]; ++y) {
        for (int x = attempt.grid.x[c]; x < attempt.grid.x[c + 1]; ++x) {
          content
              .height_at_pixel[static_cast<std::size_t>(y) * size + static_cast<std::size_t>(x)] +=
              height;
        }
      }
    }
  }
}

void count_image(Examiner& examiner, ImageKey place, Census& census) {
  bool first_showing = true;
  for (std::uint32_t number = 0; number < kMaxAttempts; ++number) {
    const Scene scene = draw_rectangles(census.options, place.seed, place.index, number);
    const CellGrid grid(scene);
    Attempt attempt{scene, grid, grid.contacts()};
    census.draws += 1;
    if (!shows_enough(census.options, grid) || !keeps_chain(census.options, attempt.contacts)) {
      continue;
    }
    census.showing += 1;
    if (first_showing) {
      examiner.examine(attempt, place, census.without_rules);
      first_showing = false;
    }
    if (has_distinct_lines(scene)) {
      const bool decided = examiner.examine(attempt, place, census.distinct_lines);
      census.disagreements += decided != attempt.contacts.decides_all(scene.count) ? 1 : 0;
      if (decided) {
        count_content(attempt, census.kept);
      }
      return;
    }
  }
  make_scene(census.options, place.seed, place.index);  // throws an error that explains the options
}

template <class Counts>
void add_each(Counts& sum, const Counts& other) {
  std::transform(sum.begin(), sum.end(), other.begin(), sum.begin(), std::plus<>());
}

}  // namespace

void Verdicts::operator+=(const Verdicts& other) {
  images += other.images;
  contacts += other.contacts;
  undecided_contacts += other.undecided_contacts;
  contradictory_contacts += other.contradictory_contacts;
  wrong_contacts += other.wrong_contacts;
  undecided_images += other.undecided_images;
  misread_images += other.misread_images;
  solved_images += other.solved_images;
}

void Content::operator+=(const Content& other) {
  images += other.images;
  add_each(visible_pixels, other.visible_pixels);
  add_each(rectangles_at, other.rectangles_at);
  add_each(highest, other.highest);
  add_each(pixels_at, other.pixels_at);
  add_each(images_with_contacts, other.images_with_contacts);
  add_each(height_at_pixel, other.height_at_pixel);
}

void Census::operator+=(const Census& other) {
  draws += other.draws;
  showing += other.showing;
  without_rules += other.without_rules;
  distinct_lines += other.distinct_lines;
  disagreements += other.disagreements;
  kept += other.kept;
}

Census take_census(const RdeOptions& options, std::uint64_t seed, std::int64_t count, int threads) {
  check(options);
  SING_CHECK(count >= 1, "[rde] wanted at least 1 image to check, got {}", count);
  SING_CHECK(threads >= 1, "[rde] wanted at least 1 thread, got {}", threads);
  Census empty{.options = options};
  empty.kept.height_at_pixel.assign(
      static_cast<std::size_t>(options.image_size * options.image_size), 0);
  std::vector<Census> parts(static_cast<std::size_t>(threads), empty);
  std::vector<Examiner> examiners(static_cast<std::size_t>(threads), Examiner(options));
  constexpr std::size_t kChunk = 64;
  data::for_each_chunk(threads, static_cast<std::size_t>(count), kChunk,
                       [&](std::size_t begin, std::size_t end, int worker) {
                         const auto at = static_cast<std::size_t>(worker);
                         for (std::size_t index = begin; index < end; ++index) {
                           count_image(examiners[at], {seed, index}, parts[at]);
                         }
                       });
  Census census = empty;
  for (const Census& part : parts) {
    census += part;
  }
  return census;
}

bool is_sound(const Census& census) {
  const Verdicts& verdicts = census.distinct_lines;
  return verdicts.wrong_contacts == 0 && verdicts.contradictory_contacts == 0 &&
         verdicts.misread_images == 0 && census.disagreements == 0 &&
         verdicts.solved_images + verdicts.undecided_images == verdicts.images;
}

}  // namespace sing::lab::rde
