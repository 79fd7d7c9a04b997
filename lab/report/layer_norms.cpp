// Sums squares over the tensors of a layer, then averages over neighboring records.
#include "lab/report/layer_norms.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace sing::lab::report {
namespace {

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

struct Layers {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> places;

  std::size_t place(const std::string& name) {
    const auto [entry, is_new] = places.emplace(name, names.size());
    if (is_new) {
      names.push_back(name);
    }
    return entry->second;
  }
};

// A null in the file means a norm that was not finite.
double recorded(double norm) {
  return std::isfinite(norm) ? norm : std::numeric_limits<double>::infinity();
}

}  // namespace

LayerNorms layer_norms(const std::vector<run::StepRecord>& steps, std::size_t most_columns) {
  std::vector<run::StepRecord> records;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(records),
               [](const run::StepRecord& record) { return !record.gradient_norms.empty(); });
  Layers layers;
  std::vector<std::map<std::size_t, double>> squares(records.size());
  for (std::size_t record = 0; record < records.size(); ++record) {
    for (const auto& [name, norm] : records[record].gradient_norms) {
      squares[record][layers.place(layer_of(name))] += recorded(norm) * recorded(norm);
    }
  }
  const std::size_t together =
      std::max<std::size_t>(1, (records.size() + most_columns - 1) / most_columns);
  LayerNorms result{.layers = layers.names};
  for (std::size_t record = 0; record < records.size(); record += together) {
    result.steps.push_back(records[record].step);
  }
  result.values.assign(result.layers.size() * result.steps.size(), run::kAbsent);
  for (std::size_t layer = 0; layer < result.layers.size(); ++layer) {
    for (std::size_t column = 0; column < result.steps.size(); ++column) {
      double sum = 0;
      double count = 0;
      const std::size_t end = std::min((column + 1) * together, records.size());
      for (std::size_t record = column * together; record < end; ++record) {
        const auto found = squares[record].find(layer);
        sum += found != squares[record].end() ? std::sqrt(found->second) : 0;
        count += found != squares[record].end() ? 1 : 0;
      }
      if (count > 0) {
        result.values[layer * result.steps.size() + column] = sum / count;
      }
    }
  }
  return result;
}

}  // namespace sing::lab::report
