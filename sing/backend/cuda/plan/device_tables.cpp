// Encodes, compares and uploads the device tables.
#include "sing/backend/cuda/plan/device_tables.hpp"

#include <bit>
#include <cstring>

#include "sing/backend/cuda/relaxed_capture.hpp"
#include "sing/base/message.hpp"

namespace sing::cuda {
namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// OptimizerRecord::total_norm where the step computes the norm.
constexpr double kNoNorm = -1;

// Byte offsets of the tables in scratch memory; the queue is the first of them.
struct ScratchLayout {
  explicit ScratchLayout(const WorkPlan& plan)
      : partials(aligned(sizeof(QueueState))),
        family_sums(partials +
                    aligned(sizeof(ChunkSums) * static_cast<std::size_t>(plan.partial_count))),
        family_done(family_sums +
                    aligned(sizeof(ChunkSums) * static_cast<std::size_t>(plan.family_count))),
        tensor_done(family_done +
                    aligned(sizeof(unsigned int) * static_cast<std::size_t>(plan.family_count))),
        prepared(tensor_done + aligned(sizeof(unsigned int) * plan.tensors.size())),
        results(prepared + aligned(sizeof(unsigned int) * plan.tensors.size())),
        prepared_constants(results + aligned(sizeof(MeasureResult) * plan.tensors.size())),
        means(prepared_constants + aligned(kPreparedBytes * plan.tensors.size())),
        end(means + aligned(plan.mean_bytes)) {}
  std::size_t partials, family_sums, family_done, tensor_done, prepared, results,
      prepared_constants, means, end;
};

// The same in the memory of shards; the records are the first of them.
struct ShardMemory {
  explicit ShardMemory(const WorkPlan& plan)
      : parts(aligned(sizeof(ShardRecord) * plan.shards.records.size())),
        rows(parts +
             (plan.shards.empty() ? 0 : aligned(sizeof(GradientSums) * plan.tensors.size()))),
        sums(rows + aligned(sizeof(double) * plan.shards.rows.size)),
        rule_sums(sums + aligned(sizeof(double) * plan.shards.sums.size)),
        factor_records(rule_sums + aligned(sizeof(double) * plan.shards.rule_sums.size)),
        axes(factor_records + aligned(sizeof(FactorRecord) * plan.shards.factor_records.size())),
        part_factors(axes + aligned(sizeof(std::int64_t) * plan.shards.axes.size())),
        factors(part_factors + aligned(sizeof(double) * plan.shards.part_factors)),
        late_means(factors + aligned(sizeof(double) * plan.shards.factors.size)),
        end(late_means + aligned(sizeof(double) * plan.shards.late_means.size)) {}
  std::size_t parts, rows, sums, rule_sums, factor_records, axes, part_factors, factors, late_means,
      end;
};

void add_number(std::vector<double>& out, const std::optional<double>& value) {
  out.push_back(value ? 1 : 0);
  out.push_back(value.value_or(0));
}
template <class Number>
void add_number(std::vector<double>& out, Number value) {
  if constexpr (std::is_pointer_v<Number>) {
    out.push_back(std::bit_cast<double>(value));
  } else {
    out.push_back(static_cast<double>(value));
  }
}

template <class... Numbers>
void add_numbers(std::vector<double>& out, const Numbers&... numbers) {
  (add_number(out, numbers), ...);
}

template <class Options>
void add_fields(std::vector<double>& out, const Options& options) {
  visit_fields(options, [&](const auto&, const auto& member) { add_number(out, member); });
}

GroupRecord group_record(const GroupStep& group) {
  GroupRecord record{};
  std::visit([&](const auto& rule) { std::memcpy(record.rule, &rule, sizeof(rule)); }, group.rule);
  record.standardize = group.standardize;
  record.learning_rate = learning_rate_of(group.rule) * group.learning_rate_factor;
  record.learning_rate_source = group.learning_rate_source;
  record.learning_rate_factor = group.learning_rate_factor;
  record.weight_decay_vectors = group.weight_decay(1);
  record.weight_decay_matrices = group.weight_decay(2);
  record.lookahead_period = group.lookahead ? group.lookahead->period : 0;
  record.lookahead_alpha = group.lookahead ? group.lookahead->alpha : 1;
  record.clip_norm = group.clip_limit().value_or(0);
  record.progress = group.progress;
  return record;
}

OptimizerRecord optimizer_record(const StepRequest& request) {
  return {.progress = request.progress,
          .loss_scale = request.loss_scale,
          .total_norm = request.total_norm.value_or(kNoNorm),
          .group_count = static_cast<std::int64_t>(request.groups.size()),
          .non_finite = request.non_finite};
}

// Adds the numbers of a record, each on its own because the bytes of a rule may have holes. The
// bindings do not compile if the record has another member.
void add_record(std::vector<double>& out, const Rule& of_record, const GroupRecord& record) {
  const auto& [rule, standardize, learning_rate, source, factor, decay_vectors, decay_matrices,
               period, alpha, clip_norm, progress] = record;
  std::visit([&](const auto& each) { add_fields(out, each); }, of_record);
  add_fields(out, standardize);
  add_numbers(out, learning_rate, source, factor, decay_vectors, decay_matrices, period, alpha,
              clip_norm, progress);
}

void add_record(std::vector<double>& out, const OptimizerRecord& record) {
  const auto& [progress, loss_scale, total_norm, group_count, non_finite] = record;
  add_numbers(out, progress, loss_scale, total_norm, group_count, non_finite);
}

}  // namespace

