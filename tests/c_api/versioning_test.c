/* Checks callers with older and newer headers, the lists that bindings read, schedules and
 * executors. */
#include "tests/c_api/check.h"

static const int64_t shape[2] = {1, 2};
static const float gradient[2] = {3, 1};

/* sing_parameter as declared by a header without its last four fields. */
typedef struct older_parameter {
  size_t struct_size;
  const char* name;
  void* data;
  const int64_t* shape;
  int32_t rank;
  sing_dtype dtype;
} older_parameter;

/* sing_parameter as declared by a header with one more field. */
typedef struct newer_parameter {
  sing_parameter known;
  int64_t added;
} newer_parameter;

static void test_older_parameters(void) {
  float weight[4] = {1, 1, 1, 1};
  const void* gradients[2];
  const char* name = NULL;
  older_parameter parameters[2];
  sing_optimizer* optimizer = NULL;
  memset(parameters, 0, sizeof parameters);
  parameters[0].struct_size = parameters[1].struct_size = sizeof(older_parameter);
  parameters[0].name = "first";
  parameters[1].name = "second";
  parameters[0].data = weight;
  parameters[1].data = weight + 2;
  parameters[0].shape = parameters[1].shape = shape;
  parameters[0].rank = parameters[1].rank = 2;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, (const sing_parameter*)parameters, 2, NULL, NULL));
  CHECK_OK(sing_optimizer_parameter_name(optimizer, 1, &name));
  CHECK(strcmp(name, "second") == 0);
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK(weight[0] == 1 && weight[3] == 1); /* the missing field defaults to no gradient */
  gradients[0] = gradients[1] = gradient;
  CHECK_OK(sing_optimizer_set_gradients(optimizer, gradients, 2));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK_NEAR(weight[0], 0.995, 4e-7);
  CHECK_NEAR(weight[3], 1.005, 4e-7);
  sing_optimizer_destroy(optimizer);
}

static void test_newer_parameters(void) {
  float weight[4] = {1, 1, 1, 1};
  newer_parameter parameters[2];
  sing_optimizer* optimizer = NULL;
  const sing_parameter* given = &parameters[0].known;
  size_t count = 0;
  int i;
  memset(parameters, 0, sizeof parameters);
  for (i = 0; i < 2; ++i) {
    parameters[i].known.struct_size = sizeof(newer_parameter);
    parameters[i].known.data = weight + 2 * i;
    parameters[i].known.gradient = gradient;
    parameters[i].known.shape = shape;
    parameters[i].known.rank = 2;
  }
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  parameters[1].added = 1;
  CHECK_FAILS(sing_optimizer_add_group(optimizer, given, 2, NULL, NULL), SING_INVALID_ARGUMENT,
              "parameter 1");
  CHECK_OK(sing_optimizer_parameter_count(optimizer, &count));
  CHECK(count == 0);
  parameters[1].added = 0;
  CHECK_OK(sing_optimizer_add_group(optimizer, given, 2, NULL, NULL));
  CHECK_OK(sing_optimizer_step(optimizer, 1));
  CHECK_NEAR(weight[0], 0.995, 4e-7);
  CHECK_NEAR(weight[3], 1.005, 4e-7);
  sing_optimizer_destroy(optimizer);
}

static void test_struct_sizes_out_of_range(void) {
  float weight[2] = {1, 1};
  const size_t wrong[6] = {
      0,    sizeof(size_t), sizeof(older_parameter) - 8, sizeof(older_parameter) + 1,
      1032, (size_t)1 << 40};
  sing_optimizer* optimizer = NULL;
  sing_parameter parameter;
  sing_backend backend;
  sing_counts counts;
  int i;
  memset(&parameter, 0, sizeof parameter);
  memset(&backend, 0, sizeof backend);
  memset(&counts, 0, sizeof counts);
  parameter.data = weight;
  parameter.shape = shape;
  parameter.rank = 2;
  CHECK_FAILS(sing_optimizer_create(NULL, &backend, &optimizer), SING_INVALID_ARGUMENT,
              "struct_size");
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  for (i = 0; i < 6; ++i) {
    parameter.struct_size = wrong[i];
    CHECK_FAILS(sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL),
                SING_INVALID_ARGUMENT, "struct_size");
  }
  CHECK_FAILS(sing_optimizer_counts(optimizer, &counts), SING_INVALID_ARGUMENT, "struct_size");
  sing_optimizer_destroy(optimizer);
}

