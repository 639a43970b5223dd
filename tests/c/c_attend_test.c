// Attention through the C ABI: a layer with a rotation and one with a learned table, against loops in double; parts
// merged; a call that is ended; and what must be refused.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 5, kHeads = 2, kDim = 16, kCount = kTokens * kHeads * kDim, kBuckets = 32 };

// Some 16 products and 5 exponentials of numbers below 1, summed in f32: a hundred roundings of 6e-8, and values
// below 1.
static const double kBound = 6e-6;

static const char kT5[] =
    "{\"model_type\": \"t5\", \"architectures\": [\"T5ForConditionalGeneration\"], \"d_model\": 32, \"d_kv\": 16,"
    " \"num_heads\": 2, \"num_layers\": 1, \"vocab_size\": 8, \"relative_attention_num_buckets\": 32}";

static const char kLlama[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 32, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
    " \"num_hidden_layers\": 1, \"max_position_embeddings\": 64, \"rope_theta\": 10000.0, \"vocab_size\": 8}";

static posenc_plan* plan_of(const char* json) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(json, strlen(json), "config.json", &plan) == POSENC_OK);
  return plan;
}

// Numbers between -1/2 and 1/2 that have no order.
static void fill(float* x, int count, int seed) {
  uint32_t state = (uint32_t)seed * 2654435761U + 1U;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    x[i] = (float)(state >> 8U) / 16777216.0F - 0.5F;
  }
}

static double dot(const float* a, const float* b) {
  double sum = 0;
  for (int c = 0; c < kDim; ++c) sum += (double)a[c] * (double)b[c];
  return sum;
}

// Softmax over the scores of one query, then its output and its lse against what came.
static void expect_row(const double* scores, int keys, int head, const float* v, const float* out, float lse) {
  double sum = 0;
  for (int j = 0; j < keys; ++j) sum += exp(scores[j]);
  EXPECT(fabs((double)lse - log(sum)) <= kBound);
  for (int c = 0; c < kDim; ++c) {
    double expected = 0;
    for (int j = 0; j < keys; ++j) expected += exp(scores[j]) / sum * (double)v[(j * kHeads + head) * kDim + c];
    EXPECT(fabs((double)out[c] - expected) <= kBound);
  }
}

static float q[kCount], k[kCount], v[kCount], out[kCount], lse[kTokens * kHeads];

static posenc_tensor numbers(float* data) {
  const posenc_tensor made = {
      .data = data, .dtype = POSENC_F32, .rank = 2, .shape = {kTokens, kHeads}, .strides = {kHeads, 1}};
  return made;
}

static posenc_attend_args call_of(const posenc_plan* plan) {
  posenc_attend_args args = POSENC_ATTEND_ARGS_INIT;
  args.plan = plan;
  fill(q, kCount, 1);
  fill(k, kCount, 2);
  fill(v, kCount, 3);
  args.q = heads(q, kTokens, kHeads, kDim);
  args.k = heads(k, kTokens, kHeads, kDim);
  args.v = heads(v, kTokens, kHeads, kDim);
  args.out = heads(out, kTokens, kHeads, kDim);
  args.lse = numbers(lse);
  return args;
}

// q and k as `from` and rotated by posenc_rotate.
static void rotate_with(const posenc_plan* plan, int64_t start, float* x) {
  posenc_table* table = NULL;
  EXPECT(posenc_table_of_layer(plan, NULL, 0, NULL, &table) == POSENC_OK);
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.k = heads(x, kTokens, kHeads, kDim);
  args.positions.start = start;
  args.table = table;
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  posenc_table_free(table);
}

static void rotated_and_causal(void) {
  posenc_plan* const plan = plan_of(kLlama);
  posenc_attend_args args = call_of(plan);
  const posenc_positions from_9 = {.type = POSENC_COUNTED, .start = 9};
  posenc_attend_work work = {0, 0};
  args.q_positions = args.k_positions = &from_9;
  args.work = &work;
  args.threads = 1;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  EXPECT(work.tiles > 0);
  rotate_with(plan, 9, q);
  rotate_with(plan, 9, k);
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kTokens; ++i) {
      double scores[kTokens];
      for (int j = 0; j <= i; ++j) scores[j] = dot(q + (i * kHeads + h) * kDim, k + (j * kHeads + h) * kDim) / 4.0;
      expect_row(scores, i + 1, h, v, out + (i * kHeads + h) * kDim, lse[i * kHeads + h]);
    }
  }

  // The same from tensors that come rotated, by both of two threads, is the same.
  static float again[kCount];
  args.q_rotated = args.k_rotated = 1;
  args.out.data = again;
  args.threads = 2;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  for (int i = 0; i < kCount; ++i) EXPECT(fabs((double)again[i] - (double)out[i]) <= kBound);

  // A window of one token: each sees itself alone.
  posenc_mask mask = POSENC_MASK_INIT;
  mask.has_window = 1;
  args.mask = &mask;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  EXPECT(memcmp(again, v, sizeof v) == 0);
  mask.kind = 9;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] mask->kind must be POSENC_CAUSAL, _BIDIRECTIONAL, _PREFIX or _SPARSE but is 9");
  posenc_plan_free(plan);
}