DeviceTables::DeviceTables(WorkPlan plan, std::size_t group_count, cudaStream_t stream)
    : plan_(std::move(plan)),
      group_count_(group_count),
      fixed_(aligned(plan_.tensors.size() * sizeof(TensorRecord)) +
             plan_.items.size() * sizeof(WorkItem)),
      changing_(DeviceBuffer::zeroed(plan_.tensors.size() * sizeof(GradientRecord) +
                                     group_count * sizeof(GroupRecord) + sizeof(OptimizerRecord))),
      scratch_(DeviceBuffer::zeroed(ScratchLayout(plan_).end)),
      matrices_(plan_.matrix_bytes),
      shards_(ShardMemory(plan_).end),
      ring_(changing_.bytes()),
      gradients_(plan_.tensors.size()) {
  std::byte* means = scratch_.data() + ScratchLayout(plan_).means;
  const auto resolve = [&](void*& pointer) {
    const auto offset = std::bit_cast<std::size_t>(pointer);
    pointer = offset == kNoOffset ? nullptr : means + offset;
  };
  for (TensorRecord& record : plan_.tensors) {
    resolve(record.row_means);
    resolve(record.matrix_means);
  }
  std::vector<std::byte> host(fixed_.bytes());
  const std::size_t items_at = aligned(plan_.tensors.size() * sizeof(TensorRecord));
  if (!plan_.tensors.empty()) {
    std::memcpy(host.data(), plan_.tensors.data(), plan_.tensors.size() * sizeof(TensorRecord));
    std::memcpy(host.data() + items_at, plan_.items.data(), plan_.items.size() * sizeof(WorkItem));
  }
  check(cudaMemcpyAsync(fixed_.data(), host.data(), host.size(), cudaMemcpyHostToDevice, stream),
        "to upload the work plan");
  const auto upload_shards = [&]<class Record>(std::size_t at, const std::vector<Record>& records) {
    if (!records.empty()) {
      check(cudaMemcpyAsync(shards_.data() + at, records.data(), sizeof(Record) * records.size(),
                            cudaMemcpyHostToDevice, stream),
            "to upload the shards of the work plan");
    }
  };
  const ShardMemory shards(plan_);
  upload_shards(0, plan_.shards.records);
  upload_shards(shards.factor_records, plan_.shards.factor_records);
  upload_shards(shards.axes, plan_.shards.axes);
  check(cudaStreamSynchronize(stream), "to upload the work plan");
}

bool DeviceTables::gradients_differ(const StepRequest& request) const {
  for (std::size_t at = 0; at < gradients_.size(); ++at) {
    const TensorStep& tensor = request.tensors[plan_.order[at]];
    if (gradients_[at].data != tensor.gradient || gradients_[at].curvature != tensor.curvature ||
        gradients_[at].dtype != static_cast<std::int64_t>(tensor.gradient_dtype)) {
      return true;
    }
  }
  return false;
}

std::vector<GradientRecord> DeviceTables::encode_gradients(const StepRequest& request) const {
  std::vector<GradientRecord> gradients(plan_.order.size());
  for (std::size_t at = 0; at < gradients.size(); ++at) {
    const TensorStep& tensor = request.tensors[plan_.order[at]];
    gradients[at] = {tensor.gradient, static_cast<std::int64_t>(tensor.gradient_dtype),
                     tensor.curvature};
  }
  return gradients;
}

bool DeviceTables::options_differ(const StepRequest& request) {
  wanted_options_.clear();
  for (const GroupStep& group : request.groups) {
    add_record(wanted_options_, group.rule, group_record(group));
  }
  add_record(wanted_options_, optimizer_record(request));
  return wanted_options_.size() != options_.size() ||
         std::memcmp(wanted_options_.data(), options_.data(), options_.size() * sizeof(double)) !=
             0;
}

