/* The C interface of SING: optimizers over raw pointers for programs in C and in languages that
 * call C.
 *
 * Every call that can fail returns a sing_status; sing_last_error() then says what was wanted and
 * what was given. A failed call has changed nothing, save a step that ends in SING_INTERNAL_ERROR
 * or SING_CUDA_ERROR. No exception leaves the library. One handle may be used by one thread at a
 * time; different handles are independent.
 *
 * Structs begin with their own size, set by the caller: p.struct_size = sizeof p. A shorter struct,
 * as an older version of this header has it, is accepted and the missing fields take their
 * defaults. A longer one, as a newer version has it, is accepted if all it adds is zero, and
 * refused otherwise. Zero is the default of every field. In an array of structs all have the same
 * size. Structs that the library fills in get as much as fits, and zero in what only the caller
 * knows.
 */
#ifndef SING_C_API_SING_H
#define SING_C_API_SING_H

#include <stddef.h>
#include <stdint.h>

#define SING_VERSION_MAJOR 0
#define SING_VERSION_MINOR 1
#define SING_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sing_status {
  SING_OK = 0,
  SING_INVALID_ARGUMENT = 1, /* a mistake of the caller */
  SING_NON_FINITE = 2,       /* a gradient under the policy non_finite=throw */
  SING_FILE_ERROR = 3,       /* a state file that cannot be read, written or understood */
  SING_CUDA_ERROR = 4,       /* the device, or a library built without CUDA */
  SING_OUT_OF_MEMORY = 5,
  SING_INTERNAL_ERROR = 6 /* none of the above */
} sing_status;

/* Element types of tensors. */
typedef int32_t sing_dtype;
enum {
  SING_DTYPE_DEFAULT = 0, /* what the field's comment says */
  SING_FLOAT32 = 1,
  SING_FLOAT64 = 2,
  SING_BFLOAT16 = 3,
  SING_FLOAT16 = 4
};

/* Where steps are carried out. */
typedef int32_t sing_backend_kind;
enum {
  SING_BACKEND_CPU = 0,
  SING_BACKEND_REFERENCE = 1, /* CPU, double precision, one element at a time: the oracle */
  SING_BACKEND_CUDA = 2
};

/* Instruction set of the CPU backend; one that the machine lacks is refused. */
typedef int32_t sing_instruction_set;
enum {
  SING_INSTRUCTION_SET_BEST = 0,
  SING_INSTRUCTION_SET_BASELINE = 1,
  SING_INSTRUCTION_SET_AVX2 = 2,
  SING_INSTRUCTION_SET_AVX512 = 3
};

/* The largest rank of a tensor. */
#define SING_MAX_RANK 64

/* In place of a group's index where all groups are meant. */
#define SING_ALL_GROUPS SIZE_MAX

typedef struct sing_optimizer sing_optimizer;
typedef struct sing_options sing_options;
typedef struct sing_schedule sing_schedule;

/* Runs task(argument, 0) ... task(argument, count - 1), each once, possibly at the same time, and
 * returns when all have returned. `context` is the backend's executor_context. */
typedef void (*sing_task)(void* argument, int index);
typedef void (*sing_executor)(void* context, int count, sing_task task, void* argument);

typedef struct sing_backend {
  size_t struct_size;
  sing_backend_kind kind;
  int32_t threads;                      /* CPU; 0: as many as the machine has cores */
  sing_executor executor;               /* CPU; null: the library's own threads */
  void* executor_context;               /* handed to the executor */
  sing_instruction_set instruction_set; /* CPU */
  int32_t device;                       /* CUDA device */
  void* stream;                         /* CUDA: a cudaStream_t; null: the default stream */
} sing_backend;

/* One tensor, in the backend's memory, dense, axis 0 outermost. The optimizer keeps the addresses
 * of data, gradient and low_precision_copy; name and shape are copied. The first six fields are
 * required. */
typedef struct sing_parameter {
  size_t struct_size;
  const char* name; /* key of its state in files; null: its index in the optimizer */
  void* data;
  const int64_t* shape; /* rank extents; null if the rank is 0 */
  int32_t rank;
  sing_dtype dtype;               /* default: float32 */
  const void* gradient;           /* null: none yet */
  void* low_precision_copy;       /* written by each step beside a float32 parameter; null: none */
  sing_dtype gradient_dtype;      /* default: as the parameter */
  sing_dtype low_precision_dtype; /* default: bfloat16 */
} sing_parameter;

/* What steps under a non_finite policy left out, since the optimizer was made or loaded. */
typedef struct sing_counts {
  size_t struct_size;
  int64_t skipped_steps;
  int64_t skipped_tensors;
} sing_counts;

/* One option; the texts live as long as the program. */
typedef struct sing_option_info {
  size_t struct_size;
  const char* name;
  const char* help;
  const char* default_text; /* what sing_options_set would be given */
  const char* kind;         /* "bool", "integer", "number" or "text"; a number may also be "none" */
} sing_option_info;

/* The message of this thread's last failed call, "" before any; valid until its next failed call.
 */
const char* sing_last_error(void);

/* Version of the library, as in "0.1.0", and as 10000 * major + 100 * minor + patch. */
const char* sing_version(void);
int32_t sing_version_number(void);

/* 1 if a CUDA backend can be made, else 0. */
int32_t sing_cuda_available(void);

/* Rules (host optimizers) by index; the names live as long as the program. */
size_t sing_rule_count(void);
sing_status sing_rule_name(size_t index, const char** name);

/* Options of an optimizer whose rule has this name, by index; null: the defaults of
 * sing_options_create. */
sing_status sing_option_count(const char* rule, size_t* count);
sing_status sing_option_describe(const char* rule, size_t index, sing_option_info* info);

