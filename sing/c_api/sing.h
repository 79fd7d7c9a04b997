/* The C interface of SING: optimizers over raw pointers, for programs in C and in languages that
 * call C.
 *
 * Every call that can fail returns a sing_status; sing_last_error() then returns a message that
 * says what the call wanted and what it got. A failed call changes nothing, except a step that ends
 * with SING_INTERNAL_ERROR or SING_CUDA_ERROR. No exception leaves the library. One thread at a
 * time may use a handle; different handles are independent.
 *
 * Structs begin with their size, which the caller sets: p.struct_size = sizeof p. A shorter struct,
 * from an older version of this header, is accepted, and the missing fields have their defaults. A
 * longer struct, from a newer version, is accepted if its additional bytes are zero. Zero is the
 * default of every field. All structs of an array have the same size. The library fills in the
 * fields it knows of a caller's struct, and sets the others to zero.
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
  SING_INVALID_ARGUMENT = 1, /* an error of the caller */
  SING_NON_FINITE = 2,       /* a non-finite gradient under the policy non_finite=throw */
  SING_FILE_ERROR = 3,       /* a state file that cannot be read or written, or is not valid */
  SING_CUDA_ERROR = 4,       /* an error of the device, or no CUDA in this build */
  SING_OUT_OF_MEMORY = 5,
  SING_INTERNAL_ERROR = 6 /* any other error */
} sing_status;

/* Element types of tensors. */
typedef int32_t sing_dtype;
enum {
  SING_DTYPE_DEFAULT = 0, /* as the field's comment says */
  SING_FLOAT32 = 1,
  SING_FLOAT64 = 2,
  SING_BFLOAT16 = 3,
  SING_FLOAT16 = 4
};

/* The backend that runs the steps. */
typedef int32_t sing_backend_kind;
enum {
  SING_BACKEND_CPU = 0,
  SING_BACKEND_REFERENCE = 1, /* CPU, double precision, one element at a time; for tests */
  SING_BACKEND_CUDA = 2
};

/* Instruction set of the CPU backend. One that the machine does not have is an error. */
typedef int32_t sing_instruction_set;
enum {
  SING_INSTRUCTION_SET_BEST = 0,
  SING_INSTRUCTION_SET_BASELINE = 1,
  SING_INSTRUCTION_SET_AVX2 = 2,
  SING_INSTRUCTION_SET_AVX512 = 3
};

/* The highest rank of a tensor. */
#define SING_MAX_RANK 64

/* Stands for all groups in place of a group's index. */
#define SING_ALL_GROUPS SIZE_MAX

typedef struct sing_optimizer sing_optimizer;
typedef struct sing_options sing_options;
typedef struct sing_schedule sing_schedule;

/* Runs task(argument, 0) ... task(argument, count - 1), each once, possibly concurrently, and
 * returns when all have returned. `context` is the backend's executor_context. If tasks were left
 * out or run twice, the thread that called the step completes it, and the step returns
 * SING_INTERNAL_ERROR. */
typedef void (*sing_task)(void* argument, int index);
typedef void (*sing_executor)(void* context, int count, sing_task task, void* argument);

typedef struct sing_backend {
  size_t struct_size;
  sing_backend_kind kind;
  int32_t threads;                      /* CPU; 0 uses all cores of the machine */
  sing_executor executor;               /* CPU; null uses the library's own threads */
  void* executor_context;               /* passed to the executor */
  sing_instruction_set instruction_set; /* CPU */
  int32_t device;                       /* CUDA device */
  void* stream;                         /* CUDA: a cudaStream_t; null is the default stream */
} sing_backend;

/* Says that a parameter is a part of a tensor that several processes hold together: a block, which
 * may be empty. All fields but sum_group are required for a part that is not the whole. */
typedef struct sing_shard {
  size_t struct_size;
  const int64_t* whole_shape; /* `rank` extents */
  const int64_t* offset;      /* of the part's first element, along each of the `rank` axes */
  const int32_t* cut_axes;    /* the same for all parts, whatever their extents are */
  int32_t cut_axis_count;
  int32_t sum_group; /* names the processes whose parts together contain every element once */
  /* The parts of all processes of sum_group, `rank` numbers for each, and the place of this process
   * among them. Only rules that make whole matrices orthogonal need them. */
  const int64_t* part_offsets;
  const int64_t* part_shapes;
  int32_t part_count;
  int32_t own_part;
} sing_shard;

/* Replaces the values by their sums over the processes of a sum group, each of which calls it with
 * as many values. Returns 0; any other value gives the step up with SING_INTERNAL_ERROR. */
typedef int32_t (*sing_sum_shards)(void* context, double* values, size_t count, int32_t sum_group);

/* The same for `count` values in the memory of a CUDA device: it enqueues the sum on `stream`, a
 * cudaStream_t, and waits for nothing. */