void DeviceTables::encode_options(const StepRequest& request, std::byte* host) const {
  for (std::size_t group = 0; group < group_count_; ++group) {
    const GroupRecord record = group_record(request.groups[group]);
    std::memcpy(host + group * sizeof(record), &record, sizeof(record));
  }
  const OptimizerRecord record = optimizer_record(request);
  std::memcpy(host + group_count_ * sizeof(GroupRecord), &record, sizeof(record));
}

StepArguments DeviceTables::upload(const StepRequest& request, cudaStream_t stream) {
  const bool options = options_differ(request);
  const bool gradients = gradients_differ(request);
  if (options || gradients) {
    std::byte* host = ring_.next();
    const std::size_t begin = gradients ? 0 : gradient_bytes();
    const std::size_t end = options ? changing_.bytes() : gradient_bytes();
    if (gradients) {
      gradients_ = encode_gradients(request);
      std::memcpy(host, gradients_.data(), gradient_bytes());
    }
    if (options) {
      encode_options(request, host + gradient_bytes());
      options_ = wanted_options_;
    }
    check(cudaMemcpyAsync(changing_.data() + begin, host + begin, end - begin,
                          cudaMemcpyHostToDevice, stream),
          "to upload gradients and options");
    ring_.copied(stream);
  }
  return arguments(changing_.data());
}

StepArguments DeviceTables::capture(const StepRequest& request) {
  SING_CHECK(!options_differ(request),
             "[cuda step] wanted the options of the last step or upload while a graph is captured, "
             "got others; upload them before the capture");
  const std::vector<GradientRecord> gradients = encode_gradients(request);
  const RelaxedCapture relaxed;
  DeviceBuffer table(gradient_bytes());
  if (!gradients.empty()) {
    const SideStream side;
    check(cudaMemcpyAsync(table.data(), gradients.data(), gradient_bytes(), cudaMemcpyHostToDevice,
                          side.get()),
          "to upload the gradients of a graph");
    check(cudaStreamSynchronize(side.get()), "to upload the gradients of a graph");
  }
  graph_gradients_.push_back(std::move(table));
  return arguments(graph_gradients_.back().data());
}

ShardArguments DeviceTables::shard_arguments(const StepArguments& step) const {
  const ShardMemory layout(plan_);
  std::byte* const memory = shards_.data();
  return {.step = step,
          .records = reinterpret_cast<const ShardRecord*>(memory),
          .begin = 0,
          .end = static_cast<std::int64_t>(plan_.shards.records.size()),
          .parts = reinterpret_cast<GradientSums*>(memory + layout.parts),
          .rows = reinterpret_cast<double*>(memory + layout.rows),
          .sums = reinterpret_cast<double*>(memory + layout.sums),
          .rule_sums = reinterpret_cast<double*>(memory + layout.rule_sums),
          .factor_records = reinterpret_cast<const FactorRecord*>(memory + layout.factor_records),
          .axes = reinterpret_cast<const std::int64_t*>(memory + layout.axes),
          .part_factors = reinterpret_cast<double*>(memory + layout.part_factors),
          .factors = reinterpret_cast<double*>(memory + layout.factors),
          .late_means = reinterpret_cast<double*>(memory + layout.late_means)};
}

StepArguments DeviceTables::arguments(const std::byte* gradients) const {
  const ScratchLayout layout(plan_);
  std::byte* scratch = scratch_.data();
  std::byte* options = changing_.data() + gradient_bytes();
  const std::size_t items_at = aligned(plan_.tensors.size() * sizeof(TensorRecord));
  return {.tensors = reinterpret_cast<const TensorRecord*>(fixed_.data()),
          .gradients = reinterpret_cast<const GradientRecord*>(gradients),
          .groups = reinterpret_cast<const GroupRecord*>(options),
          .optimizer = reinterpret_cast<const OptimizerRecord*>(options +
                                                                group_count_ * sizeof(GroupRecord)),
          .items = reinterpret_cast<const WorkItem*>(fixed_.data() + items_at),
          .partials = reinterpret_cast<ChunkSums*>(scratch + layout.partials),
          .family_sums = reinterpret_cast<ChunkSums*>(scratch + layout.family_sums),
          .family_done = reinterpret_cast<unsigned int*>(scratch + layout.family_done),
          .tensor_done = reinterpret_cast<unsigned int*>(scratch + layout.tensor_done),
          .prepared = reinterpret_cast<unsigned int*>(scratch + layout.prepared),
          .results = reinterpret_cast<MeasureResult*>(scratch + layout.results),
          .prepared_constants = scratch + layout.prepared_constants,
          .queue = reinterpret_cast<QueueState*>(scratch),
          .tensor_count = static_cast<std::int64_t>(plan_.tensors.size()),
          .matrices = nullptr,
          .orthogonal = nullptr,
          .item_begin = 0,
          .item_end = 0,
          .first_prepared = 0,
          .prepared_count = 0,
          .ends_step = false};
}

}  // namespace sing::cuda
