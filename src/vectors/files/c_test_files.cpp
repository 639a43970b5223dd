// The program that calls a port in C or C++, and its GoogleTest form. port.h says what a port is, hold_port.h holds it.
#include "base/formatted.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

// "@pound@include": what this folder's own files include is looked for by that word at the start of a line.
const Filling kPound{"pound", "#"};

constexpr std::string_view kCPortHeader = R"(/* The port under test: @title@.
 *
@facts@ */
#ifndef POSENC_PORT_H
#define POSENC_PORT_H

@pound@include <stdint.h>

@pound@include "vectors.h"

/* What the port stores its tensors in; -DPORT_DTYPE=VECTORS_BFLOAT16 says another. */
#ifndef PORT_DTYPE
#define PORT_DTYPE VECTORS_FLOAT32
#endif

#define PORT_DONE 0
#define PORT_NOT_FILLED_IN (-1)

#ifdef __cplusplus
extern "C" {
#endif

/* Rotates x [tokens, heads, head_dim], which is exact in every dtype, into out of the same shape. positions are
 * [tokens], or [axes, tokens]. */
int port_rotate(const float *x, int64_t tokens, int64_t heads, int64_t head_dim, const int64_t *positions, float *out);

/* Attends with q, k, v before any rotation: out [tokens, heads, value_dim], and where the port has them scores
 * [heads, queries, keys], what its softmax is made of, masked or not; they are NaN before, and may be left so. Learned
 * tables and masks of the layer are in vectors.h. */
int port_attend(const float *q, const float *k, const float *v, const int64_t *positions, float *scores, float *out);

#ifdef __cplusplus
}
#endif

#endif
)";

constexpr std::string_view kCPort = R"(/* Fill in both functions, and give PORT_DONE back. */
@pound@include "port.h"

int port_rotate(const float *x, int64_t tokens, int64_t heads, int64_t head_dim, const int64_t *positions, float *out) {
  (void)x, (void)tokens, (void)heads, (void)head_dim, (void)positions, (void)out;
  return PORT_NOT_FILLED_IN;
}

int port_attend(const float *q, const float *k, const float *v, const int64_t *positions, float *scores, float *out) {
  (void)q, (void)k, (void)v, (void)positions, (void)scores, (void)out;
  return PORT_NOT_FILLED_IN;
}
)";

constexpr std::string_view kCHold = R"C(/* Holds one tensor of a port to its vectors. */
#ifndef POSENC_HOLD_PORT_H
#define POSENC_HOLD_PORT_H

@pound@include <math.h>
@pound@include <stdint.h>
@pound@include <stdio.h>

/* A score so far below all others is masked, whatever number stands for it. */
#define HOLD_HIDDEN 1000.0

/* The tensor is [outer, tokens, inner]; bound: relative, then one for each token. mask [tokens, inner]: 0 where nothing
 * is held, or NULL. Gives how many elements are above the bound, and a message about the worst. */
static int64_t hold_port(const char *name, const double *expected, const double *bound, int64_t outer, int64_t tokens,
                         int64_t inner, const int64_t *mask, const float *got, char *message, size_t size) {
  const double relative = bound[0];
  int64_t above = 0, worst = 0, at;
  double worst_over = -1.0;
  for (at = 0; at < outer * tokens * inner; ++at) {
    const int64_t token = at / inner % tokens;
    const double allowed = bound[1 + token] + relative * fabs(expected[at]);
    double over;
    if (mask != NULL && mask[token * inner + at % inner] == 0) continue;
    over = isfinite(got[at]) ? fabs(got[at] - expected[at]) / allowed : (double)INFINITY;
    if (got[at] == expected[at]) over = 0.0;
    if (over > 1.0) ++above;
    if (over > worst_over) {
      worst_over = over;
      worst = at;
    }
  }
  snprintf(message, size,
           "%s: token %lld, element %lld of it%s is %.6g, expected %.6g; %.3g of its bound, %lld of %lld above theirs",
           name, (long long)(worst / inner % tokens), (long long)(worst % inner), outer > 1 ? " (a head's)" : "",
           (double)got[worst], expected[worst], worst_over, (long long)above, (long long)(outer * tokens * inner));
  return above;
}

/* Whether hidden keys are all masked, or, before the mask, none: gives how many are neither. */
static int64_t hold_mask(const double *expected, int64_t heads, int64_t tokens, const int64_t *mask, const float *got) {
  double lowest = HUGE_VAL;
  int64_t masked = 0, hidden = 0, at;
  for (at = 0; at < heads * tokens * tokens; ++at) {
    if (mask[at % (tokens * tokens)] != 0 && expected[at] < lowest) lowest = expected[at];
  }
  for (at = 0; at < heads * tokens * tokens; ++at) {
    if (mask[at % (tokens * tokens)] != 0) continue;
    ++hidden;
    if (!(got[at] >= lowest - HOLD_HIDDEN)) ++masked;
  }
  return masked == 0 ? 0 : hidden - masked;
}

