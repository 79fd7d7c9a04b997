// Grows and shrinks the loss scale according to the optimizers' counts of skipped steps.
#include "adapters/torch/grad_scaler.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "adapters/torch/message.hpp"

namespace sing::torch {
namespace {

void check_scale(double scale) {
  SING_CHECK(scale > 0 && std::isfinite(scale),
             "[grad_scaler] wanted a scale above 0 and finite, got {}", scale);
}

c10::IValue read(::torch::serialize::InputArchive& archive, const char* key) {
  c10::IValue value;
  if (!archive.try_read(key, value)) {
    throw FileError(fmt::format("[grad_scaler] wanted an archive with '{}', got one without", key));
  }
  return value;
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), scale_(options.initial_scale) {
  check_scale(options.initial_scale);
  SING_CHECK(options.growth_factor > 1 && std::isfinite(options.growth_factor),
             "[grad_scaler] wanted a finite growth_factor above 1, got {}", options.growth_factor);
  SING_CHECK(options.backoff_factor > 0 && options.backoff_factor < 1,
             "[grad_scaler] wanted a backoff_factor between 0 and 1, got {}",
             options.backoff_factor);
  SING_CHECK(options.growth_interval > 0, "[grad_scaler] wanted a growth_interval above 0, got {}",
             options.growth_interval);
}

at::Tensor GradScaler::scale(const at::Tensor& loss) const { return loss * scale_; }

void GradScaler::step(Optimizer& optimizer) {
  const NonFinite policy = optimizer.options().non_finite;
  SING_CHECK(policy == NonFinite::kSkipStep,
             "[grad_scaler] wanted an optimizer whose non_finite is 'skip_step', got '{}'",
             name_of(policy));
  SING_CHECK(
      std::find(stepped_.begin(), stepped_.end(), &optimizer) == stepped_.end(),
      "[grad_scaler] wanted update() before the next step of an optimizer, got a second step()");
  if (!skipped_.contains(optimizer.state_number())) {
    skipped_[optimizer.state_number()] = optimizer.status().skipped_steps;
  }
  optimizer.step_scaled(scale_);
  stepped_.push_back(&optimizer);
}

void GradScaler::update() {
  SING_CHECK(!stepped_.empty(), "[grad_scaler] wanted a step() before update(), got none");
  bool skipped = false;
  for (Optimizer* optimizer : stepped_) {
    std::int64_t& known = skipped_[optimizer->state_number()];
    const std::int64_t now = optimizer->status().skipped_steps;
    skipped = skipped || now != known;
    known = now;
  }
  stepped_.clear();
  if (skipped) {
    scale_ *= options_.backoff_factor;
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == options_.growth_interval) {
    const double grown = scale_ * options_.growth_factor;
    // A scale that float32 cannot hold would make every loss infinite.
    scale_ = std::isfinite(static_cast<float>(grown)) ? grown : scale_;
    growth_tracker_ = 0;
  }
}

void GradScaler::set_scale(double scale) {
  check_scale(scale);
  scale_ = scale;
}

void GradScaler::save(::torch::serialize::OutputArchive& archive) const {
  archive.write("scale", c10::IValue(scale_));
  archive.write("growth_factor", c10::IValue(options_.growth_factor));
  archive.write("backoff_factor", c10::IValue(options_.backoff_factor));
  archive.write("growth_interval", c10::IValue(options_.growth_interval));
  archive.write("growth_tracker", c10::IValue(growth_tracker_));
}

void GradScaler::load(::torch::serialize::InputArchive& archive) {
  GradScaler loaded({.initial_scale = read(archive, "scale").toDouble(),
                     .growth_factor = read(archive, "growth_factor").toDouble(),
                     .backoff_factor = read(archive, "backoff_factor").toDouble(),
                     .growth_interval = read(archive, "growth_interval").toInt()});
  loaded.growth_tracker_ = read(archive, "growth_tracker").toInt();
  *this = std::move(loaded);
}

::torch::serialize::OutputArchive& operator<<(::torch::serialize::OutputArchive& archive,
                                              const GradScaler& scaler) {
  scaler.save(archive);
  return archive;
}

::torch::serialize::InputArchive& operator>>(::torch::serialize::InputArchive& archive,
                                             GradScaler& scaler) {
  scaler.load(archive);
  return archive;
}

}  // namespace sing::torch
