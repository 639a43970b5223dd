// The backward pass of attention through the C ABI, by what holds of every gradient of a layer with T5's biases:
//
//   sum_j dv_j = sum_i dout_i                     weights of a query add up to 1
//   sum_i q_i . dq_i = sum_j k_j . dk_j           scores are linear in q and in k alike
//   sum over buckets of dtable = 0                what all scores of a query have changes no weight
//
// and of linear attention without a feature map, whose outputs are linear in v, and the same for any multiple of a
// query, and for any of all keys:
//
//   sum_j v_j . dv_j = sum_i o_i . dout_i,   q_i . dq_i = 0,   sum_j k_j . dk_j = 0
//
// and what must be refused.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 7, kHeads = 2, kDim = 16, kCount = kTokens * kHeads * kDim, kBuckets = 32 };

// Sums of some hundred numbers below 4, each a sum of 16 products in f32: 4 * 100 * 16 roundings of 6e-8.
static const double kBound = 4e-4;

static const char kT5[] =
    "{\"model_type\": \"t5\", \"architectures\": [\"T5ForConditionalGeneration\"], \"d_model\": 32, \"d_kv\": 16,"
    " \"num_heads\": 2, \"num_layers\": 1, \"vocab_size\": 8, \"relative_attention_num_buckets\": 32}";

static const char kLlama[] =
    "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 32, \"head_dim\": 16,"
    " \"num_attention_heads\": 2, \"num_key_value_heads\": 2, \"num_hidden_layers\": 1, \"vocab_size\": 8,"
    " \"max_position_embeddings\": 64}";

static float q[kCount], k[kCount], v[kCount], out[kCount], d_out[kCount], d_q[kCount], d_k[kCount], d_v[kCount];
static float lse[kTokens * kHeads], table[kBuckets * kHeads], d_table[kBuckets * kHeads];

// Numbers between -1 and 1 that have no order.
static void fill(float* x, int count, int seed) {
  uint32_t state = (uint32_t)seed * 2654435761U + 1U;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    x[i] = (float)(state >> 8U) / 8388608.0F - 1.0F;
  }
}

static posenc_tensor rows(float* data, int64_t count) {
  const posenc_tensor made = {
      .data = data, .dtype = POSENC_F32, .rank = 2, .shape = {count, kHeads}, .strides = {kHeads, 1}};
  return made;
}

static posenc_tensor tokens(float* data) { return heads(data, kTokens, kHeads, kDim); }

static int32_t end(void* asked) {
  ++*(int*)asked;
  return 0;
}

