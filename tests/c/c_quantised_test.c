// Quantised KV caches through the C ABI: stored rotated by nothing, attended to and rotated on load as the numbers that
// they hold are, read back, and refused where they do not say what they are.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 6, kHeads = 2, kDim = 32, kCount = kTokens * kHeads * kDim };

// As in c_attend_test.c, of outputs of values below 1.
static const double kBound = 6e-6;

static const char kLlama[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
    " \"num_hidden_layers\": 1, \"max_position_embeddings\": 64, \"rope_theta\": 10000.0, \"vocab_size\": 8}";

static float q[kCount], k[kCount], v[kCount], kept_k[kCount], kept_v[kCount], out[kCount], wanted[kCount];
static uint8_t k_codes[kCount], v_codes[kCount];
static float v_scales[kTokens * kHeads], v_zeros[kTokens * kHeads];

static posenc_tensor numbers(float* data) {
  const posenc_tensor made = {
      .data = data, .dtype = POSENC_F32, .rank = 2, .shape = {kTokens, kHeads}, .strides = {kHeads, 1}};
  return made;
}

static posenc_quantised codes_of(posenc_cache_format format, uint8_t* data) {
  int64_t row = 0;
  EXPECT(posenc_cache_row_bytes(format, kDim, &row) == POSENC_OK);
  const posenc_quantised made = {
      .format = format, .rank = 3, .data = data, .shape = {kTokens, kHeads, kDim}, .strides = {kHeads * row, row, 1}};
  return made;
}

static void attend_to(const posenc_plan* plan, const posenc_quantised* k_quantised, const posenc_quantised* v_quantised,
                      float* to) {
  posenc_attend_args args = POSENC_ATTEND_ARGS_INIT;
  args.plan = plan;
  args.q = heads(q, kTokens, kHeads, kDim);
  args.out = heads(to, kTokens, kHeads, kDim);
  args.k_quantised = k_quantised;
  args.v_quantised = v_quantised;
  if (k_quantised == NULL) args.k = heads(kept_k, kTokens, kHeads, kDim);
  if (v_quantised == NULL) args.v = heads(kept_v, kTokens, kHeads, kDim);
  EXPECT(posenc_attend(&args) == POSENC_OK);
}

static void stored_and_attended(const posenc_plan* plan, posenc_cache_format format) {
  posenc_quantised keys = codes_of(format, k_codes);
  static float k_scales[kTokens * kHeads];
  if (format < POSENC_Q8_0) keys.scales = numbers(k_scales);
  posenc_quantised values = codes_of(POSENC_INT8_ASYMMETRIC, v_codes);
  values.scales = numbers(v_scales);
  values.zeros = numbers(v_zeros);
  const int64_t slots[kTokens] = {0, 1, 2, 3, 4, 5};
  posenc_cache_args store = POSENC_CACHE_ARGS_INIT;
  store.k = heads(k, kTokens, kHeads, kDim);
  store.v = heads(v, kTokens, kHeads, kDim);
  store.k_quantised = &keys;
  store.v_quantised = &values;
  store.slots = slots;
  store.slots_count = kTokens;
  EXPECT(posenc_rotate_into_cache(&store) == POSENC_OK);
  const posenc_tensor to_k = heads(kept_k, kTokens, kHeads, kDim);
  const posenc_tensor to_v = heads(kept_v, kTokens, kHeads, kDim);
  EXPECT(posenc_dequantise(&to_k, &keys, 0) == POSENC_OK);
  EXPECT(posenc_dequantise(&to_v, &values, 0) == POSENC_OK);
  for (int i = 0; i < kCount; ++i) EXPECT(fabsf(kept_k[i] - k[i]) < 0.1F && fabsf(kept_v[i] - v[i]) < 0.01F);
  attend_to(plan, &keys, &values, out);
  attend_to(plan, NULL, NULL, wanted);
  for (int i = 0; i < kCount; ++i) EXPECT(fabs((double)out[i] - (double)wanted[i]) <= kBound);
}

static void refusals(void) {
  posenc_quantised keys = codes_of(POSENC_INT8, k_codes);
  const posenc_tensor to = heads(kept_k, kTokens, kHeads, kDim);
  EXPECT_ERROR(posenc_dequantise(&to, &keys, 0), POSENC_WRONG_ARGUMENT,
               "[dequantise] x.scales must be given for int8 but is omitted");
  keys.format = 10;
  EXPECT_ERROR(posenc_dequantise(&to, &keys, 0), POSENC_WRONG_ARGUMENT,
               "[posenc_dequantise] x.format must be one of POSENC_INT8 to POSENC_INT4_BY_CHANNEL but is 10");
  keys.format = POSENC_INT8;
  keys.rank = 0;
  EXPECT_ERROR(posenc_dequantise(&to, &keys, 0), POSENC_WRONG_ARGUMENT,
               "[posenc_dequantise] x.rank must be 3 or 4 but is 0");
  EXPECT_ERROR(posenc_dequantise(&to, NULL, 0), POSENC_WRONG_ARGUMENT,
               "[posenc_dequantise] x must be given but is NULL");
  int64_t bytes = 7;
  EXPECT(posenc_cache_row_bytes(POSENC_Q8_0, 33, &bytes) == POSENC_WRONG_ARGUMENT && bytes == 7);
  keys = codes_of(POSENC_Q8_0, k_codes);
  posenc_rerotate_args again = POSENC_REROTATE_ARGS_INIT;
  again.k_quantised = &keys;
  EXPECT(posenc_rerotate(&again) == POSENC_WRONG_ARGUMENT);
  EXPECT(strstr(posenc_last_error(), "store keys unrotated instead") != NULL);
}

int main(void) {
  for (int i = 0; i < kCount; ++i) {
    q[i] = (float)(i * 37 % 101) / 101.0F - 0.5F;
    k[i] = (float)(i * 53 % 103) / 103.0F - 0.5F;
    v[i] = (float)(i * 71 % 107) / 107.0F - 0.5F;
  }
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kLlama, strlen(kLlama), "config.json", &plan) == POSENC_OK);
  stored_and_attended(plan, POSENC_INT8);
  stored_and_attended(plan, POSENC_INT4);
  stored_and_attended(plan, POSENC_FP8_E4M3);
  posenc_quantised blocks = codes_of(POSENC_Q4_0, k_codes);
  EXPECT(blocks.strides[1] == 18);
  stored_and_attended(plan, POSENC_Q4_0);
  refusals();
  posenc_plan_free(plan);
  return verdict();
}
