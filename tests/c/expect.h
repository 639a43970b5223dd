// Expectations of the programs in C: what fails is named with its line and the last error, and counted.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/c.h"

static int failures = 0;

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "line %d: %s (last error: %s)\n", line, what, posenc_last_error());
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)
#define EXPECT_ERROR(call, status, text)              \
  do {                                                \
    EXPECT((call) == (status));                       \
    EXPECT(strcmp(posenc_last_error(), (text)) == 0); \
  } while (0)

static int verdict(void) {
  if (failures == 0) puts("every expectation holds");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// [tokens, heads, channels], one after another.
static inline posenc_tensor heads(float* data, int64_t tokens, int64_t heads_count, int64_t channels) {
  const posenc_tensor out = {.data = data,
                             .dtype = POSENC_F32,
                             .rank = 3,
                             .shape = {tokens, heads_count, channels},
                             .strides = {heads_count * channels, channels, 1}};
  return out;
}
