/* Checks the C interface from a C program. Usage: c_api_test FOLDER, where it may write files. */
#include <pthread.h>

#include "tests/c_api/check.h"

/* The float32 steps below have a few roundings of numbers near 1. */
static const double kFloatTolerance = 4e-7;

static sing_options* make_options(const char* rule, const char* learning_rate) {
  sing_options* options = NULL;
  CHECK_OK(sing_options_create(&options));
  CHECK_OK(sing_options_set(options, "rule", rule));
  CHECK_OK(sing_options_set(options, "learning_rate", learning_rate));
  return options;
}

static sing_parameter make_parameter(const char* name, float* data, const int64_t* shape,
                                     int rank) {
  sing_parameter parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.struct_size = sizeof parameter;
  parameter.name = name;
  parameter.data = data;
  parameter.shape = shape;
  parameter.rank = rank;
  return parameter;
}

static const int64_t kOneRowOfTwo[2] = {1, 2};

/* Makes SGD with learning rate 0.5 and no LookAhead on one row of two elements. */
static sing_optimizer* make_sgd(float* weight, const float* gradient, const sing_backend* backend) {
  sing_optimizer* optimizer = NULL;
  sing_options* options = make_options("sgd", "0.5");
  sing_parameter parameter = make_parameter("weight", weight, kOneRowOfTwo, 2);
  size_t group = 7;
  CHECK_OK(sing_options_set(options, "lookahead", "false"));
  CHECK_OK(sing_optimizer_create(options, backend, &optimizer));
  sing_options_destroy(options);
  parameter.gradient = gradient;
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, &group));
  CHECK(group == 0);
  return optimizer;
}

/* (3, 1) minus its mean is (1, -1), with norm sqrt(2): each element moves by 0.5 / sqrt(2). */
static void test_sgd_step_by_hand(void) {
  const float gradient[2] = {3, 1};
  const double step = 0.5 / sqrt(2.0);
  sing_backend_kind kind;
  for (kind = SING_BACKEND_CPU; kind <= SING_BACKEND_REFERENCE; ++kind) {
    float weight[2] = {1, 1};
    double norm = 0;
    size_t bytes = 1;
    sing_backend backend;
    sing_optimizer* optimizer;
    memset(&backend, 0, sizeof backend);
    backend.struct_size = sizeof backend;
    backend.kind = kind;
    backend.threads = 1;
    optimizer = make_sgd(weight, gradient, &backend);
    CHECK_OK(sing_optimizer_step(optimizer, 1));
    CHECK_NEAR(weight[0], 1 - step, kFloatTolerance);
    CHECK_NEAR(weight[1], 1 + step, kFloatTolerance);
    CHECK_OK(sing_optimizer_gradient_norms(optimizer, &norm, 1));
    CHECK_NEAR(norm, sqrt(10.0), 1e-5);
    CHECK_OK(sing_optimizer_state_bytes(optimizer, &bytes));
    CHECK(bytes == 0);
    /* Scaling the loss changes neither the step nor the norm. */
    CHECK_OK(sing_optimizer_set_learning_rate_factor(optimizer, 0.5));
    CHECK_OK(sing_optimizer_step(optimizer, 4));
    CHECK_NEAR(weight[0], 1 - 1.5 * step, kFloatTolerance);
    CHECK_OK(sing_optimizer_gradient_norms(optimizer, &norm, 1));
    CHECK_NEAR(norm, sqrt(10.0) / 4, 1e-5);
    sing_optimizer_destroy(optimizer);
  }
}

/* AdamW has two moments of two bytes per element, and a rounded gradient moves the weight. */
static void test_bfloat16_state(void) {
  const float gradient[2] = {3, 1};
  float weight[2] = {1, 1};
  size_t bytes = 0;
  sing_optimizer* optimizer = NULL;
  sing_options* options = make_options("adamw", "0.5");
  sing_parameter parameter = make_parameter("weight", weight, kOneRowOfTwo, 2);
  CHECK_FAILS(sing_options_set(options, "state", "float16"), SING_INVALID_ARGUMENT,
              "[state] wanted one of float32, bfloat16, got 'float16'");
  CHECK_OK(sing_options_set(options, "state", "bfloat16"));
  CHECK_OK(sing_options_set(options, "lookahead", "false"));
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  sing_options_destroy(options);
  parameter.gradient = gradient;
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK(weight[0] < 1 && weight[1] > 1);
  CHECK_OK(sing_optimizer_state_bytes(optimizer, &bytes));
  CHECK(bytes == 2 * 2 * 2);
  sing_optimizer_destroy(optimizer);
}

