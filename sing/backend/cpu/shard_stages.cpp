// Exchanges sums between processes between the passes over shards.
#include "sing/backend/cpu/shard_stages.hpp"

#include <algorithm>
#include <vector>

#include "sing/backend/cpu/measure_pass.hpp"

namespace sing::cpu {
namespace {

// Adds the values of the part to their places in the whole array.
template <class Value>
void put(const Region& region, Value value, std::span<double> whole) {
  const std::int64_t count = region.size();
  for (std::int64_t i = 0; i < count; ++i) {
    whole[static_cast<std::size_t>(region.in_whole(i))] += value(i);
  }
}

// Calls take(i, value) with each of the part's values.
template <class Take>
void get(const Region& region, std::span<const double> whole, Take take) {
  const std::int64_t count = region.size();
  for (std::int64_t i = 0; i < count; ++i) {
    take(i, whole[static_cast<std::size_t>(region.in_whole(i))]);
  }
}

bool cuts_centred_rows(const TensorJob& job) {
  return job.step.shard->cuts_rows && job.group.standardize.centralizes(job.step.layout.rank);
}

// The places of one shard's factors in the vectors that the processes exchange.
struct FactorPlaces {
  PackedSums::Place rows, columns, means;
};

// The row slots of a matrix are in every part that has elements of its rows, so each part counts
// them by its share of the columns.
double share_of_columns(const TensorJob& job) {
  const auto columns = static_cast<double>(job.step.layout.columns);
  return columns / static_cast<double>(job.step.shard->whole.columns);
}

void put_row_slots(const ShardJob& shard, std::span<double> whole) {
  const double share = share_of_columns(shard.job);
  put(
      shard.job.step.shard->matrices,
      [&](std::int64_t matrix) { return share * (*shard.update)->sum_of_row_slots(matrix); },
      whole);
}

bool has_factors(const ShardJob& shard) {
  return shard.update->has_value() && shard.job.plan.is_factored;
}

// Packs the sums over a part of cut rows and of cut columns and, if only columns are cut, those of
// the row slots.
FactorPlaces put_factors(const ShardJob& job, PackedSums& packed) {
  const TensorPlan& plan = job.job.plan;
  const ShardLayout& shard = *job.job.step.shard;
  TensorUpdate& update = **job.update;
  FactorPlaces places;
  update.collect_factors();
  if (shard.cuts_matrix_rows) {
    places.rows = packed.reserve(shard.sum_group, shard.matrix_rows.whole_size());
    put(
        shard.matrix_rows, [&](std::int64_t row) { return plan.matrix_row_sums[row]; },
        packed.at(places.rows));
  } else {
    update.blend_rows();
  }
  if (shard.cuts_matrix_columns) {
    places.columns = packed.reserve(shard.sum_group, shard.matrix_columns.whole_size());
    put(
        shard.matrix_columns, [&](std::int64_t column) { return plan.matrix_column_sums[column]; },
        packed.at(places.columns));
    if (!shard.cuts_matrix_rows) {
      places.means = packed.reserve(shard.sum_group, shard.matrices.whole_size());
      put_row_slots(job, packed.at(places.means));
    }
  }
  return places;
}

// Sets the means of a part's rows from the sums of the row slots of whole matrices.
void set_means(const ShardJob& shard, std::span<const double> whole) {
  const auto rows = static_cast<double>(shard.job.step.shard->whole.matrix_rows);
  get(shard.job.step.shard->matrices, whole, [&](std::int64_t matrix, double sum) {
    if (shard.job.plan.mean_of_rows != nullptr) {
      (*shard.update)->set_mean_of_rows(matrix, sum / rows);
    }
  });
}

// Takes the sums of whole rows and columns. The row slots of cut rows are known only after they are
// blended; if columns are cut too, the sums of these slots take the second exchange `late`.
void take_factors(const ShardJob& job, FactorPlaces& places, PackedSums& packed, PackedSums& late) {
  const TensorPlan& plan = job.job.plan;
  const ShardLayout& shard = *job.job.step.shard;
  TensorUpdate& update = **job.update;
  if (shard.cuts_matrix_rows) {
    get(shard.matrix_rows, packed.at(places.rows),
        [&](std::int64_t row, double sum) { plan.matrix_row_sums[row] = sum; });
    update.blend_rows();
  }
  if (shard.cuts_matrix_columns) {
    get(shard.matrix_columns, packed.at(places.columns),
        [&](std::int64_t column, double sum) { plan.matrix_column_sums[column] = sum; });
  }
  update.blend_columns();
  if (!shard.cuts_matrix_columns) {
    std::vector<double> own(static_cast<std::size_t>(shard.matrices.whole_size()));
    put(shard.matrices, [&](std::int64_t matrix) { return update.sum_of_row_slots(matrix); }, own);
    set_means(job, own);
  } else if (shard.cuts_matrix_rows) {
    places.means = late.reserve(shard.sum_group, shard.matrices.whole_size());
    put_row_slots(job, late.at(places.means));
  } else {
    set_means(job, packed.at(places.means));
  }
}

}  // namespace

void complete_rows(std::span<const ShardJob> jobs, const SumShards& sum_shards, PackedSums& packed,
                   std::span<GradientSums> sums) {
  packed.clear();
  std::vector<PackedSums::Place> places(jobs.size());
  const auto has_elements = [](const TensorJob& job) {
    return job.step.gradient != nullptr && job.step.layout.size > 0;
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const TensorJob& job = jobs[i].job;
    if (cuts_centred_rows(job)) {
      const Region& rows = job.step.shard->rows;
      places[i] = packed.reserve(job.step.shard->sum_group, rows.whole_size());
      if (has_elements(job)) {
        const auto length = static_cast<double>(job.step.layout.row_length());
        put(
            rows, [&](std::int64_t row) { return length * load_mean(job, row); },
            packed.at(places[i]));
      }
    }
  }
  packed.sum(sum_shards);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const TensorJob& job = jobs[i].job;
    if (cuts_centred_rows(job) && has_elements(job)) {
      const auto length = static_cast<double>(job.step.layout.row_length());
      const auto whole_length = static_cast<double>(job.step.shard->whole.row_length());
      get(job.step.shard->rows, packed.at(places[i]), [&](std::int64_t row, double total) {
        const double mean = total / whole_length;
        const double distance = load_mean(job, row) - mean;
        sums[i].centred_squares += length * distance * distance;
        store_mean(job, row, mean);
      });
    }
  }
}