/* The library writes no byte past an older struct and zeros the fields that a newer one added. */
static void test_filled_structs(void) {
  struct {
    size_t struct_size;
    const char* name;
    const char* help;
    const char* default_text;
    const char* after; /* `kind`, which an older header lacks */
  } older;
  struct {
    sing_counts known;
    int64_t added;
  } newer;
  sing_optimizer* optimizer = NULL;
  static const char kSentinel[] = "untouched";
  memset(&older, 0, sizeof older);
  older.struct_size = offsetof(sing_option_info, kind);
  older.after = kSentinel;
  CHECK_OK(sing_option_describe(NULL, 0, (sing_option_info*)(void*)&older));
  CHECK(strcmp(older.name, "rule") == 0 && strcmp(older.default_text, "adamw") == 0);
  CHECK(older.struct_size == offsetof(sing_option_info, kind) && older.after == kSentinel);

  memset(&newer, 0x55, sizeof newer);
  newer.known.struct_size = sizeof newer;
  CHECK_OK(sing_optimizer_create(NULL, NULL, &optimizer));
  CHECK_OK(sing_optimizer_counts(optimizer, &newer.known));
  CHECK(newer.known.struct_size == sizeof newer);
  CHECK(newer.known.skipped_steps == 0 && newer.known.skipped_tensors == 0 && newer.added == 0);
  sing_optimizer_destroy(optimizer);
}

/* Every listed default can be set, and an optimizer then reports it. */
static void check_rule_listing(const char* rule) {
  size_t count = 0, i;
  int has_learning_rate = 0;
  sing_options* options = NULL;
  sing_optimizer* optimizer = NULL;
  sing_option_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK_OK(sing_options_create(&options));
  CHECK_OK(sing_option_count(rule, &count));
  for (i = 0; i < count; ++i) {
    CHECK_OK(sing_option_describe(rule, i, &info));
    CHECK(strlen(info.help) > 0);
    CHECK_OK(sing_options_set(options, info.name, info.default_text));
    has_learning_rate = has_learning_rate || strcmp(info.name, "learning_rate") == 0;
  }
  CHECK(has_learning_rate);
  CHECK_OK(sing_optimizer_create(options, NULL, &optimizer));
  CHECK_OK(sing_optimizer_add_group(optimizer, NULL, 0, NULL, NULL));
  for (i = 0; i < count; ++i) {
    const char* text = NULL;
    CHECK_OK(sing_option_describe(rule, i, &info));
    CHECK_OK(sing_optimizer_option(optimizer, 0, info.name, &text));
    CHECK(strcmp(text, info.default_text) == 0);
  }
  sing_optimizer_destroy(optimizer);
  sing_options_destroy(options);
}

static void test_listings(void) {
  size_t i, count = 0;
  sing_option_info info;
  const char* name = NULL;
  int saw_adamw = 0, saw_nvlamb = 0;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK(sing_rule_count() >= 4);
  for (i = 0; i < sing_rule_count(); ++i) {
    CHECK_OK(sing_rule_name(i, &name));
    saw_adamw = saw_adamw || strcmp(name, "adamw") == 0;
    saw_nvlamb = saw_nvlamb || strcmp(name, "nvlamb") == 0;
    check_rule_listing(name);
  }
  CHECK(saw_adamw);
  CHECK(saw_nvlamb);
  check_rule_listing(NULL);
  CHECK(sing_schedule_count() == 6);
  CHECK_OK(sing_schedule_name(0, &name));
  CHECK(strcmp(name, "constant") == 0);
  CHECK_OK(sing_schedule_option_count("warmup_cosine", &count));
  CHECK(count == 3);
  CHECK_OK(sing_schedule_option_describe("warmup_cosine", 2, &info));
  CHECK(strcmp(info.name, "final_factor") == 0 && strcmp(info.default_text, "0") == 0);
  CHECK(strcmp(info.kind, "number") == 0);
}

static void test_schedules(void) {
  double factor = -1;
  sing_schedule* schedule = NULL;
  CHECK_FAILS(sing_schedule_create("warmup_cosin", &schedule), SING_INVALID_ARGUMENT,
              "'warmup_cosine'");
  CHECK_OK(sing_schedule_create("warmup_cosine", &schedule));
  CHECK_FAILS(sing_schedule_factor(schedule, 0, &factor), SING_INVALID_ARGUMENT, "total_steps");
  CHECK_FAILS(sing_schedule_set(schedule, "total", "12"), SING_INVALID_ARGUMENT, "'total'");
  CHECK_FAILS(sing_schedule_set(schedule, "total_steps", "dozen"), SING_INVALID_ARGUMENT,
              "'dozen'");
  CHECK_FAILS(sing_schedule_set(schedule, NULL, "1"), SING_INVALID_ARGUMENT, "null");
  CHECK_FAILS(sing_schedule_set(schedule, "total_steps", NULL), SING_INVALID_ARGUMENT, "null");
  CHECK_OK(sing_schedule_set(schedule, "total_steps", "12"));
  CHECK_OK(sing_schedule_set(schedule, "warmup_steps", "4"));
  CHECK_OK(sing_schedule_factor(schedule, 0, &factor));
  CHECK(factor == 0.25);
  CHECK_OK(sing_schedule_factor(schedule, 8, &factor));
  CHECK_NEAR(factor, 0.5, 1e-15);
  CHECK_OK(sing_schedule_factor(schedule, INT64_MAX, &factor));
  CHECK(factor == 0);
  CHECK_FAILS(sing_schedule_factor(schedule, -1, &factor), SING_INVALID_ARGUMENT, "-1");
  CHECK_FAILS(sing_schedule_factor(schedule, 0, NULL), SING_INVALID_ARGUMENT, "null");
  sing_schedule_destroy(schedule);
}