/* Stands for a second process that has the same part: doubles every value. */
static int32_t sum_with_twin(void* context, double* values, size_t count, int32_t sum_group) {
  size_t i;
  *(int32_t*)context = sum_group;
  for (i = 0; i < count; ++i) {
    values[i] *= 2;
  }
  return 0;
}

static int32_t fail_to_sum(void* context, double* values, size_t count, int32_t sum_group) {
  (void)context, (void)values, (void)count, (void)sum_group;
  return 5;
}

/* Two rows (3, 1) are (1, -1) without their means, with norm 2: each element moves by 0.5 / 2. */
static void test_shard(void) {
  const float gradient[2] = {3, 1};
  const int64_t whole_shape[2] = {2, 2};
  const int64_t offset[2] = {1, 0};
  const int32_t cut_axes[1] = {0};
  float weight[2] = {1, 1};
  int32_t summed_group = 0;
  double norm = 0;
  sing_shard shard;
  sing_optimizer* optimizer = NULL;
  sing_options* options = make_options("sgd", "0.5");
  sing_parameter parameter = make_parameter("weight", weight, kOneRowOfTwo, 2);
  memset(&shard, 0, sizeof shard);
  shard.struct_size = sizeof shard;
  shard.whole_shape = whole_shape;
  shard.offset = offset;
  shard.cut_axes = cut_axes;
  shard.cut_axis_count = 1;
  shard.sum_group = 3;
  parameter.gradient = gradient;
  parameter.shard = &shard;
  CHECK_OK(sing_options_set(options, "lookahead", "false"));
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  sing_options_destroy(options);
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_INVALID_ARGUMENT, "set_sum_shards()");
  CHECK_OK(sing_optimizer_set_sum_shards(optimizer, fail_to_sum, NULL));
  CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_INTERNAL_ERROR, "got 5");
  CHECK_NEAR(weight[0], 1, 0);
  CHECK_OK(sing_optimizer_set_sum_shards(optimizer, sum_with_twin, &summed_group));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK(summed_group == 3);
  CHECK_NEAR(weight[0], 0.75, kFloatTolerance);
  CHECK_NEAR(weight[1], 1.25, kFloatTolerance);
  CHECK_OK(sing_optimizer_gradient_norms(optimizer, &norm, 1));
  CHECK_NEAR(norm, sqrt(20.0), 1e-5);
  sing_optimizer_destroy(optimizer);
}

static int32_t sum_of_one(void* context, double* values, size_t count, int32_t sum_group) {
  (void)context, (void)values, (void)count, (void)sum_group;
  return 0;
}

/* Stands for a group of one process. */
static int32_t exchange_with_oneself(void* context, const void* sent, const size_t* sent_bytes,
                                     void* received, const size_t* received_bytes, size_t processes,
                                     int32_t sum_group) {
  if (processes != 1 || sent_bytes[0] != received_bytes[0] || sum_group != 2) {
    return 7;
  }
  memcpy(received, sent, sent_bytes[0]);
  ++*(int*)context;
  return 0;
}

/* A matrix whose only part is the whole takes the step of a matrix that is no shard. */
static void test_matrix_in_parts(void) {
  const float gradient[4] = {1, -2, 3, 5};
  const int64_t shape[2] = {2, 2};
  const int64_t offset[2] = {0, 0};
  const int32_t cut_axes[1] = {0};
  float weights[2][4] = {{1, 2, 3, 4}, {1, 2, 3, 4}};
  int exchanges = 0;
  int is_shard;
  for (is_shard = 0; is_shard < 2; ++is_shard) {
    sing_shard shard;
    sing_optimizer* optimizer = NULL;
    sing_options* options = make_options("muon", "0.5");
    sing_parameter parameter = make_parameter("weight", weights[is_shard], shape, 2);
    memset(&shard, 0, sizeof shard);
    shard.struct_size = sizeof shard;
    shard.whole_shape = shape;
    shard.offset = offset;
    shard.cut_axes = cut_axes;
    shard.cut_axis_count = 1;
    shard.sum_group = 2;
    shard.part_offsets = offset;
    shard.part_shapes = shape;
    shard.part_count = 1;
    parameter.gradient = gradient;
    parameter.shard = is_shard ? &shard : NULL;
    CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
    sing_options_destroy(options);
    CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
    if (is_shard) {
      CHECK_OK(sing_optimizer_set_sum_shards(optimizer, sum_of_one, NULL));
      CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_INVALID_ARGUMENT, "set_exchange_parts()");
      CHECK_OK(sing_optimizer_set_exchange_parts(optimizer, exchange_with_oneself, &exchanges));
    }
    CHECK_OK(sing_optimizer_step(optimizer, 1));
    sing_optimizer_destroy(optimizer);
  }
  CHECK(exchanges == 2);
  CHECK(weights[0][0] != 1);
  CHECK(memcmp(weights[0], weights[1], sizeof weights[0]) == 0);
}