void complete_factors(std::span<const ShardJob> jobs, const SumShards& sum_shards,
                      PackedSums& packed) {
  packed.clear();
  std::vector<FactorPlaces> places(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (has_factors(jobs[i])) {
      places[i] = put_factors(jobs[i], packed);
    }
  }
  packed.sum(sum_shards);
  PackedSums late;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (has_factors(jobs[i])) {
      take_factors(jobs[i], places[i], packed, late);
    }
  }
  late.sum(sum_shards);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ShardLayout& shard = *jobs[i].job.step.shard;
    if (has_factors(jobs[i]) && shard.cuts_matrix_rows && shard.cuts_matrix_columns) {
      set_means(jobs[i], late.at(places[i].means));
    }
  }
}

void complete_sums(std::span<const ShardJob> jobs, const SumShards& sum_shards,
                   PackedSums& packed) {
  packed.clear();
  std::vector<PackedSums::Place> places(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].update->has_value()) {
      const RuleSums sums = (*jobs[i].update)->collect_sums();
      places[i] =
          packed.reserve(jobs[i].job.step.shard->sum_group, static_cast<std::int64_t>(sums.count));
      std::ranges::copy_n(sums.values.begin(), static_cast<std::ptrdiff_t>(sums.count),
                          packed.at(places[i]).begin());
    }
  }
  packed.sum(sum_shards);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].update->has_value()) {
      RuleSums sums{.count = places[i].count};
      std::ranges::copy(packed.at(places[i]), sums.values.begin());
      (*jobs[i].update)->finish_sums(sums);
    }
  }
}

}  // namespace sing::cpu
