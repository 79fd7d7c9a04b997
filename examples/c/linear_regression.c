/* Fits a plane to points by SING in C: options by name, a schedule, a state file. */
#include <stdio.h>

#include "sing/c_api/sing.h"

#define CHECK(call)                             \
  if ((call) != SING_OK) {                      \
    fprintf(stderr, "%s\n", sing_last_error()); \
    return 1;                                   \
  }

enum { kInputs = 3, kPoints = 64, kSteps = 400 };

static const float kTrueSlope[kInputs] = {2.0F, -1.0F, 0.5F};
static const float kTrueOffset = 3.0F;

/* A number in [-1, 1) that depends only on the arguments. */
static float noise(unsigned point, unsigned input) {
  const unsigned mixed = (point * 2654435761U) ^ (input * 2246822519U + 374761393U);
  return (float)((mixed * 3266489917U) >> 8) / (float)(1 << 23) - 1.0F;
}

/* Half the mean squared error over all points, and its gradients. */
static double loss_and_gradients(const float* slope, const float* offset, float* slope_gradient,
                                 float* offset_gradient) {
  double loss = 0;
  *offset_gradient = 0;
  for (int i = 0; i < kInputs; ++i) {
    slope_gradient[i] = 0;
  }
  for (unsigned point = 0; point < kPoints; ++point) {
    float error = *offset - kTrueOffset;
    for (unsigned i = 0; i < kInputs; ++i) {
      error += (slope[i] - kTrueSlope[i]) * noise(point, i);
    }
    loss += 0.5 * error * error / kPoints;
    *offset_gradient += error / kPoints;
    for (unsigned i = 0; i < kInputs; ++i) {
      slope_gradient[i] += error * noise(point, i) / kPoints;
    }
  }
  return loss;
}

int main(void) {
  float slope[kInputs] = {0}, offset[1] = {0}, slope_gradient[kInputs], offset_gradient[1];
  const int64_t slope_shape[] = {1, kInputs}, offset_shape[] = {1};
  const sing_parameter parameters[] = {{.struct_size = sizeof(sing_parameter),
                                        .name = "slope",
                                        .data = slope,
                                        .shape = slope_shape,
                                        .rank = 2,
                                        .gradient = slope_gradient},
                                       {.struct_size = sizeof(sing_parameter),
                                        .name = "offset",
                                        .data = offset,
                                        .shape = offset_shape,
                                        .rank = 1,
                                        .gradient = offset_gradient}};
  /* Plug-and-play SING: an unchanged AdamW on gradients of norm 1. */
  const char* const settings[][2] = {{"learning_rate", "0.1"},
                                     {"softplus_beta", "none"},
                                     {"centralize", "false"},
                                     {"lookahead", "false"}};

  sing_options* options;
  CHECK(sing_options_create(&options));
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i) {
    CHECK(sing_options_set(options, settings[i][0], settings[i][1]));
  }
  sing_optimizer* optimizer;
  CHECK(sing_optimizer_create(options, NULL, &optimizer));
  CHECK(sing_optimizer_add_group(optimizer, parameters, 2, NULL, NULL));
  sing_schedule* schedule;
  CHECK(sing_schedule_create("warmup_cosine", &schedule));
  CHECK(sing_schedule_set(schedule, "warmup_steps", "10"));
  CHECK(sing_schedule_set(schedule, "total_steps", "400"));

  double loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    double factor;
    loss = loss_and_gradients(slope, offset, slope_gradient, offset_gradient);
    CHECK(sing_schedule_factor(schedule, step, &factor));
    CHECK(sing_optimizer_set_learning_rate_factor(optimizer, factor));
    CHECK(sing_optimizer_step(optimizer, 1));
    if (step % 100 == 0) {
      printf("step %3d  loss %.6f\n", step, loss);
    }
  }
  CHECK(sing_optimizer_save(optimizer, "linear_regression.safetensors"));
  CHECK(sing_optimizer_load(optimizer, "linear_regression.safetensors"));
  printf("%.3f %.3f %.3f, offset %.3f\n", slope[0], slope[1], slope[2], offset[0]);

  sing_schedule_destroy(schedule);
  sing_optimizer_destroy(optimizer);
  sing_options_destroy(options);
  return loss < 1e-6 ? 0 : 1;
}
