/* Compiles the C header alone in a strict C99 program: compiling is the test. */
#include "sing/c_api/sing.h"

sing_status (*const step_of_the_c_interface)(sing_optimizer*, double) = &sing_optimizer_step;