/* With the defaults, the first step of an element of standardized size 0.1 is 0.005 * 0.1 /
 * softplus(0.1), and softplus(0.1) = ln(1 + e^5) / 50. */
static void test_default_step_by_hand(void) {
  enum { kSize = 100 };
  float weight[kSize] = {0};
  float gradient[kSize];
  const int64_t shape[1] = {kSize};
  sing_parameter parameter = make_parameter(NULL, weight, shape, 1);
  sing_optimizer* optimizer = NULL;
  const char* name = NULL;
  double learning_rate = 0;
  size_t bytes = 0;
  int i;
  for (i = 0; i < kSize; ++i) {
    gradient[i] = 2;
  }
  parameter.gradient = gradient;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_OK(sing_optimizer_parameter_name(optimizer, 0, &name));
  CHECK(strcmp(name, "0") == 0);
  CHECK_OK(sing_optimizer_learning_rate(optimizer, 0, &learning_rate));
  CHECK(learning_rate == 5e-3);
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  for (i = 0; i < kSize; ++i) {
    CHECK_NEAR(weight[i], -0.005 * 0.1 / (log(1 + exp(5.0)) / 50), 5e-9);
  }
  CHECK_OK(sing_optimizer_state_bytes(optimizer, &bytes));
  CHECK(bytes == 12 * kSize);
  sing_optimizer_destroy(optimizer);
}

static void test_groups_override_defaults(void) {
  float first[2] = {0, 0};
  float second[2] = {0, 0};
  float third[2] = {0, 0};
  const float gradient[2] = {3, 1};
  const double unit = 1 / sqrt(2.0);
  const char* text = NULL;
  size_t group = 0, count = 0, index = 0;
  double learning_rate = 0;
  sing_options* overrides = NULL;
  sing_parameter parameters[2];
  sing_optimizer* optimizer = make_sgd(first, gradient, NULL);
  CHECK_OK(sing_options_create(&overrides));
  CHECK_OK(sing_options_set(overrides, "learning_rate", "0.25"));
  CHECK_OK(sing_options_set(overrides, "momentum", "0.5"));
  parameters[0] = make_parameter("second", second, kOneRowOfTwo, 2);
  parameters[1] = make_parameter("third", third, kOneRowOfTwo, 2);
  CHECK_OK(sing_optimizer_add_group(optimizer, parameters, 2, overrides, &group));
  sing_options_destroy(overrides);
  CHECK(group == 1);
  CHECK_OK(sing_optimizer_group_count(optimizer, &count));
  CHECK(count == 2);
  CHECK_OK(sing_optimizer_parameter_count(optimizer, &count));
  CHECK(count == 3);
  CHECK_OK(sing_optimizer_find_parameter(optimizer, "third", &index));
  CHECK(index == 2);

  CHECK_OK(sing_optimizer_set_gradient(optimizer, 1, gradient, SING_FLOAT32));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK_NEAR(first[0], -0.5 * unit, kFloatTolerance);
  CHECK_NEAR(second[0], -0.25 * unit, kFloatTolerance);
  CHECK(third[0] == 0 && third[1] == 0);

  CHECK_OK(sing_optimizer_set_learning_rate(optimizer, SING_ALL_GROUPS, 0.125));
  CHECK_OK(sing_optimizer_set_learning_rate(optimizer, 0, 1));
  CHECK_OK(sing_optimizer_learning_rate(optimizer, 1, &learning_rate));
  CHECK(learning_rate == 0.125);
  CHECK_OK(sing_optimizer_option(optimizer, 1, "momentum", &text));
  CHECK(strcmp(text, "0.5") == 0);
  CHECK_OK(sing_optimizer_set_option(optimizer, 1, "normalize", "off"));
  CHECK_OK(sing_optimizer_option(optimizer, 1, "normalize", &text));
  CHECK(strcmp(text, "off") == 0);
  {
    const void* gradients[3] = {NULL, NULL, NULL};
    gradients[2] = gradient;
    CHECK_OK(sing_optimizer_set_gradients(optimizer, gradients, 3));
  }
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK_NEAR(first[0], -0.5 * unit, kFloatTolerance);
  CHECK_NEAR(second[0], -0.25 * unit, kFloatTolerance);
  CHECK_NEAR(third[0], -0.125, kFloatTolerance);
  CHECK_FAILS(sing_optimizer_set_option(optimizer, 0, "rule", "adamw"), SING_INVALID_ARGUMENT,
              "cannot change");
  sing_optimizer_destroy(optimizer);
}

