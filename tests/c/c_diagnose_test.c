// The C interface of diagnose: what a rotation and an attention did, as a verdict and as JSON. What they find is judged
// by tests/diagnose.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 20, kHeads = 4, kDim = 16, kCount = kTokens * kHeads * kDim };

static const char kConfig[] =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4,"
    " \"num_key_value_heads\": 4, \"max_position_embeddings\": 2048, \"rope_theta\": 10000.0}";

static posenc_plan* plan_of_config(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kConfig, strlen(kConfig), "config.json", &plan) == POSENC_OK);
  return plan;
}

static void fill(float* x, uint64_t state) {
  for (int i = 0; i < kCount; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x[i] = (float)(state >> 40) / 8388608.0F - 1.0F;
  }
}

static void rotate(float* x, double base) {
  for (int t = 0; t < kTokens; ++t) {
    for (int h = 0; h < kHeads; ++h) {
      for (int p = 0; p < kDim / 2; ++p) {
        float* a = x + (size_t)((t * kHeads + h) * kDim + p);
        float* b = a + kDim / 2;
        const double angle = t * pow(base, -2.0 * p / kDim);
        const double was = *a;
        *a = (float)(was * cos(angle) - *b * sin(angle));
        *b = (float)(was * sin(angle) + *b * cos(angle));
      }
    }
  }
}

