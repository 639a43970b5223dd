// EXPECT_ERROR(statement, "[where] x must Y but is Z"): the statement throws Error with exactly this text.
#pragma once

#include <gtest/gtest.h>

#include "posenc/error.h"

#define EXPECT_ERROR(statement, text)            \
  try {                                          \
    statement;                                   \
    ADD_FAILURE() << "no error from " #statement; \
  } catch (const posenc::Error& error) {         \
    EXPECT_STREQ(error.what(), text);            \
  }                                              \
  static_assert(true)