/* Named options for an optimizer or a group; those never set keep their defaults, which for an
 * optimizer are the paper's SING: AdamW with softplus on standardized gradients, LookAhead. */
sing_status sing_options_create(sing_options** options);
void sing_options_destroy(sing_options* options);

/* Sets an option from text, as in ("learning_rate", "0.05"). Applied in order: "rule" resets the
 * rule's own options. Unknown names and unreadable values are refused here, values out of bounds
 * where used. */
sing_status sing_options_set(sing_options* options, const char* name, const char* text);

/* An optimizer without parameters. Null options: the defaults. Null backend: CPU, all cores. */
sing_status sing_optimizer_create(const sing_options* options, const sing_backend* backend,
                                  sing_optimizer** optimizer);
void sing_optimizer_destroy(sing_optimizer* optimizer);

/* Adds parameters whose options are the optimizer's, less what `overrides` (may be null) sets. A
 * tensor listed twice is one parameter. `group` (may be null) receives the group's index. */
sing_status sing_optimizer_add_group(sing_optimizer* optimizer, const sing_parameter* parameters,
                                     size_t count, const sing_options* overrides, size_t* group);

/* Numbers of groups and of parameters; parameters count on from group to group. */
sing_status sing_optimizer_group_count(const sing_optimizer* optimizer, size_t* count);
sing_status sing_optimizer_parameter_count(const sing_optimizer* optimizer, size_t* count);

/* A parameter's name from its index, valid until a group is added, and its index from its name. */
sing_status sing_optimizer_parameter_name(const sing_optimizer* optimizer, size_t parameter,
                                          const char** name);
sing_status sing_optimizer_find_parameter(const sing_optimizer* optimizer, const char* name,
                                          size_t* parameter);

/* The gradient of the next step; null: the parameter sits it out. Default dtype: as it was. */
sing_status sing_optimizer_set_gradient(sing_optimizer* optimizer, size_t parameter,
                                        const void* gradient, sing_dtype dtype);

/* The gradients of all parameters, in order; `count` must be their number. */
sing_status sing_optimizer_set_gradients(sing_optimizer* optimizer, const void* const* gradients,
                                         size_t count);

/* An estimate of the Hessian's diagonal for the next steps, of the gradient's type and layout, for
 * rules that take it (others refuse it); null: the gradient takes its place. */
sing_status sing_optimizer_set_curvature(sing_optimizer* optimizer, size_t parameter,
                                         const void* curvature);

/* Updates every parameter that has a gradient. `loss_scale`: what the gradients were multiplied by,
 * or 1. */
sing_status sing_optimizer_step(sing_optimizer* optimizer, double loss_scale);

/* The learning rate of a group, before the factor; `group` may be SING_ALL_GROUPS when setting. */
sing_status sing_optimizer_learning_rate(const sing_optimizer* optimizer, size_t group,
                                         double* learning_rate);
sing_status sing_optimizer_set_learning_rate(sing_optimizer* optimizer, size_t group,
                                             double learning_rate);

/* Multiplies the learning rate of every group from the next step on; what a schedule gives. */
sing_status sing_optimizer_set_learning_rate_factor(sing_optimizer* optimizer, double factor);

/* An option of a group as text; `text` is valid until this thread's next call of this function. */
sing_status sing_optimizer_option(const sing_optimizer* optimizer, size_t group, const char* name,
                                  const char** text);

/* Changes an option of a group; the rule and what decides which state exists cannot change. */
sing_status sing_optimizer_set_option(sing_optimizer* optimizer, size_t group, const char* name,
                                      const char* text);

/* Norm of each parameter's last gradient, before standardizing, loss scale removed; `count` must be
 * the number of parameters. */
sing_status sing_optimizer_gradient_norms(const sing_optimizer* optimizer, double* norms,
                                          size_t count);

/* Counts of what was skipped. With CUDA this is also where a pending SING_NON_FINITE arrives. */
sing_status sing_optimizer_counts(sing_optimizer* optimizer, sing_counts* counts);

/* Bytes of optimizer state that exist by now. */
sing_status sing_optimizer_state_bytes(const sing_optimizer* optimizer, size_t* bytes);

/* LookAhead's slow weights, or the average that a rule keeps, take the place of the parameters, for
 * evaluation, until the second call gives back exactly what was there. No step in between. */
sing_status sing_optimizer_use_slow_weights(sing_optimizer* optimizer);
sing_status sing_optimizer_use_fast_weights(sing_optimizer* optimizer);

/* Options, counters and state to a safetensors file, written whole or not at all, and back. The
 * parameters themselves are the caller's to keep. */
sing_status sing_optimizer_save(const sing_optimizer* optimizer, const char* path);
sing_status sing_optimizer_load(sing_optimizer* optimizer, const char* path);

/* Schedules by index, and the options of the one with this name; the texts live as long as the
 * program. */
size_t sing_schedule_count(void);
sing_status sing_schedule_name(size_t index, const char** name);
sing_status sing_schedule_option_count(const char* schedule, size_t* count);
sing_status sing_schedule_option_describe(const char* schedule, size_t index,
                                          sing_option_info* info);

/* A learning-rate schedule by name, and its options from text, as in ("total_steps", "1000"). */
sing_status sing_schedule_create(const char* name, sing_schedule** schedule);
void sing_schedule_destroy(sing_schedule* schedule);
sing_status sing_schedule_set(sing_schedule* schedule, const char* name, const char* text);

/* What the learning rate of a step, counted from 0, is to be multiplied by. Refuses a schedule
 * whose options contradict or still miss a value. */
sing_status sing_schedule_factor(const sing_schedule* schedule, int64_t step, double* factor);

#ifdef __cplusplus
}
#endif

#endif
