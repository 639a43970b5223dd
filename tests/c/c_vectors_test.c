// Golden vectors through C: made, looked at, written, read back, and ports held to them.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

static posenc_vectors* vectors_of(const char* preset, const posenc_vectors_options* options) {
  posenc_plan* plan = NULL;
  posenc_vectors* vectors = NULL;
  EXPECT(posenc_plan_preset(preset, &plan) == POSENC_OK);
  EXPECT(posenc_vectors_of_layer(plan, options, &vectors) == POSENC_OK);
  posenc_plan_free(plan);
  return vectors;
}

static void made(void) {
  posenc_vectors_options options = POSENC_VECTORS_OPTIONS_INIT;
  options.tokens = 5;
  options.has_start = 1;
  options.start = 7;
  posenc_vectors* const vectors = vectors_of("llama-2-7b", &options);
  posenc_tensor positions = {0};
  EXPECT(posenc_vectors_tensor(vectors, "positions", &positions) == POSENC_OK);
  EXPECT(positions.dtype == POSENC_F64 && positions.rank == 1 && positions.shape[0] == 5);
  for (int t = 0; t < 5; ++t) EXPECT(((const double*)positions.data)[t] == 7 + t);
  EXPECT_ERROR(posenc_vectors_tensor(vectors, "sinks", &positions), POSENC_WRONG_ARGUMENT,
               "[posenc_vectors_tensor] name must be a tensor of the vectors but is sinks");
  posenc_vectors_free(vectors);
  posenc_vectors_free(NULL);
}

// Given inputs are those of the vectors; of other positions are other outputs.
static void of_inputs(void) {
  enum { kTokens = 3, kHeads = 32, kWidth = 128, kNumbers = kTokens * kHeads * kWidth };
  posenc_plan* plan = NULL;
  posenc_vectors* vectors = NULL;
  EXPECT(posenc_plan_preset("llama-2-7b", &plan) == POSENC_OK);
  float* const rows = malloc(sizeof(float) * kNumbers);
  for (int n = 0; n < kNumbers; ++n) rows[n] = (float)(n % 251) / 128.0F - 1.0F;
  posenc_vectors_inputs inputs = POSENC_VECTORS_INPUTS_INIT;
  inputs.q = inputs.k = inputs.v = heads(rows, kTokens, kHeads, kWidth);
  const int64_t positions[2][kTokens] = {{0, 1, 2}, {0, 1, 40}};
  inputs.positions_count = kTokens;
  double last[2] = {0};
  for (int n = 0; n < 2; ++n) {
    inputs.positions = positions[n];
    EXPECT(posenc_vectors_of_inputs(plan, NULL, &inputs, &vectors) == POSENC_OK);
    posenc_tensor q = {0};
    posenc_tensor out = {0};
    EXPECT(posenc_vectors_tensor(vectors, "q", &q) == POSENC_OK);
    EXPECT(((const double*)q.data)[kNumbers - 1] == (double)rows[kNumbers - 1]);
    EXPECT(posenc_vectors_tensor(vectors, "out", &out) == POSENC_OK);
    last[n] = ((const double*)out.data)[kNumbers - 1];
    posenc_vectors_free(vectors);
  }
  EXPECT(last[0] != last[1]);
  vectors = NULL;
  inputs.positions_count = 2;
  EXPECT(posenc_vectors_of_inputs(plan, NULL, &inputs, &vectors) == POSENC_WRONG_ARGUMENT);
  inputs.positions = NULL;
  EXPECT_ERROR(posenc_vectors_of_inputs(plan, NULL, &inputs, &vectors), POSENC_WRONG_ARGUMENT,
               "[posenc_vectors_of_inputs] positions must point to as many entries as its count says, at least 0, but "
               "is NULL");
  EXPECT_ERROR(posenc_vectors_of_inputs(plan, NULL, NULL, &vectors), POSENC_WRONG_ARGUMENT,
               "[posenc_vectors_of_inputs] inputs must be given but is NULL");
  EXPECT(vectors == NULL);
  free(rows);
  posenc_plan_free(plan);
}

static void held(void) {
  posenc_vectors* const vectors = vectors_of("llama-2-7b", NULL);
  posenc_named_tensor outputs[2] = {{.name = "q_rotated"}, {.name = "out"}};
  EXPECT(posenc_vectors_tensor(vectors, "q_rotated", &outputs[0].tensor) == POSENC_OK);
  EXPECT(posenc_vectors_tensor(vectors, "out", &outputs[1].tensor) == POSENC_OK);
  int32_t passes = -1;
  size_t size = 0;
  posenc_check_port_args args = POSENC_CHECK_PORT_ARGS_INIT;
  args.vectors = vectors;
  args.outputs = outputs;
  args.outputs_count = 2;
  args.passes = &passes;
  EXPECT(posenc_check_port(&args) == POSENC_OK);
  EXPECT(passes == 1);
  // Queries that were not rotated.
  EXPECT(posenc_vectors_tensor(vectors, "q", &outputs[0].tensor) == POSENC_OK);
  args.json_size = &size;
  EXPECT(posenc_check_port(&args) == POSENC_OK);
  EXPECT(passes == 0 && size > 1);
  char* const json = malloc(size);
  args.json = json;
  size -= 1;
  EXPECT(posenc_check_port(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_check_port(&args) == POSENC_OK);
  EXPECT(strlen(json) + 1 == size);
  EXPECT(strstr(json, "\"first_failure\": \"q_rotated\"") != NULL);
  free(json);
  args.has_dtype = 1;
  args.dtype = POSENC_F64;
  EXPECT_ERROR(posenc_check_port(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_check_port] dtype must be POSENC_F32, POSENC_F16 or POSENC_BF16 but is 3");
  float few[4] = {0};
  outputs[0].tensor = heads(few, 1, 1, 4);
  args.has_dtype = 0;
  EXPECT(posenc_check_port(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(strstr(posenc_last_error(), "have shape") != NULL);
  args.size = 1;
  EXPECT(posenc_check_port(&args) == POSENC_WRONG_ARGUMENT);
  posenc_vectors_free(vectors);
}

static void refused(void) {
  posenc_plan* plan = NULL;
  posenc_vectors* vectors = NULL;
  EXPECT(posenc_plan_preset("gemma-2-9b", &plan) == POSENC_OK);
  EXPECT(posenc_vectors_of_layer(plan, NULL, &vectors) == POSENC_WRONG_ARGUMENT);
  EXPECT(strstr(posenc_last_error(), "layers differ") != NULL);
  EXPECT_ERROR(posenc_vectors_of_layer(NULL, NULL, &vectors), POSENC_WRONG_ARGUMENT,
               "[posenc_vectors_of_layer] plan must be given but is NULL");
  EXPECT(posenc_vectors_read("/nonexistent", &vectors) == POSENC_WRONG_FILE);
  EXPECT(vectors == NULL);
  posenc_vectors_options options = POSENC_VECTORS_OPTIONS_INIT;
  options.has_layer = 1;
  EXPECT(posenc_vectors_of_layer(plan, &options, &vectors) == POSENC_OK);
  EXPECT_ERROR(posenc_vectors_write(vectors, "/nonexistent/golden", "npz", NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_vectors_write] format must be one of npy, safetensors, json, c, rust, python but is npz");
  EXPECT(posenc_vectors_write(vectors, "/nonexistent/golden", "c", "googletest") == POSENC_WRONG_FILE);
  posenc_vectors_free(vectors);
  posenc_plan_free(plan);
}

int main(void) {
  made();
  of_inputs();
  held();
  refused();
  return verdict();
}