typedef int32_t (*sing_sum_shards_on_device)(void* context, double* values, size_t count,
                                             int32_t sum_group, void* stream);

/* Exchanges messages between the `processes` processes of a sum group, in the order of the parts of
 * their shards: sends sent_bytes[k] bytes to process k and receives received_bytes[k] bytes from
 * it. The messages lie one after the other. Returns 0; any other value gives the step up with
 * SING_INTERNAL_ERROR. */
typedef int32_t (*sing_exchange_parts)(void* context, const void* sent, const size_t* sent_bytes,
                                       void* received, const size_t* received_bytes,
                                       size_t processes, int32_t sum_group);

/* One dense tensor in the backend's memory, with axis 0 outermost. The optimizer keeps the
 * addresses of data, gradient and low_precision_copy, and copies name and shape. The first six
 * fields are required. */
typedef struct sing_parameter {
  size_t struct_size;
  const char* name; /* key of its state in files; if null, its index in the optimizer */
  void* data;
  const int64_t* shape; /* `rank` extents; null if the rank is 0 */
  int32_t rank;
  sing_dtype dtype; /* default: float32 */
  /* Null if there is none yet; the gradient of an empty part is any other address. */
  const void* gradient;
  void* low_precision_copy;  /* 16-bit copy of a float32 parameter, written by each step, or null */
  sing_dtype gradient_dtype; /* default: the parameter's type */
  sing_dtype low_precision_dtype; /* default: bfloat16 */
  const sing_shard* shard;        /* null for a whole tensor; CPU and reference backends */
} sing_parameter;

/* Steps and tensors that the non_finite policy skipped since the optimizer was created or loaded.
 */
typedef struct sing_counts {
  size_t struct_size;
  int64_t skipped_steps;
  int64_t skipped_tensors;
} sing_counts;

/* One option; the texts stay valid as long as the program runs. */
typedef struct sing_option_info {
  size_t struct_size;
  const char* name;
  const char* help;
  const char* default_text; /* as an argument of sing_options_set */
  const char* kind;         /* "bool", "integer", "number" or "text"; a number may also be "none" */
} sing_option_info;

/* The message of this thread's last failed call, "" before any; valid until its next failed call.
 */
const char* sing_last_error(void);

/* Version of the library, as in "0.1.0", and as 10000 * major + 100 * minor + patch. */
const char* sing_version(void);
int32_t sing_version_number(void);

/* 1 if a CUDA backend can be created, else 0. */
int32_t sing_cuda_available(void);

/* Rules (host optimizers) by index; the names stay valid as long as the program runs. */
size_t sing_rule_count(void);
sing_status sing_rule_name(size_t index, const char** name);

/* Options of an optimizer with this rule, by index; null stands for the defaults of
 * sing_options_create. */
sing_status sing_option_count(const char* rule, size_t* count);
sing_status sing_option_describe(const char* rule, size_t index, sing_option_info* info);

/* Named options for an optimizer or a group. Options that are not set keep their defaults, which
 * for an optimizer are the paper's SING: AdamW with softplus on standardized gradients, and
 * LookAhead. */
sing_status sing_options_create(sing_options** options);
void sing_options_destroy(sing_options* options);

/* Sets an option from text, for example ("learning_rate", "0.05"). Options are applied in order;
 * "rule" resets the rule's own options, and "nvlamb" sets clip_norm too. An unknown name and a
 * value that cannot be parsed are errors here, a value out of its bounds where the options are
 * used. */
sing_status sing_options_set(sing_options* options, const char* name, const char* text);

/* An optimizer without parameters. Null options are the defaults, a null backend is the CPU with
 * all cores. */
sing_status sing_optimizer_create(const sing_options* options, const sing_backend* backend,
                                  sing_optimizer** optimizer);
void sing_optimizer_destroy(sing_optimizer* optimizer);

/* Adds parameters as a group with the optimizer's options, changed by `overrides` (may be null). A
 * tensor that is listed twice is one parameter. `group` (may be null) receives the group's index.
 */
sing_status sing_optimizer_add_group(sing_optimizer* optimizer, const sing_parameter* parameters,
                                     size_t count, const sing_options* overrides, size_t* group);

/* Numbers of groups and of parameters; parameters are numbered across all groups. */
sing_status sing_optimizer_group_count(const sing_optimizer* optimizer, size_t* count);
sing_status sing_optimizer_parameter_count(const sing_optimizer* optimizer, size_t* count);

/* A parameter's name from its index, valid until a group is added, and its index from its name. */
sing_status sing_optimizer_parameter_name(const sing_optimizer* optimizer, size_t parameter,
                                          const char** name);
sing_status sing_optimizer_find_parameter(const sing_optimizer* optimizer, const char* name,
                                          size_t* parameter);

/* The gradient of the next step, which leaves out parameters whose gradient is null. The default
 * dtype is the present one. */
