/* Uses the installed library from C: one SGD step on a standardized gradient, compared with the
 * step computed by hand. */
#include <sing/c_api/sing.h>
#include <stdio.h>
#include <string.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, sing_last_error());
  return 1;
}

static int is_close(float got, float wanted) {
  return got - wanted < 1e-6F && wanted - got < 1e-6F;
}

int main(void) {
  float weight[2] = {1.0F, 1.0F};
  const float gradient[2] = {3.0F, 1.0F};
  const int64_t shape[2] = {1, 2};
  sing_parameter parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.struct_size = sizeof parameter;
  parameter.name = "weight";
  parameter.data = weight;
  parameter.shape = shape;
  parameter.rank = 2;
  parameter.gradient = gradient;

  sing_options* options = NULL;
  sing_optimizer* optimizer = NULL;
  if (sing_options_create(&options) != SING_OK) return failed("options");
  if (sing_options_set(options, "rule", "sgd") != SING_OK) return failed("rule");
  if (sing_options_set(options, "learning_rate", "0.5") != SING_OK) return failed("learning_rate");
  if (sing_options_set(options, "lookahead", "false") != SING_OK) return failed("lookahead");
  if (sing_options_set(options, "learning_rat", "0.5") == SING_OK)
    return failed("a wrong name was taken");
  if (sing_optimizer_create(options, NULL, &optimizer) != SING_OK) return failed("create");
  if (sing_optimizer_add_group(optimizer, &parameter, 1, NULL, NULL) != SING_OK)
    return failed("group");
  if (sing_optimizer_step(optimizer, 1.0) != SING_OK) return failed("step");
  sing_optimizer_destroy(optimizer);
  sing_options_destroy(options);

  /* (3, 1) minus its row's mean 2 is (1, -1), with norm sqrt(2): the step is 0.5 / sqrt(2). */
  if (!is_close(weight[0], 1.0F - 0.35355339F) || !is_close(weight[1], 1.0F + 0.35355339F)) {
    printf("wanted 0.646447 1.353553, got %f %f\n", (double)weight[0], (double)weight[1]);
    return 1;
  }
  return 0;
}
