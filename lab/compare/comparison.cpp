// Runs every cell in turn.
#include "lab/compare/comparison.hpp"

namespace sing::lab::compare {

Comparison run_comparison(const std::vector<Cell>& cells, const Workplace& place, std::ostream& out,
                          const std::function<bool()>& stop) {
  check_commands(cells, place);
  CellRunner runner(place, out, stop, cells.size());
  Comparison comparison;
  for (std::size_t at = 0; at < cells.size() && !comparison.stopped; ++at) {
    if (const auto result = runner.run(cells[at])) {
      comparison.results.push_back(*result);
    }
    comparison.stopped = stop();
  }
  comparison.failures = runner.failures();
  return comparison;
}

}  // namespace sing::lab::compare
