// What tests of the C interface without memory share: each operator new of a call fails once, and all from one on.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "posenc/c.h"
#include "support/failing_new.h"

namespace posenc::test {

// The first hundred, and then steps of a half: POSENC_EVERY_ALLOCATION (c.memory_all) fails all of them.
inline std::int64_t next_failure(std::int64_t n) {
  static const bool every = std::getenv("POSENC_EVERY_ALLOCATION") != nullptr;
  return n + 1 + (every || n < 100 ? 0 : n / 2);
}

// Around each call, where memory is to be had: what comes before it, and what its status must have left.
struct Around {
  std::function<void()> before = [] {};
  std::function<void(posenc_status)> after = [](posenc_status) {};
};

// Fails allocation after allocation of `call`, until it asks for no more; one that it can do without does not fail it.
// `written` is what it writes on success alone. Gives how many have failed it.
inline std::int64_t expect_no_memory(const std::function<posenc_status()>& call, std::vector<float>* written = nullptr,
                                     const Around& around = {}) {
  around.before();
  EXPECT_EQ(call(), POSENC_OK) << posenc_last_error();
  std::int64_t failures = 0;
  for (const bool all : {false, true}) {
    for (std::int64_t n = 0;; n = next_failure(n)) {
      const std::vector<float> before = written != nullptr ? *written : std::vector<float>{};
      around.before();
      fail_new(n, all);
      const posenc_status status = call();
      const bool has_failed = stop_failing_new();
      around.after(status);
      if (status == POSENC_OK && !has_failed) break;
      if (status == POSENC_OK) continue;
      ++failures;
      EXPECT_EQ(status, POSENC_NO_MEMORY) << "allocation " << n << ": " << posenc_last_error();
      EXPECT_STREQ(posenc_last_error(), "out of memory");
      EXPECT_TRUE(written == nullptr || *written == before) << "allocation " << n;
      if (status != POSENC_NO_MEMORY) return failures;
    }
  }
  return failures;
}

// Of a call that makes a handle: it is freed again.
template <typename Handle>
std::int64_t expect_no_memory_for(const std::function<posenc_status(Handle**)>& make, void (*free)(Handle*)) {
  Handle* made = nullptr;
  const auto call = [&] { return make(&made); };
  const auto put_back = [&] {
    if (made != nullptr) free(made);
    made = nullptr;
  };
  const std::int64_t failures = expect_no_memory(
      call, nullptr,
      {.before = put_back, .after = [&](posenc_status status) { EXPECT_EQ(made != nullptr, status == POSENC_OK); }});
  put_back();
  return failures;
}

inline constexpr std::int64_t kTokens = 600;  // more slots and blocks than calls have room for on the stack
inline constexpr std::int64_t kHeads = 32;
inline constexpr std::int64_t kKvHeads = 8;
inline constexpr std::int64_t kDim = 64;

inline posenc_tensor heads_of(std::vector<float>& x, std::int64_t tokens, std::int64_t heads) {
  return {.data = x.data(),
          .dtype = POSENC_F32,
          .rank = 3,
          .shape = {tokens, heads, kDim},
          .strides = {heads * kDim, kDim, 1}};
}

inline std::vector<float> some(std::int64_t tokens, std::int64_t heads) {
  std::vector<float> out(static_cast<std::size_t>(tokens * heads * kDim));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 17) - 8.0F;
  return out;
}

// As the INIT macros, which are C.
template <typename T>
T sized() {
  T out{};
  out.size = sizeof(T);
  return out;
}

struct Model {
  posenc_plan* plan = nullptr;
  posenc_table* table = nullptr;

  Model() {
    EXPECT_EQ(posenc_plan_preset("llama-3.2-1b", &plan), POSENC_OK);
    EXPECT_EQ(posenc_table_of_layer(plan, nullptr, 0, nullptr, &table), POSENC_OK);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() {
    posenc_table_free(table);
    posenc_plan_free(plan);
  }
};

}  // namespace posenc::test
