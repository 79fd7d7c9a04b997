// Compiles the C header alone in a strict C++11 program: compiling is the test.
#include "sing/c_api/sing.h"

extern sing_status (*const step_of_the_cxx_interface)(sing_optimizer*, double);
sing_status (*const step_of_the_cxx_interface)(sing_optimizer*, double) = &sing_optimizer_step;