// T5's encoder: no scale, no rotation; near distances have a bucket each, those of future keys from 16 on.
static void learned_table(void) {
  posenc_plan* const plan = plan_of(kT5);
  posenc_attend_args args = call_of(plan);
  static float table[kBuckets * kHeads];
  fill(table, kBuckets * kHeads, 4);
  posenc_named_tensor weights[2] = {
      {.name = "table",
       .tensor = {.data = table, .dtype = POSENC_F32, .rank = 2, .shape = {kBuckets, kHeads}, .strides = {kHeads, 1}}},
      {.name = "tabel", .tensor = {.rank = 0}}};
  args.stack = "encoder";
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[named_weights] weights[\"table\"] must be given but is omitted");
  args.weights = weights;
  args.weights_count = 2;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[named_weights] weights[\"tabel\"] must be a table of the layer: table but is none");
  weights[1] = weights[0];
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[named_weights] weights[\"table\"] must be given once but is given again");
  args.weights_count = 1;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kTokens; ++i) {
      double scores[kTokens];
      for (int j = 0; j < kTokens; ++j) {
        const int bucket = i >= j ? i - j : 16 + j - i;
        scores[j] = dot(q + (i * kHeads + h) * kDim, k + (j * kHeads + h) * kDim) + (double)table[bucket * kHeads + h];
      }
      expect_row(scores, kTokens, h, v, out + (i * kHeads + h) * kDim, lse[i * kHeads + h]);
    }
  }
  weights[0].name = NULL;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT, "[posenc_attend] weights' name must be given but is NULL");
  posenc_plan_free(plan);
}

// The same bits by a layer that is prepared once, after its plan is gone.
static void prepared_layer(void) {
  posenc_plan* const plan = plan_of(kT5);
  posenc_attend_args args = call_of(plan);
  static float table[kBuckets * kHeads];
  fill(table, kBuckets * kHeads, 4);
  const posenc_named_tensor weight = {
      .name = "table",
      .tensor = {.data = table, .dtype = POSENC_F32, .rank = 2, .shape = {kBuckets, kHeads}, .strides = {kHeads, 1}}};
  posenc_prepare_layer_args layer = POSENC_PREPARE_LAYER_ARGS_INIT;
  args.plan = layer.plan = plan;
  args.stack = layer.stack = "encoder";
  posenc_prepared_layer* prepared = NULL;
  EXPECT_ERROR(posenc_prepare_layer(&layer, &prepared), POSENC_WRONG_ARGUMENT,
               "[named_weights] weights[\"table\"] must be given but is omitted");
  args.weights = layer.weights = &weight;
  args.weights_count = layer.weights_count = 1;
  layer.max_distance = -2;
  EXPECT_ERROR(posenc_prepare_layer(&layer, &prepared), POSENC_WRONG_ARGUMENT,
               "[prepare_layer] max_distance must be from 0 to 67108863, for tables of 1 GiB but is -2");
  EXPECT(prepared == NULL);
  layer.max_distance = 0;
  EXPECT_ERROR(posenc_prepare_layer(&layer, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_prepare_layer] prepared must be given but is NULL");
  EXPECT(posenc_prepare_layer(&layer, &prepared) == POSENC_OK);
  EXPECT(posenc_attend(&args) == POSENC_OK);
  static float wanted[kCount];
  memcpy(wanted, out, sizeof wanted);
  memset(out, 0, sizeof out);

  args.prepared = prepared;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] plan must be omitted, since the prepared layer has its own but is given");
  args.plan = NULL;
  args.stack = NULL;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] weights must be omitted, since the prepared layer has its own but is given");
  args.weights = NULL;
  args.weights_count = 0;
  posenc_plan_free(plan);
  EXPECT(posenc_attend(&args) == POSENC_OK);
  EXPECT(memcmp(out, wanted, sizeof out) == 0);
  posenc_prepared_layer_free(prepared);
  posenc_prepared_layer_free(NULL);
}