static void test_low_precision_copy(void) {
  float weight[2] = {0, 0};
  uint16_t copy[2] = {1, 1};
  const uint16_t gradient[2] = {0x4040, 0x3f80}; /* bfloat16 3 and 1 */
  sing_optimizer* optimizer = NULL;
  sing_options* options = make_options("sgd", "1.5");
  sing_parameter parameter = make_parameter("weight", weight, kOneRowOfTwo, 2);
  CHECK_OK(sing_options_set(options, "normalize", "off"));
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  sing_options_destroy(options);
  parameter.gradient = gradient;
  parameter.gradient_dtype = SING_BFLOAT16;
  parameter.low_precision_copy = copy;
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK(weight[0] == -1.5F && weight[1] == 1.5F);
  CHECK(copy[0] == 0xbfc0 && copy[1] == 0x3fc0); /* bfloat16 of -1.5 and 1.5 */
  sing_optimizer_destroy(optimizer);
}

static sing_optimizer* make_adahessian(float* values, const float* gradient) {
  sing_optimizer* optimizer = NULL;
  sing_options* options = make_options("adahessian", "0.125");
  sing_parameter parameter = make_parameter("weight", values, kOneRowOfTwo, 2);
  parameter.gradient = gradient;
  CHECK_OK(sing_options_set(options, "centralize", "false"));
  CHECK_OK(sing_options_set(options, "normalize", "off"));
  CHECK_OK(sing_options_set(options, "lookahead", "false"));
  CHECK_OK(sing_options_set(options, "epsilon", "0"));
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  sing_options_destroy(options);
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  return optimizer;
}

/* The first step of AdaHessian is 0.125 g / |D|: (3, 4) over (2, -8) gives 0.1875 and 0.0625, and
 * over itself 0.125 each. */
static void test_curvature(void) {
  const float gradient[2] = {3, 4};
  const float curvature[2] = {2, -8};
  float with[2] = {1, 1};
  float without[2] = {1, 1};
  sing_optimizer* first = make_adahessian(with, gradient);
  sing_optimizer* second = make_adahessian(without, gradient);
  CHECK_OK(sing_optimizer_set_curvature(first, 0, curvature));
  CHECK_OK(sing_optimizer_step(first, 1));
  CHECK_NEAR(with[0], 1 - 0.1875, kFloatTolerance);
  CHECK_NEAR(with[1], 1 - 0.0625, kFloatTolerance);
  CHECK_OK(sing_optimizer_set_curvature(second, 0, curvature));
  CHECK_OK(sing_optimizer_set_curvature(second, 0, NULL));
  CHECK_OK(sing_optimizer_step(second, 1));
  CHECK_NEAR(without[0], 1 - 0.125, kFloatTolerance);
  CHECK_NEAR(without[1], 1 - 0.125, kFloatTolerance);
  sing_optimizer_destroy(first);
  sing_optimizer_destroy(second);
}

static void test_non_finite_policies(void) {
  const float gradient[2] = {NAN, 1};
  float weight[2] = {1, 1};
  sing_counts counts;
  sing_optimizer* optimizer = make_sgd(weight, gradient, NULL);
  memset(&counts, 0, sizeof counts);
  counts.struct_size = sizeof counts;
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK_OK(sing_optimizer_counts(optimizer, &counts));
  CHECK(counts.skipped_tensors == 1 && counts.skipped_steps == 0);
  CHECK(weight[0] == 1 && weight[1] == 1);
  sing_optimizer_destroy(optimizer);
  {
    sing_options* options = make_options("sgd", "0.5");
    sing_parameter parameter = make_parameter("culprit", weight, kOneRowOfTwo, 2);
    parameter.gradient = gradient;
    CHECK_OK(sing_options_set(options, "non_finite", "throw"));
    CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
    CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
    CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_NON_FINITE, "'culprit'");
    CHECK(weight[0] == 1 && weight[1] == 1);
    sing_optimizer_destroy(optimizer);
    sing_options_destroy(options);
  }
}