static void gradients_of(posenc_plan* plan) {
  fill(q, kCount, 1);
  fill(k, kCount, 2);
  fill(v, kCount, 3);
  fill(d_out, kCount, 4);
  fill(table, kBuckets * kHeads, 5);
  const posenc_named_tensor weights = {.name = "table", .tensor = rows(table, kBuckets)};
  posenc_attend_args forward = POSENC_ATTEND_ARGS_INIT;
  forward.plan = plan;
  forward.stack = "encoder";
  forward.q = tokens(q);
  forward.k = tokens(k);
  forward.v = tokens(v);
  forward.out = tokens(out);
  forward.lse = rows(lse, kTokens);
  forward.weights = &weights;
  forward.weights_count = 1;
  EXPECT(posenc_attend(&forward) == POSENC_OK);

  posenc_named_gradient named = {.name = "table", .gradient = rows(d_table, kBuckets)};
  posenc_attend_backward_args args = POSENC_ATTEND_BACKWARD_ARGS_INIT;
  args.plan = plan;
  args.stack = "encoder";
  args.q = forward.q;
  args.k = forward.k;
  args.v = forward.v;
  args.weights = &weights;
  args.weights_count = 1;
  args.out = forward.out;
  args.lse = forward.lse;
  args.d_out = tokens(d_out);
  args.d_q = tokens(d_q);
  args.d_k = tokens(d_k);
  args.d_v = tokens(d_v);
  args.d_weights = &named;
  args.d_weights_count = 1;
  args.threads = 2;
  EXPECT(posenc_attend_backward(&args) == POSENC_OK);

  for (int h = 0; h < kHeads; ++h) {
    double of_queries = 0;
    double of_keys = 0;
    double size = 0;
    for (int c = 0; c < kDim; ++c) {
      double of_values = 0;
      double of_outputs = 0;
      for (int t = 0; t < kTokens; ++t) {
        const int at = (t * kHeads + h) * kDim + c;
        of_values += (double)d_v[at];
        of_outputs += (double)d_out[at];
        of_queries += (double)q[at] * (double)d_q[at];
        of_keys += (double)k[at] * (double)d_k[at];
        size += fabs((double)d_q[at]);
      }
      EXPECT(fabs(of_values - of_outputs) <= kBound);
    }
    EXPECT(size > 1.0);
    EXPECT(fabs(of_queries - of_keys) <= kBound);
    double sum = 0;
    double of_buckets = 0;
    for (int b = 0; b < kBuckets; ++b) {
      sum += (double)d_table[b * kHeads + h];
      of_buckets += fabs((double)d_table[b * kHeads + h]);
    }
    EXPECT(of_buckets > 0.1);
    EXPECT(fabs(sum) <= kBound);
  }

  // The same bits of a prepared layer, which has plan and weights.
  posenc_prepare_layer_args layer = POSENC_PREPARE_LAYER_ARGS_INIT;
  layer.plan = plan;
  layer.stack = "encoder";
  layer.weights = &weights;
  layer.weights_count = 1;
  posenc_prepared_layer* prepared = NULL;
  EXPECT(posenc_prepare_layer(&layer, &prepared) == POSENC_OK);
  static float again[kCount];
  posenc_attend_backward_args by_kept = args;
  by_kept.d_q = tokens(again);
  by_kept.prepared = prepared;
  EXPECT_ERROR(posenc_attend_backward(&by_kept), POSENC_WRONG_ARGUMENT,
               "[posenc_attend_backward] plan must be omitted, since the prepared layer has its own but is given");
  by_kept.plan = NULL;
  by_kept.stack = NULL;
  EXPECT_ERROR(posenc_attend_backward(&by_kept), POSENC_WRONG_ARGUMENT,
               "[posenc_attend_backward] weights must be omitted, since the prepared layer has its own but is given");
  by_kept.weights = NULL;
  by_kept.weights_count = 0;
  EXPECT(posenc_attend_backward(&by_kept) == POSENC_OK);
  EXPECT(memcmp(again, d_q, sizeof d_q) == 0);
  posenc_prepared_layer_free(prepared);

  int asked = 0;
  args.keep_going = end;
  args.keep_going_context = &asked;
  EXPECT(posenc_attend_backward(&args) == POSENC_OK || asked > 0);
  args.keep_going = NULL;
  named.name = "tabel";
  EXPECT_ERROR(posenc_attend_backward(&args), POSENC_WRONG_ARGUMENT,
               "[attend_backward] d_weights[\"tabel\"] must be of what the layer has learned, table, but is \"tabel\"");
  named.name = NULL;
  EXPECT_ERROR(posenc_attend_backward(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend_backward] d_weights' name must be given but is NULL");
  named.name = "table";
  args.d_out.rank = 0;
  EXPECT_ERROR(posenc_attend_backward(&args), POSENC_WRONG_ARGUMENT,
               "[attend_backward] d_out must be given but is omitted");
  args.size = 1;
  EXPECT(posenc_attend_backward(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_attend_backward(NULL) == POSENC_WRONG_ARGUMENT);
}

static double product(const float* a, const float* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (double)a[i] * (double)b[i];
  return sum;
}

static void linear_gradients_of(posenc_plan* plan) {
  fill(q, kCount, 6);
  fill(k, kCount, 7);
  for (int i = 0; i < kCount; ++i) {  // denominators are above 0
    q[i] = fabsf(q[i]) + 0.5F;
    k[i] = fabsf(k[i]) + 0.5F;
  }
  posenc_attend_linear_args forward = POSENC_ATTEND_LINEAR_ARGS_INIT;
  forward.plan = plan;
  forward.q = tokens(q);
  forward.k = tokens(k);
  forward.v = tokens(v);
  forward.out = tokens(out);
  forward.feature_map = POSENC_IDENTITY;
  EXPECT(posenc_attend_linear(&forward) == POSENC_OK);

  float inv_freq[kDim / 2] = {0};
  const posenc_tensor pairs = {
      .data = inv_freq, .dtype = POSENC_F32, .rank = 1, .shape = {kDim / 2}, .strides = {1}};
  posenc_named_gradient named = {.name = "inv_freq", .gradient = pairs};
  posenc_attend_linear_backward_args args = POSENC_ATTEND_LINEAR_BACKWARD_ARGS_INIT;
  args.plan = plan;
  args.q = forward.q;
  args.k = forward.k;
  args.v = forward.v;
  args.feature_map = POSENC_IDENTITY;
  args.d_out = tokens(d_out);
  args.d_q = tokens(d_q);
  args.d_k = tokens(d_k);
  args.d_v = tokens(d_v);
  args.d_weights = &named;
  args.d_weights_count = 1;
  args.threads = 2;
  EXPECT(posenc_attend_linear_backward(&args) == POSENC_OK);
  EXPECT(fabs(product(v, d_v, kCount) - product(out, d_out, kCount)) <= kBound);
  EXPECT(fabs(product(v, d_v, kCount)) > 0.1);
  EXPECT(fabs(product(k, d_k, kCount)) <= kBound);
  double size = 0;
  for (int i = 0; i < kCount; i += kDim) {
    EXPECT(fabs(product(q + i, d_q + i, kDim)) <= kBound);
    size += product(d_q + i, d_q + i, kDim);
  }
  EXPECT(size > 0.1);
  EXPECT(product(inv_freq, inv_freq, kDim / 2) > 0.01);

  int asked = 0;
  args.keep_going = end;
  args.keep_going_context = &asked;
  EXPECT(posenc_attend_linear_backward(&args) == POSENC_OK || asked > 0);
  args.keep_going = NULL;
  args.d_q = tokens(q);
  EXPECT_ERROR(posenc_attend_linear_backward(&args), POSENC_WRONG_ARGUMENT,
               "[attend_linear_backward] d_q must not share memory with q but is memory of both");
  args.feature_map = 3;
  EXPECT_ERROR(posenc_attend_linear_backward(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend_linear_backward] feature_map must be POSENC_ELU_PLUS_ONE, _IDENTITY or _RELU but is 3");
  args.size = 1;
  EXPECT(posenc_attend_linear_backward(&args) == POSENC_WRONG_ARGUMENT);
}

int main(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kT5, strlen(kT5), "config.json", &plan) == POSENC_OK);
  gradients_of(plan);
  posenc_plan_free(plan);
  EXPECT(posenc_plan_read_bytes(kLlama, strlen(kLlama), "config.json", &plan) == POSENC_OK);
  linear_gradients_of(plan);
  posenc_plan_free(plan);
  return verdict();
}
