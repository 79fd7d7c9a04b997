/* Checks what the C interface refuses, with error codes and messages and never a crash. */
#include "tests/c_api/check.h"

static float weight[4] = {1, 1, 1, 1};
static const float gradient[4] = {3, 1, 0, 0};
static const int64_t shape[2] = {1, 2};

static sing_parameter make_parameter(void) {
  sing_parameter parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.struct_size = sizeof parameter;
  parameter.data = weight;
  parameter.gradient = gradient;
  parameter.shape = shape;
  parameter.rank = 2;
  return parameter;
}

static sing_optimizer* make_optimizer(const sing_backend* backend) {
  sing_optimizer* optimizer = NULL;
  sing_parameter parameter = make_parameter();
  CHECK_OK(sing_optimizer_create(NULL, backend, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  return optimizer;
}

static void test_null_pointers(void) {
  const char* text = NULL;
  double number = 0;
  size_t count = 0;
  sing_counts counts;
  sing_option_info info;
  sing_optimizer* optimizer = make_optimizer(NULL);
  const sing_status wanted = SING_INVALID_ARGUMENT;
  memset(&counts, 0, sizeof counts);
  memset(&info, 0, sizeof info);
  counts.struct_size = sizeof counts;
  info.struct_size = sizeof info;
  sing_optimizer_destroy(NULL);
  sing_options_destroy(NULL);
  sing_schedule_destroy(NULL);
  CHECK_FAILS(sing_options_set(NULL, "a", "b"), wanted, "null");
  CHECK_FAILS(sing_optimizer_create(NULL, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_add_group(NULL, NULL, 0, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_add_group(optimizer, NULL, 1, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_group_count(NULL, &count), wanted, "null");
  CHECK_FAILS(sing_optimizer_group_count(optimizer, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_parameter_count(NULL, &count), wanted, "null");
  CHECK_FAILS(sing_optimizer_parameter_count(optimizer, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_parameter_name(NULL, 0, &text), wanted, "null");
  CHECK_FAILS(sing_optimizer_parameter_name(optimizer, 0, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_find_parameter(NULL, "0", &count), wanted, "null");
  CHECK_FAILS(sing_optimizer_find_parameter(optimizer, NULL, &count), wanted, "null");
  CHECK_FAILS(sing_optimizer_find_parameter(optimizer, "0", NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_gradient(NULL, 0, NULL, 0), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_gradients(NULL, NULL, 0), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_gradients(optimizer, NULL, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_curvature(NULL, 0, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_sum_shards(NULL, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_sum_shards_on_device(NULL, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_exchange_parts(NULL, NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_step(NULL, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_learning_rate(NULL, 0, &number), wanted, "null");
  CHECK_FAILS(sing_optimizer_learning_rate(optimizer, 0, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_learning_rate(NULL, 0, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_learning_rate_factor(NULL, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_option(NULL, 0, "rule", &text), wanted, "null");
  CHECK_FAILS(sing_optimizer_option(optimizer, 0, NULL, &text), wanted, "null");
  CHECK_FAILS(sing_optimizer_option(optimizer, 0, "rule", NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_option(NULL, 0, "rule", "sgd"), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_option(optimizer, 0, NULL, "sgd"), wanted, "null");
  CHECK_FAILS(sing_optimizer_set_option(optimizer, 0, "rule", NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_gradient_norms(NULL, &number, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_gradient_norms(optimizer, NULL, 1), wanted, "null");
  CHECK_FAILS(sing_optimizer_counts(NULL, &counts), wanted, "null");
  CHECK_FAILS(sing_optimizer_counts(optimizer, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_state_bytes(NULL, &count), wanted, "null");
  CHECK_FAILS(sing_optimizer_state_bytes(optimizer, NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_use_slow_weights(NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_use_fast_weights(NULL), wanted, "null");
  CHECK_FAILS(sing_optimizer_save(NULL, "file"), wanted, "null");
  CHECK_FAILS(sing_optimizer_load(NULL, "file"), wanted, "null");
  CHECK_FAILS(sing_rule_name(0, NULL), wanted, "null");
  CHECK_FAILS(sing_option_count(NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_option_describe(NULL, 0, NULL), wanted, "null");
  CHECK_FAILS(sing_schedule_name(0, NULL), wanted, "null");
  CHECK_FAILS(sing_schedule_option_count(NULL, &count), wanted, "null");
  CHECK_FAILS(sing_schedule_option_describe(NULL, 0, &info), wanted, "null");
  CHECK_FAILS(sing_schedule_create(NULL, NULL), wanted, "null");
  CHECK_FAILS(sing_schedule_create("constant", NULL), wanted, "null");
  CHECK_FAILS(sing_schedule_set(NULL, "a", "b"), wanted, "null");
  CHECK_FAILS(sing_schedule_factor(NULL, 0, &number), wanted, "null");
  sing_optimizer_destroy(optimizer);
}

static void test_options(void) {
  const sing_status wanted = SING_INVALID_ARGUMENT;
  const char* bad_rates[4] = {"nan", "-1", "inf", "-inf"};
  int i;
  sing_optimizer* optimizer = NULL;
  sing_options* options = NULL;
  CHECK_OK(sing_options_create(&options));
  CHECK_FAILS(sing_options_set(options, NULL, "1"), wanted, "null");
  CHECK_FAILS(sing_options_set(options, "beta1", NULL), wanted, "null");
  CHECK_FAILS(sing_options_set(options, "learnin_rate", "1"), wanted, "'learning_rate'");
  CHECK_FAILS(sing_options_set(options, "learning_rate", "fast"), wanted, "'fast'");
  CHECK_FAILS(sing_options_set(options, "learning_rate", "1 2"), wanted, "'1 2'");
  CHECK_FAILS(sing_options_set(options, "centralize", "yes"), wanted, "true or false");
  CHECK_FAILS(sing_options_set(options, "normalize", "l2"), wanted, "unit_norm");
  CHECK_FAILS(sing_options_set(options, "rule", "adamv"), wanted, "'adamw'");
  CHECK_FAILS(sing_options_set(options, "lookahead_period", "1.5"), wanted, "whole number");
  CHECK_OK(sing_options_set(options, "rule", "sgd"));
  CHECK_FAILS(sing_options_set(options, "beta1", "0.9"), wanted, "rule 'sgd'");
  /* None of the refused values was kept. */
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  sing_optimizer_destroy(optimizer);
  for (i = 0; i < 4; ++i) {
    optimizer = NULL;
    CHECK_OK(sing_options_set(options, "learning_rate", bad_rates[i]));
    CHECK_FAILS(sing_optimizer_create(options, NULL, &optimizer), wanted, "learning_rate");
    CHECK(optimizer == NULL);
  }
  sing_options_destroy(options);
}

static void test_parameters(void) {
  const int64_t negative[2] = {1, -2};
  const sing_status wanted = SING_INVALID_ARGUMENT;
  sing_optimizer* optimizer = NULL;
  sing_parameter parameter = make_parameter();
  sing_parameter pair[2];
  size_t count = 9;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  parameter.rank = -1;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "rank");
  parameter.rank = SING_MAX_RANK + 1;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "rank");
  parameter = make_parameter();
  parameter.shape = NULL;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "shape");
  parameter.shape = negative;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted,
              "wanted extents of at least 0, got -2");
  parameter = make_parameter();
  parameter.dtype = 5;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "sing_dtype");
  parameter = make_parameter();
  parameter.gradient_dtype = SING_FLOAT64;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "float64");
  parameter = make_parameter();
  parameter.data = NULL;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted, "memory");
  parameter.data = (char*)weight + 2;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL), wanted,
              "multiple of 4 bytes");
  pair[0] = pair[1] = make_parameter();
  pair[0].name = pair[1].name = "same";
  pair[1].data = weight + 2;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, pair, 2, NULL, NULL), wanted, "'same'");
  pair[1].struct_size = 0;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, pair, 2, NULL, NULL), wanted, "parameter 1");
  CHECK_OK(sing_optimizer_parameter_count(optimizer, &count));
  CHECK(count == 0);
  CHECK_OK(sing_optimizer_group_count(optimizer, &count));
  CHECK(count == 0);
  /* An empty group is allowed, and a step without parameters is not an error. */
  CHECK_OK(sing_optimizer_add_group(optimizer, NULL, 0, NULL, NULL));
  CHECK_OK(sing_optimizer_set_gradients(optimizer, NULL, 0));
  CHECK_OK(sing_optimizer_gradient_norms(optimizer, NULL, 0));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  sing_optimizer_destroy(optimizer);
}

static void test_indices_and_numbers(void) {
  const sing_status wanted = SING_INVALID_ARGUMENT;
  const void* gradients[2] = {NULL, NULL};
  const char* text = NULL;
  double norms[2] = {0, 0};
  size_t index = 0;
  sing_option_info info;
  sing_optimizer* optimizer = make_optimizer(NULL);
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK_FAILS(sing_optimizer_parameter_name(optimizer, 1, &text), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_find_parameter(optimizer, "nobody", &index), wanted, "'nobody'");
  CHECK_FAILS(sing_optimizer_set_gradient(optimizer, 1, gradient, 0), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_gradient(optimizer, 0, gradient, 77), wanted, "77");
  CHECK_FAILS(sing_optimizer_set_gradient(optimizer, 0, gradient, SING_FLOAT64), wanted, "float64");
  CHECK_FAILS(sing_optimizer_set_gradient(optimizer, 0, (const char*)gradient + 2, SING_FLOAT32),
              wanted, "multiple of 4 bytes");
  CHECK_FAILS(sing_optimizer_set_gradients(optimizer, gradients, 2), wanted, "got 2");
  CHECK_FAILS(sing_optimizer_gradient_norms(optimizer, norms, 2), wanted, "got 2");
  CHECK_FAILS(sing_optimizer_learning_rate(optimizer, 1, norms), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_learning_rate(optimizer, SING_ALL_GROUPS, norms), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_learning_rate(optimizer, 1, 0.1), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_learning_rate(optimizer, 0, NAN), wanted, "nan");
  CHECK_FAILS(sing_optimizer_set_learning_rate(optimizer, SING_ALL_GROUPS, -1), wanted, "-1");
  CHECK_FAILS(sing_optimizer_set_learning_rate_factor(optimizer, INFINITY), wanted, "inf");
  CHECK_FAILS(sing_optimizer_step(optimizer, NAN), wanted, "loss_scale");
  CHECK_FAILS(sing_optimizer_step(optimizer, 0), wanted, "loss_scale");
  CHECK_FAILS(sing_optimizer_option(optimizer, 0, "momentun", &text), wanted, "'momentun'");
  CHECK_FAILS(sing_optimizer_option(optimizer, 3, "rule", &text), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_option(optimizer, 0, "beta1", "1"), wanted, "beta1");
  CHECK_FAILS(sing_rule_name(sing_rule_count(), &text), wanted, "rule_name");
  CHECK_FAILS(sing_schedule_name(sing_schedule_count(), &text), wanted, "schedule_name");
  CHECK_FAILS(sing_option_count("adamv", &index), wanted, "'adamw'");
  CHECK_FAILS(sing_option_describe("sgd", 1000, &info), wanted, "1000");
  CHECK_FAILS(sing_schedule_option_describe("constant", 0, &info), wanted, "below 0");
  CHECK(weight[0] == 1 && weight[1] == 1);
  sing_optimizer_destroy(optimizer);
}

/* The default rule, AdamW, takes no curvature; a refused one does not affect the step. */
static void test_curvature(void) {
  const sing_status wanted = SING_INVALID_ARGUMENT;
  const float start[4] = {1, 1, 1, 1};
  const float curvature[2] = {2, 8};
  float untouched[2];
  sing_optimizer* optimizer = make_optimizer(NULL);
  CHECK_FAILS(sing_optimizer_set_curvature(optimizer, 1, curvature), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_curvature(optimizer, SIZE_MAX, NULL), wanted, "below 1");
  CHECK_FAILS(sing_optimizer_set_curvature(optimizer, 0, curvature), wanted, "got 'adamw'");
  CHECK(memcmp(weight, start, sizeof weight) == 0);
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  sing_optimizer_destroy(optimizer);
  memcpy(untouched, weight, sizeof untouched);
  memcpy(weight, start, sizeof weight);
  optimizer = make_optimizer(NULL);
  CHECK_OK(sing_optimizer_set_curvature(optimizer, 0, NULL));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK(memcmp(weight, untouched, sizeof untouched) == 0 && weight[0] != 1);
  memcpy(weight, start, sizeof weight);
  sing_optimizer_destroy(optimizer);
}

static void test_backends(void) {
  const sing_status wanted = SING_INVALID_ARGUMENT;
  sing_optimizer* optimizer = NULL;
  sing_backend backend;
  memset(&backend, 0, sizeof backend);
  backend.struct_size = sizeof backend;
  backend.kind = 3;
  CHECK_FAILS(sing_optimizer_create(NULL, &backend, &optimizer), wanted, "sing_backend_kind");
  backend.kind = SING_BACKEND_CPU;
  backend.threads = -1;
  CHECK_FAILS(sing_optimizer_create(NULL, &backend, &optimizer), wanted, "threads");
  backend.threads = 1;
  backend.instruction_set = 4;
  CHECK_FAILS(sing_optimizer_create(NULL, &backend, &optimizer), wanted, "instruction_set");
  backend.instruction_set = SING_INSTRUCTION_SET_BASELINE;
  CHECK_OK(sing_optimizer_create(NULL, &backend, &optimizer));
  sing_optimizer_destroy(optimizer);
  optimizer = NULL;
  backend.kind = SING_BACKEND_CUDA;
  if (!sing_cuda_available()) {
    CHECK_FAILS(sing_optimizer_create(NULL, &backend, &optimizer), SING_CUDA_ERROR, "CUDA");
    CHECK(optimizer == NULL);
  }
}

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* Asks for more state than a 64-bit address space can hold. The sanitizers end a program that asks
 * for it. */
static void test_out_of_memory(void) {
#ifndef SANITIZED
  const int64_t huge[1] = {(int64_t)1 << 50};
  sing_optimizer* optimizer = NULL;
  sing_parameter parameter = make_parameter();
  size_t bytes = 1;
  parameter.shape = huge;
  parameter.rank = 1;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_OUT_OF_MEMORY, "memory");
  CHECK_OK(sing_optimizer_state_bytes(optimizer, &bytes));
  CHECK(bytes == 0);
  sing_optimizer_destroy(optimizer);
#endif
}

int main(void) {
  test_null_pointers();
  test_options();
  test_parameters();
  test_indices_and_numbers();
  test_curvature();
  test_backends();
  test_out_of_memory();
  return 0;
}