static void rotations(void) {
  posenc_plan* const plan = plan_of_config();
  float x[kCount], y[kCount], z[kCount];
  fill(x, 1);
  memcpy(y, x, sizeof x);
  rotate(y, 10000);
  posenc_diagnose_args args = POSENC_DIAGNOSE_ARGS_INIT;
  args.plan = plan;
  args.before = heads(x, kTokens, kHeads, kDim);
  args.after = heads(y, kTokens, kHeads, kDim);
  args.has_start = 1;
  posenc_verdict said = -1;
  EXPECT(posenc_diagnose(&args, &said, NULL, NULL) == POSENC_OK);
  EXPECT(said == POSENC_AS_THE_PLAN);
  memcpy(z, x, sizeof x);
  rotate(z, 500000);
  args.after = heads(z, kTokens, kHeads, kDim);
  size_t size = 0;
  EXPECT(posenc_diagnose(&args, &said, NULL, &size) == POSENC_OK);
  EXPECT(said == POSENC_DIFFERS);
  char* const text = malloc(size);
  EXPECT(posenc_diagnose(&args, NULL, text, &size) == POSENC_OK);
  EXPECT(strlen(text) + 1 == size);
  EXPECT(strstr(text, "\"fact\": \"base\"") != NULL);
  size = 3;
  EXPECT(posenc_diagnose(&args, &said, text, &size) == POSENC_WRONG_ARGUMENT);
  free(text);
  // Queries that come out as keys.
  float k[kCount], rotated_k[kCount];
  fill(k, 2);
  memcpy(rotated_k, k, sizeof k);
  rotate(rotated_k, 10000);
  args.after = heads(rotated_k, kTokens, kHeads, kDim);
  args.before_k = heads(k, kTokens, kHeads, kDim);
  args.after_k = heads(y, kTokens, kHeads, kDim);
  size = 0;
  EXPECT(posenc_diagnose(&args, &said, NULL, &size) == POSENC_OK);
  char* const both = malloc(size);
  EXPECT(posenc_diagnose(&args, &said, both, &size) == POSENC_OK);
  EXPECT(said == POSENC_DIFFERS);
  EXPECT(strstr(both, "\"fact\": \"exchanged\"") != NULL);
  free(both);
  args.after_k = (posenc_tensor){0};
  EXPECT(posenc_diagnose(&args, &said, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  args.before_k = (posenc_tensor){0};
  args.rotation = 1;
  EXPECT_ERROR(posenc_diagnose(&args, &said, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_diagnose] rotation must be at least 0 and below 1 but is 1");
  args.rotation = 0;
  args.size = 8;
  EXPECT(posenc_diagnose(&args, &said, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  posenc_plan_free(plan);
}

static void attention(void) {
  posenc_plan* const plan = plan_of_config();
  float q[kCount], k[kCount], v[kCount], out[kCount];
  fill(q, 3);
  fill(k, 4);
  fill(v, 5);
  posenc_diagnose_attention_args args = POSENC_DIAGNOSE_ATTENTION_ARGS_INIT;
  args.plan = plan;
  args.q = heads(q, kTokens, kHeads, kDim);
  args.k = heads(k, kTokens, kHeads, kDim);
  args.v = heads(v, kTokens, kHeads, kDim);
  args.out = heads(out, kTokens, kHeads, kDim);
  for (int wrong = 0; wrong < 2; ++wrong) {
    memset(out, 0, sizeof out);
    for (int h = 0; h < kHeads; ++h) {
      for (int i = 0; i < kTokens; ++i) {
        double p[kTokens], sum = 0;
        const int last = wrong ? i - 1 : i;  // its own key left out
        for (int j = 0; j <= last; ++j) {
          double dot = 0;
          for (int c = 0; c < kDim; ++c) dot += (double)q[(i * kHeads + h) * kDim + c] * k[(j * kHeads + h) * kDim + c];
          p[j] = exp(dot / 4);
          sum += p[j];
        }
        for (int c = 0; c < kDim; ++c) {
          double o = 0;
          for (int j = 0; j <= last; ++j) o += p[j] / sum * v[(j * kHeads + h) * kDim + c];
          out[(i * kHeads + h) * kDim + c] = (float)o;
        }
      }
    }
    posenc_verdict said = -1;
    char text[16384];
    size_t size = sizeof text;
    EXPECT(posenc_diagnose_attention(&args, &said, text, &size) == POSENC_OK);
    EXPECT(said == (wrong ? POSENC_DIFFERS : POSENC_AS_THE_PLAN));
    EXPECT((strstr(text, "\"fact\": \"mask\", \"found\": \"causal, off by one") != NULL ||
            strstr(text, "does not see its own key") != NULL) == (wrong != 0));
  }
  args.v = (posenc_tensor){0};
  posenc_verdict said = -1;
  EXPECT_ERROR(posenc_diagnose_attention(&args, &said, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[diagnose_attention] v must be given with out but is omitted");
  args.plan = NULL;
  EXPECT(posenc_diagnose_attention(&args, &said, NULL, NULL) == POSENC_WRONG_ARGUMENT);
  posenc_plan_free(plan);
}

// Rows whose half-split pairs want one and the same, as training makes them: tests/diagnose/weights_test.cpp.
static void checkpoints(void) {
  enum { kRowHeads = 12, kRowDim = 16, kInputs = 20, kRows = kRowHeads * kRowDim };
  static float q[kRows * kInputs], k[kRows * kInputs], mean[kCount];
  fill(mean, 6);
  uint64_t state = 7;
  for (int n = 0; n < kRows * kInputs; ++n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    q[n] = (float)(state >> 40) / 8388608.0F - 1.0F;
    k[n] = (float)((state >> 20) & 0xffffff) / 8388608.0F - 1.0F;
  }
  for (int h = 0; h < kRowHeads; ++h) {
    for (int p = 0; p < kRowDim / 2; ++p) {
      const double turn = 1.7 * h + 0.9 * p * p;
      const double sign = (h + p) % 3 == 0 ? -1 : 1;
      for (int c = 0; c < kInputs; ++c) {
        const int a = (h * kRowDim + p) * kInputs + c;
        const int b = a + kRowDim / 2 * kInputs;
        q[a] += (float)(cos(turn) * mean[c]);
        q[b] += (float)(sin(turn) * mean[c]);
        k[a] += (float)(sign * cos(turn) * mean[c]);
        k[b] += (float)(sign * sin(turn) * mean[c]);
      }
    }
  }
  const posenc_tensor rows = {
      .data = q, .dtype = POSENC_F32, .rank = 2, .shape = {kRows, kInputs}, .strides = {kInputs, 1}};
  posenc_query_key_rows layer = {.q = rows, .k = rows};
  layer.k.data = k;
  posenc_diagnose_pairing_args args = POSENC_DIAGNOSE_PAIRING_ARGS_INIT;
  args.layers = &layer;
  args.layers_count = 1;
  args.head_dim = kRowDim;
  posenc_pairing said = -1;
  char text[1024];
  size_t size = sizeof text;
  EXPECT(posenc_diagnose_pairing(&args, &said, text, &size) == POSENC_OK);
  EXPECT(said == POSENC_HALF);
  EXPECT(strstr(text, "\"pairing\": \"half\"") != NULL);
  args.layers_count = 0;
  EXPECT(posenc_diagnose_pairing(&args, &said, NULL, NULL) == POSENC_OK);
  EXPECT(said == 0);
  args.layers_count = 1;
  args.dim = 18;
  EXPECT(posenc_diagnose_pairing(&args, &said, NULL, NULL) == POSENC_WRONG_ARGUMENT);
}

int main(void) {
  rotations();
  attention();
  checkpoints();
  return verdict();
}