#endif
)C";

constexpr std::string_view kCTest = R"(/* cc -std=c99 test_port.c port.c vectors.c -lm && ./a.out
 *
 * Exit code 0: the port is right. 1: it is not, or not filled in. */
@pound@include "hold_port.h"
@pound@include "port.h"

@pound@include <stdlib.h>

/* The numbers as floats, which hold every input exactly; without numbers, NaN. The caller frees them. */
static float *floats_of(const double *numbers, int64_t count) {
  float *out = (float *)malloc((size_t)count * sizeof *out);
  int64_t at;
  for (at = 0; out != NULL && at < count; ++at) out[at] = numbers != NULL ? (float)numbers[at] : (float)NAN;
  return out;
}

static int failures;
static char message[512];

static void report(int64_t above, const char *text) {
  printf("%s  %s\n", above == 0 ? "ok  " : "FAIL", text);
  if (above != 0) ++failures;
}
@rotation@@attention@
int main(void) {
@calls@  printf("%s\n", failures == 0 ? "passes" : "fails");
  return failures == 0 ? 0 : 1;
}
)";

constexpr std::string_view kCRotation = R"(
static void test_rotation(const char *name, const double *numbers, int64_t heads, const double *expected,
                          const double *bound) {
  const int64_t count = VECTORS_TOKENS * heads * VECTORS_HEAD_DIM;
  float *x = floats_of(numbers, count), *out = floats_of(NULL, count);
  if (x == NULL || out == NULL) {
    report(1, "out of memory");
  } else if (port_rotate(x, VECTORS_TOKENS, heads, VECTORS_HEAD_DIM, vectors_positions, out) != PORT_DONE) {
    report(1, "port_rotate is not filled in: call your rotation in port.c");
  } else {
    const int64_t above = hold_port(name, expected, bound, 1, VECTORS_TOKENS, heads * VECTORS_HEAD_DIM, NULL, out,
                                    message, sizeof message);
    report(above, message);
  }
  free(x);
  free(out);
}
)";

constexpr std::string_view kCAttention = R"(
static void test_attention(void) {
  const int64_t keys = VECTORS_TOKENS * VECTORS_KV_HEADS;
  float *q = floats_of(vectors_q, VECTORS_TOKENS * VECTORS_HEADS * VECTORS_HEAD_DIM);
  float *k = floats_of(vectors_k, keys * VECTORS_HEAD_DIM), *v = floats_of(vectors_v, keys * VECTORS_VALUE_DIM);
  float *scores = floats_of(NULL, VECTORS_HEADS * VECTORS_TOKENS * VECTORS_TOKENS);
  float *out = floats_of(NULL, VECTORS_TOKENS * VECTORS_HEADS * VECTORS_VALUE_DIM);
  if (q == NULL || k == NULL || v == NULL || scores == NULL || out == NULL) {
    report(1, "out of memory");
  } else if (port_attend(q, k, v, vectors_positions, scores, out) != PORT_DONE) {
    report(1, "port_attend is not filled in: call your attention in port.c");
  } else {
    int64_t above;
    if (!isnan(scores[0])) {
      above = hold_port("scores", vectors_scores, vectors_bound_scores[PORT_DTYPE], VECTORS_HEADS, VECTORS_TOKENS,
                        VECTORS_TOKENS, vectors_mask, scores, message, sizeof message);
      report(above, message);
      above = hold_mask(vectors_scores, VECTORS_HEADS, VECTORS_TOKENS, vectors_mask, scores);
      report(above, above == 0 ? "mask" : "mask: some keys are masked, and others that the layer hides are not");
    }
    above = hold_port("out", vectors_out, vectors_bound_out[PORT_DTYPE], 1, VECTORS_TOKENS,
                      VECTORS_HEADS * VECTORS_VALUE_DIM, NULL, out, message, sizeof message);
    report(above, message);
  }
  free(q);
  free(k);
  free(v);
  free(scores);
  free(out);
}
)";

constexpr std::string_view kCRotationCalls =
    R"(  test_rotation("q_rotated", vectors_q, VECTORS_HEADS, vectors_q_rotated, vectors_bound_q_rotated[PORT_DTYPE]);
  test_rotation("k_rotated", vectors_k, VECTORS_KV_HEADS, vectors_k_rotated, vectors_bound_k_rotated[PORT_DTYPE]);
)";

constexpr std::string_view kGoogleTest =
    R"(// c++ -std=c++17 test_port.cc port.cc vectors.c -lgtest -lgtest_main -pthread && ./a.out
@pound@include <gtest/gtest.h>

@pound@include <vector>

@pound@include "hold_port.h"
@pound@include "port.h"

namespace {

std::vector<float> floats(const double* numbers, std::int64_t count) { return {numbers, numbers + count}; }
std::vector<float> unset(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), NAN); }
@rotation@@attention@
}  // namespace
)";