sing_status sing_optimizer_set_gradient(sing_optimizer* optimizer, size_t parameter,
                                        const void* gradient, sing_dtype dtype);

/* The gradients of all parameters, in order; `count` is the number of parameters. */
sing_status sing_optimizer_set_gradients(sing_optimizer* optimizer, const void* const* gradients,
                                         size_t count);

/* An estimate of the Hessian's diagonal for the next steps, of the gradient's type and layout, for
 * rules that take it; for other rules it is an error. Null uses the gradient instead. */
sing_status sing_optimizer_set_curvature(sing_optimizer* optimizer, size_t parameter,
                                         const void* curvature);

/* Sets the function that adds up the sums of shards. A step with a shard requires it; null removes
 * it. */
sing_status sing_optimizer_set_sum_shards(sing_optimizer* optimizer, sing_sum_shards sum_shards,
                                          void* context);

/* Sets the function that adds up the sums of shards on a CUDA device. An optimizer there requires
 * it instead of the function above. */
sing_status sing_optimizer_set_sum_shards_on_device(sing_optimizer* optimizer,
                                                    sing_sum_shards_on_device sum_shards,
                                                    void* context);

/* Sets the function that exchanges parts of matrices. A step requires it if a rule that makes
 * matrices orthogonal has a shard; null removes it. */
sing_status sing_optimizer_set_exchange_parts(sing_optimizer* optimizer,
                                              sing_exchange_parts exchange_parts, void* context);

/* Updates every parameter that has a gradient. `loss_scale` is the factor that the gradients were
 * multiplied by, or 1. */
sing_status sing_optimizer_step(sing_optimizer* optimizer, double loss_scale);

/* The learning rate of a group, before the factor; `group` may be SING_ALL_GROUPS when setting. */
sing_status sing_optimizer_learning_rate(const sing_optimizer* optimizer, size_t group,
                                         double* learning_rate);
sing_status sing_optimizer_set_learning_rate(sing_optimizer* optimizer, size_t group,
                                             double learning_rate);

/* A factor of every group's learning rate from the next step on, as a schedule gives it. */
sing_status sing_optimizer_set_learning_rate_factor(sing_optimizer* optimizer, double factor);

/* An option of a group as text; `text` is valid until this thread's next call of this function. */
sing_status sing_optimizer_option(const sing_optimizer* optimizer, size_t group, const char* name,
                                  const char** text);

/* Changes an option of a group. The rule, and options that decide which state exists, cannot
 * change.
 */
sing_status sing_optimizer_set_option(sing_optimizer* optimizer, size_t group, const char* name,
                                      const char* text);

/* Norm of each parameter's last gradient, before standardizing, loss scale removed; `count` is the
 * number of parameters. */
sing_status sing_optimizer_gradient_norms(const sing_optimizer* optimizer, double* norms,
                                          size_t count);

/* Counts of skipped steps and tensors. With CUDA, this call also returns a pending SING_NON_FINITE.
 */
sing_status sing_optimizer_counts(sing_optimizer* optimizer, sing_counts* counts);

/* Bytes of optimizer state that are allocated. */
sing_status sing_optimizer_state_bytes(const sing_optimizer* optimizer, size_t* bytes);

/* For evaluation, the first call replaces the parameters by the slow weights of LookAhead, or by
 * the average that a rule keeps; the second call restores the parameters exactly. No step may be
 * taken in between. */
sing_status sing_optimizer_use_slow_weights(sing_optimizer* optimizer);
sing_status sing_optimizer_use_fast_weights(sing_optimizer* optimizer);

/* Writes options, counters and state to a safetensors file, which is replaced as a whole or not at
 * all, and reads them. The file does not contain the parameters themselves. */
sing_status sing_optimizer_save(const sing_optimizer* optimizer, const char* path);
sing_status sing_optimizer_load(sing_optimizer* optimizer, const char* path);

/* Schedules by index, and the options of a schedule by its name; the texts stay valid as long as
 * the program runs. */
size_t sing_schedule_count(void);
sing_status sing_schedule_name(size_t index, const char** name);
sing_status sing_schedule_option_count(const char* schedule, size_t* count);
sing_status sing_schedule_option_describe(const char* schedule, size_t index,
                                          sing_option_info* info);

/* A learning-rate schedule by name, and its options from text, for example ("total_steps", "1000").
 */
sing_status sing_schedule_create(const char* name, sing_schedule** schedule);
void sing_schedule_destroy(sing_schedule* schedule);
sing_status sing_schedule_set(sing_schedule* schedule, const char* name, const char* text);

/* The factor of the learning rate in a step, counted from 0. A schedule whose options contradict
 * each other or lack a value is an error. */
sing_status sing_schedule_factor(const sing_schedule* schedule, int64_t step, double* factor);

#ifdef __cplusplus
}
#endif

#endif
