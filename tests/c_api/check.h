/* Defines the checks of the C tests: active in every build type, the first failure ends the program
 * with 1. */
#ifndef SING_TESTS_C_API_CHECK_H
#define SING_TESTS_C_API_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sing/c_api/sing.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: wanted %s\n", __FILE__, __LINE__, #condition);   \
      fprintf(stderr, "last error of the library: '%s'\n", sing_last_error()); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#define CHECK_OK(call) CHECK((call) == SING_OK)

#define CHECK_NEAR(given, wanted, tolerance)                                               \
  do {                                                                                     \
    const double given_value = (given);                                                    \
    const double wanted_value = (wanted);                                                  \
    if (!(fabs(given_value - wanted_value) <= (tolerance))) {                              \
      fprintf(stderr, "%s:%d: wanted %s = %.17g, got %.17g\n", __FILE__, __LINE__, #given, \
              wanted_value, given_value);                                                  \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

/* The call must fail with this status and a message that contains `part`. */
#define CHECK_FAILS(call, status, part)                                                            \
  do {                                                                                             \
    CHECK((call) == (status));                                                                     \
    if (strstr(sing_last_error(), (part)) == NULL) {                                               \
      fprintf(stderr, "%s:%d: wanted a message with '%s', got '%s'\n", __FILE__, __LINE__, (part), \
              sing_last_error());                                                                  \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#endif
