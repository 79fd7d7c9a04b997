// Runs every cell.
#include "lab/compare/comparison.hpp"

namespace sing::lab::compare {

Comparison run_comparison(const std::vector<Cell>& cells, const Workplace& place, std::ostream& out,
                          const std::function<bool()>& stop) {
  check_commands(cells, place);
  CellRunner runner(place, out, stop, cells.size());
  Comparison comparison;
  for (const std::optional<Result>& result : runner.run(cells)) {
    if (result) {
      comparison.results.push_back(*result);
    }
  }
  comparison.stopped = stop();
  comparison.failures = runner.failures();
  return comparison;
}

}  // namespace sing::lab::compare
