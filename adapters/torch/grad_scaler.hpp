// Loss scaling for float16 training. Neither unscaling nor the search for infinities costs a pass:
// the optimizer's step does both while it measures the gradients.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <map>
#include <vector>

#include "adapters/torch/optimizer.hpp"

namespace sing::torch {

// The defaults are torch.amp.GradScaler's.
struct GradScalerOptions {
  double initial_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  // steps without a skip until the scale grows
};

// Used as in Python: scale(loss).backward(); step(optimizer); update(). The optimizer's policy must
// be skip_step. update() reads how many steps were skipped and therefore waits for the device, as
// does the first step() of an optimizer.
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {});

  at::Tensor scale(const at::Tensor& loss) const;
  void step(Optimizer& optimizer);
  // Shrinks the scale if any optimizer skipped its step since the last call; otherwise counts the
  // step towards the growth interval.
  void update();

  double current_scale() const { return scale_; }
  void set_scale(double scale);
  std::int64_t growth_tracker() const { return growth_tracker_; }

  void save(::torch::serialize::OutputArchive& archive) const;
  void load(::torch::serialize::InputArchive& archive);

 private:
  GradScalerOptions options_;
  double scale_;
  std::int64_t growth_tracker_ = 0;
  std::map<std::uint64_t, std::int64_t> skipped_;  // last known skipped steps, by state_number()
  std::vector<Optimizer*> stepped_;                // since the last update()
};

::torch::serialize::OutputArchive& operator<<(::torch::serialize::OutputArchive& archive,
                                              const GradScaler& scaler);
::torch::serialize::InputArchive& operator>>(::torch::serialize::InputArchive& archive,
                                             GradScaler& scaler);

}  // namespace sing::torch