/* Compares two optimizers of the same kind: one runs without a break, the other is saved and loaded
 * in the middle of a LookAhead period. */
static void test_save_and_load(const char* folder) {
  float straight[2] = {1, 2};
  float resumed[2] = {1, 2};
  const float gradient[2] = {3, 1};
  char path[4096];
  FILE* file;
  int i;
  sing_parameter parameter = make_parameter("weight", straight, kOneRowOfTwo, 2);
  sing_optimizer *first = NULL, *second = NULL;
  CHECK(snprintf(path, sizeof path, "%s/c_api_test.safetensors", folder) < (int)sizeof path);
  parameter.gradient = gradient;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &first));
  CHECK_OK(sing_optimizer_add_group(first, &parameter, 1, NULL, NULL));
  for (i = 0; i < 3; ++i) {
    CHECK_OK(sing_optimizer_step(first, 1));
  }
  CHECK_OK(sing_optimizer_save(first, path));
  memcpy(resumed, straight, sizeof resumed);
  parameter.data = resumed;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &second));
  CHECK_OK(sing_optimizer_add_group(second, &parameter, 1, NULL, NULL));
  CHECK_OK(sing_optimizer_load(second, path));
  for (i = 0; i < 4; ++i) {
    CHECK_OK(sing_optimizer_step(first, 1));
    CHECK_OK(sing_optimizer_step(second, 1));
  }
  CHECK(memcmp(straight, resumed, sizeof resumed) == 0);

  file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK(fputs("no state file", file) >= 0 && fclose(file) == 0);
  CHECK(sing_optimizer_load(second, path) == SING_FILE_ERROR);
  CHECK(strlen(sing_last_error()) > 0);
  CHECK(remove(path) == 0);
  CHECK(sing_optimizer_load(second, path) == SING_FILE_ERROR);
  CHECK_FAILS(sing_optimizer_load(second, NULL), SING_INVALID_ARGUMENT, "null");
  CHECK_FAILS(sing_optimizer_save(second, NULL), SING_INVALID_ARGUMENT, "null");
  CHECK_OK(sing_optimizer_step(first, 1));
  CHECK_OK(sing_optimizer_step(second, 1));
  CHECK(memcmp(straight, resumed, sizeof resumed) == 0);
  sing_optimizer_destroy(first);
  sing_optimizer_destroy(second);
}

static void test_slow_weights(void) {
  float weight[2] = {1, 2};
  float fast[2];
  const float gradient[2] = {3, 1};
  sing_optimizer* optimizer = NULL;
  sing_parameter parameter = make_parameter("weight", weight, kOneRowOfTwo, 2);
  parameter.gradient = gradient;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  memcpy(fast, weight, sizeof fast);
  CHECK(fast[0] != 1);
  CHECK_OK(sing_optimizer_use_slow_weights(optimizer));
  CHECK(weight[0] == 1 && weight[1] == 2);
  CHECK_FAILS(sing_optimizer_step(optimizer, 1), SING_INVALID_ARGUMENT, "slow weights");
  CHECK_OK(sing_optimizer_use_fast_weights(optimizer));
  CHECK(memcmp(fast, weight, sizeof fast) == 0);
  sing_optimizer_destroy(optimizer);
}

static void* fail_in_a_thread(void* seen) {
  *(int*)seen = strlen(sing_last_error()) == 0 &&
                sing_optimizer_step(NULL, 1) == SING_INVALID_ARGUMENT &&
                strstr(sing_last_error(), "optimizer_step") != NULL;
  return NULL;
}

static void test_last_error_belongs_to_its_thread(void) {
  pthread_t thread;
  int thread_saw_its_own = 0;
  CHECK_FAILS(sing_options_create(NULL), SING_INVALID_ARGUMENT, "options_create");
  CHECK(pthread_create(&thread, NULL, fail_in_a_thread, &thread_saw_its_own) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(thread_saw_its_own);
  CHECK(strstr(sing_last_error(), "options_create") != NULL);
}

int main(int argument_count, char** arguments) {
  CHECK(argument_count == 2);
  CHECK(strlen(sing_last_error()) == 0);
  test_sgd_step_by_hand();
  test_bfloat16_state();
  test_shard();
  test_matrix_in_parts();
  test_default_step_by_hand();
  test_groups_override_defaults();
  test_low_precision_copy();
  test_curvature();
  test_non_finite_policies();
  test_save_and_load(arguments[1]);
  test_slow_weights();
  test_last_error_belongs_to_its_thread();
  return 0;
}