typedef struct executor_record {
  int calls;
  int tasks;
  int leave_out; /* tasks at the end that are not run */
  int beyond;    /* also runs a task that does not exist */
  int twice;     /* also runs the first task again */
} executor_record;

static void run_backwards(void* context, int count, sing_task task, void* argument) {
  executor_record* record = (executor_record*)context;
  int i;
  record->calls += 1;
  record->tasks += count;
  for (i = count - 1 - record->leave_out; i >= 0; --i) {
    task(argument, i);
  }
  if (record->beyond) {
    task(argument, count);
  }
  if (record->twice) {
    task(argument, 0);
  }
}

/* The caller's executor runs the step, with the same bits as the library's own threads. */
static void test_executor(void) {
  enum { kSize = 50000 };
  static float own[kSize], called[kSize], slopes[kSize];
  const int64_t size[1] = {kSize};
  executor_record record = {0, 0, 0, 0, 0};
  sing_backend backend;
  sing_parameter parameter;
  sing_optimizer *with_threads = NULL, *with_executor = NULL;
  int i;
  for (i = 0; i < kSize; ++i) {
    slopes[i] = (float)(i % 17) - 5;
  }
  memset(&backend, 0, sizeof backend);
  backend.struct_size = sizeof backend;
  backend.threads = 3;
  memset(&parameter, 0, sizeof parameter);
  parameter.struct_size = sizeof parameter;
  parameter.shape = size;
  parameter.rank = 1;
  parameter.gradient = slopes;
  parameter.data = own;
  CHECK_OK(sing_optimizer_create(NULL, &backend, &with_threads));
  CHECK_OK(sing_optimizer_add_group(with_threads, &parameter, 1, NULL, NULL));
  backend.executor = run_backwards;
  backend.executor_context = &record;
  parameter.data = called;
  CHECK_OK(sing_optimizer_create(NULL, &backend, &with_executor));
  CHECK_OK(sing_optimizer_add_group(with_executor, &parameter, 1, NULL, NULL));
  for (i = 0; i < 6; ++i) {
    CHECK_OK(sing_optimizer_step(with_threads, 1));
    CHECK_OK(sing_optimizer_step(with_executor, 1));
  }
  CHECK(record.calls >= 6 && record.tasks >= record.calls);
  CHECK(own[1] != 0);
  CHECK(memcmp(own, called, sizeof own) == 0);

  /* A faulty executor is reported, but the step and its counters are complete. */
  record.leave_out = 1;
  CHECK_FAILS(sing_optimizer_step(with_executor, 1), SING_INTERNAL_ERROR, "[executor]");
  record.leave_out = 0;
  record.beyond = 1;
  CHECK_FAILS(sing_optimizer_step(with_executor, 1), SING_INTERNAL_ERROR, "[executor]");
  record.beyond = 0;
  record.twice = 1;
  CHECK_FAILS(sing_optimizer_step(with_executor, 1), SING_INTERNAL_ERROR, "once, got it twice");
  record.twice = 0;
  CHECK_OK(sing_optimizer_step(with_executor, 1));
  for (i = 0; i < 4; ++i) {
    CHECK_OK(sing_optimizer_step(with_threads, 1));
  }
  CHECK(memcmp(own, called, sizeof own) == 0);
  sing_optimizer_destroy(with_threads);
  sing_optimizer_destroy(with_executor);
}

/* The header states the project's version by hand; the build passes the real one. */
static void test_version(void) {
  CHECK(strcmp(sing_version(), SING_PROJECT_VERSION) == 0);
  CHECK(sing_version_number() ==
        10000 * SING_VERSION_MAJOR + 100 * SING_VERSION_MINOR + SING_VERSION_PATCH);
}

int main(void) {
  test_older_parameters();
  test_newer_parameters();
  test_struct_sizes_out_of_range();
  test_filled_structs();
  test_listings();
  test_schedules();
  test_executor();
  test_version();
  return 0;
}