// The first three keys and the last two, apart and merged.
static void merged(void) {
  posenc_plan* const plan = plan_of(kLlama);
  posenc_attend_args args = call_of(plan);
  EXPECT(posenc_attend(&args) == POSENC_OK);
  static float part_out[2][kCount], part_lse[2][kTokens * kHeads], whole[kCount], whole_lse[kTokens * kHeads];
  static const int64_t order[kTokens] = {0, 1, 2, 3, 4};
  const int64_t cuts[3] = {0, 3, kTokens};
  posenc_attend_part parts[2];
  memset(parts, 0, sizeof parts);
  args.q_order = order;
  args.q_order_count = kTokens;
  for (int p = 0; p < 2; ++p) {
    const int64_t first = cuts[p];
    const int64_t count = cuts[p + 1] - first;
    args.k = heads(k + first * kHeads * kDim, count, kHeads, kDim);
    args.v = heads(v + first * kHeads * kDim, count, kHeads, kDim);
    args.k_order = order + first;
    args.k_order_count = count;
    args.out = parts[p].out = heads(part_out[p], kTokens, kHeads, kDim);
    args.lse = parts[p].lse = numbers(part_lse[p]);
    EXPECT(posenc_attend(&args) == POSENC_OK);
  }
  EXPECT(part_lse[1][0] == -INFINITY && part_out[1][0] == 0.0F);  // the first query sees none of the second part
  posenc_merge_args all = POSENC_MERGE_ARGS_INIT;
  all.out = heads(whole, kTokens, kHeads, kDim);
  all.lse = numbers(whole_lse);
  all.parts = parts;
  all.parts_count = 2;
  EXPECT(posenc_merge(&all) == POSENC_OK);
  for (int i = 0; i < kCount; ++i) EXPECT(fabs((double)whole[i] - (double)out[i]) <= kBound);
  for (int i = 0; i < kTokens * kHeads; ++i) EXPECT(fabs((double)whole_lse[i] - (double)lse[i]) <= kBound);
  all.parts_count = 0;
  EXPECT_ERROR(posenc_merge(&all), POSENC_WRONG_ARGUMENT, "[merge] parts must have at least 1 but is 0");
  all.parts_count = 1;
  all.parts = NULL;
  EXPECT_ERROR(posenc_merge(&all), POSENC_WRONG_ARGUMENT,
               "[posenc_merge] parts must point to as many entries as its count says, at least 0, but is NULL");
  all.size = 1;
  EXPECT(posenc_merge(&all) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_merge(NULL) == POSENC_WRONG_ARGUMENT);
  posenc_plan_free(plan);
}

static int32_t count_and_end(void* asked) {
  ++*(int*)asked;
  return 0;
}

// Long enough to be asked: 64 tiles of 64 keys, and more.
static void ended(void) {
  enum { kLong = 1024 };
  posenc_plan* const plan = plan_of(kLlama);
  static float x[kLong * kHeads * kDim], y[kLong * kHeads * kDim];
  fill(x, kLong * kHeads * kDim, 5);
  posenc_attend_args args = POSENC_ATTEND_ARGS_INIT;
  int asked = 0;
  args.plan = plan;
  args.q = args.k = args.v = heads(x, kLong, kHeads, kDim);
  args.out = heads(y, kLong, kHeads, kDim);
  args.keep_going = count_and_end;
  args.keep_going_context = &asked;
  EXPECT_ERROR(posenc_attend(&args), POSENC_CANCELLED, "[posenc_attend] keep_going returned false");
  EXPECT(asked == 1);
  posenc_plan_free(plan);
}