constexpr std::string_view kGoogleRotation = R"(
void hold_rotation(const char* name, const double* numbers, std::int64_t heads, const double* expected,
                   const double* bound) {
  const std::int64_t count = VECTORS_TOKENS * heads * VECTORS_HEAD_DIM;
  const std::vector<float> x = floats(numbers, count);
  std::vector<float> out = unset(count);
  ASSERT_EQ(port_rotate(x.data(), VECTORS_TOKENS, heads, VECTORS_HEAD_DIM, vectors_positions, out.data()), PORT_DONE)
      << "port_rotate is not filled in: call your rotation in port.cc";
  char message[512];
  EXPECT_EQ(hold_port(name, expected, bound, 1, VECTORS_TOKENS, heads * VECTORS_HEAD_DIM, nullptr, out.data(), message,
                      sizeof message),
            0)
      << message;
}

TEST(Port, RotatesQueries) {
  hold_rotation("q_rotated", vectors_q, VECTORS_HEADS, vectors_q_rotated, vectors_bound_q_rotated[PORT_DTYPE]);
}

TEST(Port, RotatesKeys) {
  hold_rotation("k_rotated", vectors_k, VECTORS_KV_HEADS, vectors_k_rotated, vectors_bound_k_rotated[PORT_DTYPE]);
}
)";

constexpr std::string_view kGoogleAttention = R"(
TEST(Port, Attends) {
  const std::int64_t keys = VECTORS_TOKENS * VECTORS_KV_HEADS;
  const std::vector<float> q = floats(vectors_q, VECTORS_TOKENS * VECTORS_HEADS * VECTORS_HEAD_DIM);
  const std::vector<float> k = floats(vectors_k, keys * VECTORS_HEAD_DIM);
  const std::vector<float> v = floats(vectors_v, keys * VECTORS_VALUE_DIM);
  std::vector<float> scores = unset(VECTORS_HEADS * VECTORS_TOKENS * VECTORS_TOKENS);
  std::vector<float> out = unset(VECTORS_TOKENS * VECTORS_HEADS * VECTORS_VALUE_DIM);
  ASSERT_EQ(port_attend(q.data(), k.data(), v.data(), vectors_positions, scores.data(), out.data()), PORT_DONE)
      << "port_attend is not filled in: call your attention in port.cc";
  char message[512];
  if (!std::isnan(scores[0])) {
    EXPECT_EQ(hold_port("scores", vectors_scores, vectors_bound_scores[PORT_DTYPE], VECTORS_HEADS, VECTORS_TOKENS,
                        VECTORS_TOKENS, vectors_mask, scores.data(), message, sizeof message),
              0)
        << message;
    EXPECT_EQ(hold_mask(vectors_scores, VECTORS_HEADS, VECTORS_TOKENS, vectors_mask, scores.data()), 0)
        << "some keys are masked, and others that the layer hides are not";
  }
  EXPECT_EQ(hold_port("out", vectors_out, vectors_bound_out[PORT_DTYPE], 1, VECTORS_TOKENS,
                      VECTORS_HEADS * VECTORS_VALUE_DIM, nullptr, out.data(), message, sizeof message),
            0)
      << message;
}
)";

bool c_rotates(const Vectors& vectors) { return vectors.find("q_rotated") != nullptr; }
bool c_attends(const Vectors& vectors) { return vectors.find("out") != nullptr; }
std::string if_so(bool is_there, std::string_view text) { return std::string(is_there ? text : ""); }

VectorFile c_port_header(const Vectors& vectors) {
  return {"port.h", filled(kCPortHeader, {kPound, {"title", title(vectors)}, {"facts", fact_lines(vectors, " * ")}})};
}

}  // namespace

std::vector<VectorFile> c_test_files(const Vectors& vectors) {
  const std::string calls =
      if_so(c_rotates(vectors), kCRotationCalls) + if_so(c_attends(vectors), "  test_attention();\n");
  return {c_port_header(vectors),
          {"port.c", filled(kCPort, {kPound})},
          {"hold_port.h", filled(kCHold, {kPound})},
          {"test_port.c", filled(kCTest, {kPound,
                                          {"rotation", if_so(c_rotates(vectors), kCRotation)},
                                          {"attention", if_so(c_attends(vectors), kCAttention)},
                                          {"calls", calls}})}};
}

std::vector<VectorFile> googletest_files(const Vectors& vectors) {
  return {c_port_header(vectors),
          {"port.cc", filled(kCPort, {kPound})},
          {"hold_port.h", filled(kCHold, {kPound})},
          {"test_port.cc", filled(kGoogleTest, {kPound,
                                                {"rotation", if_so(c_rotates(vectors), kGoogleRotation)},
                                                {"attention", if_so(c_attends(vectors), kGoogleAttention)}})}};
}

}  // namespace posenc::inline v0_2::golden