// Linear attention of all tokens, and of one after another beside a state, against the recurrence in double: the layer
// rotates q and k, of features that are max(x, 0).
static void linear(void) {
  enum { kState = kHeads * kDim * kDim };
  posenc_plan* const plan = plan_of(kLlama);
  const posenc_attend_args same = call_of(plan);
  posenc_attend_linear_args args = POSENC_ATTEND_LINEAR_ARGS_INIT;
  args.plan = plan;
  args.q = same.q;
  args.k = same.k;
  args.v = same.v;
  args.out = same.out;
  args.feature_map = POSENC_RELU;
  EXPECT(posenc_attend_linear(&args) == POSENC_OK);

  static float step_out[kCount], products[kState], totals[kHeads * kDim];
  args.products = (posenc_tensor){.data = products,
                                  .dtype = POSENC_F32,
                                  .rank = 4,
                                  .shape = {1, kHeads, kDim, kDim},
                                  .strides = {kState, kDim * kDim, kDim, 1}};
  args.totals = heads(totals, 1, kHeads, kDim);
  EXPECT_ERROR(posenc_attend_linear(&args), POSENC_WRONG_ARGUMENT,
               "[attend_linear] q_positions must be given with a state, which does not say where its tokens stood, but is "
               "omitted");
  for (int64_t t = 0; t < kTokens; ++t) {
    const posenc_positions at = {.type = POSENC_COUNTED, .start = t};
    args.q_positions = args.k_positions = &at;
    args.q = heads(q + t * kHeads * kDim, 1, kHeads, kDim);
    args.k = heads(k + t * kHeads * kDim, 1, kHeads, kDim);
    args.v = heads(v + t * kHeads * kDim, 1, kHeads, kDim);
    args.out = heads(step_out + t * kHeads * kDim, 1, kHeads, kDim);
    EXPECT(posenc_attend_linear(&args) == POSENC_OK);
  }
  args.feature_map = 3;
  EXPECT_ERROR(posenc_attend_linear(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend_linear] feature_map must be POSENC_ELU_PLUS_ONE, _IDENTITY or _RELU but is 3");
  args.size = 1;
  EXPECT(posenc_attend_linear(&args) == POSENC_WRONG_ARGUMENT);

  static float plain_q[kCount], plain_k[kCount];
  for (int i = 0; i < kCount; ++i) {
    plain_q[i] = q[i] = fmaxf(q[i], 0.0F);
    plain_k[i] = k[i] = fmaxf(k[i], 0.0F);
  }
  rotate_with(plan, 0, q);
  rotate_with(plan, 0, k);
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kTokens; ++i) {
      const int row = (i * kHeads + h) * kDim;
      double total = 0;
      double sizes = 0;  // of products, by Cauchy and Schwarz
      for (int j = 0; j <= i; ++j) {
        const float* const key = plain_k + (j * kHeads + h) * kDim;
        total += dot(plain_q + row, key);
        sizes += sqrt(dot(plain_q + row, plain_q + row) * dot(key, key));
      }
      for (int c = 0; c < kDim; ++c) {
        double sum = 0;
        for (int j = 0; j <= i; ++j) {
          const int key = (j * kHeads + h) * kDim;
          sum += dot(q + row, k + key) * (double)v[key + c];
        }
        // Of values up to 1/2: 12 roundings of the rotation, 2 * 5 of sums over keys, 16 over channels, 2 of the
        // quotient.
        const double bound = 40 * 6e-8 * (0.5 + fabs(sum / total)) * sizes / total;
        EXPECT(fabs((double)out[row + c] - sum / total) <= bound);
        EXPECT(fabs((double)step_out[row + c] - sum / total) <= bound);
      }
    }
  }
  posenc_plan_free(plan);
}

static void refused(void) {
  posenc_plan* const plan = plan_of(kLlama);
  posenc_attend_args args = call_of(plan);
  args.layer = 1;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] layer must be at least 0 and below 1 but is 1");
  args.layer = 0;
  args.angles = 3;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] angles must be one of POSENC_ANGLES_... but is 3");
  args.angles = POSENC_ANGLES_EXACT;
  args.q.dtype = POSENC_F64;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT, "[attend] q.dtype must be f32, f16 or bf16 but is f64");
  args.q.dtype = POSENC_F32;
  args.q_order_count = -1;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_attend] q_order must point to as many entries as its count says, at least 0, but is -1");
  args.q_order_count = 0;
  args.weights_count = 1;
  EXPECT(posenc_attend(&args) == POSENC_WRONG_ARGUMENT);
  const posenc_named_tensor sinks = {.name = "sinks", .tensor = {.rank = 0}};
  args.weights = &sinks;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT,
               "[named_weights] weights[\"sinks\"] must be omitted for a layer without tables but is given");
  args.weights_count = 0;
  args.plan = NULL;
  EXPECT_ERROR(posenc_attend(&args), POSENC_WRONG_ARGUMENT, "[posenc_attend] plan must be given but is NULL");
  args.size = 1;
  EXPECT(posenc_attend(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_attend(NULL) == POSENC_WRONG_ARGUMENT);
  EXPECT(out[0] == 0.0F);  // nothing was written
  posenc_plan_free(plan);
}

int main(void) {
  refused();
  rotated_and_causal();
  learned_table();
  prepared_layer();
  merged();
  ended();
  linear();
  return verdict();
}
