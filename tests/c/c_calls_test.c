// The C ABI in all that a call can ask: packed sequences, paged caches, tables of their own, the caller's threads. Each
// gives the bits of plain calls. Then handles and structs that are none.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 5, kHeads = 2, kDim = 8, kRow = kHeads * kDim, kCount = kTokens * kRow };

static const int32_t kBounds[3] = {0, 3, kTokens};  // two sequences

static posenc_table* table_of_base(double second_frequency, double factor) {
  const double inv_freq[kDim / 2] = {1.0, second_frequency, 0.25, 0.0625};
  posenc_layout layout = POSENC_LAYOUT_INIT;
  layout.pairing = POSENC_HALF;
  layout.head_dim = layout.dim = kDim;
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = 100;
  posenc_table* table = NULL;
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, factor, &options, &table) == POSENC_OK);
  return table;
}

static void fill(float* x) {
  for (int i = 0; i < kCount; ++i) x[i] = (float)(i * 7 % 23) - 11.0F;
}

// Rows `first` to `last` - 1 alone, the first of them at `start`.
static void rotate_alone(const posenc_table* table, float* x, int first, int last, int64_t start) {
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.k = heads(x + first * kRow, last - first, kHeads, kDim);
  args.positions.start = start;
  args.table = table;
  EXPECT(posenc_rotate(&args) == POSENC_OK);
}

static void packed(void) {
  posenc_table* const one = table_of_base(0.5, 1.0);
  posenc_table* const other = table_of_base(0.125, 2.0);
  const posenc_table* const tables[2] = {one, other};
  float x[kCount], expected[kCount];
  fill(x);
  fill(expected);
  rotate_alone(one, expected, 0, 3, 40);
  rotate_alone(other, expected, 3, kTokens, 40);
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.q = heads(x, kTokens, kHeads, kDim);
  args.positions.start = 40;
  args.cu_seqlens = kBounds;
  args.cu_seqlens_count = 3;
  args.tables = tables;
  args.tables_count = 2;
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  EXPECT(memcmp(x, expected, sizeof x) == 0);
  args.tables_count = 1;
  EXPECT_ERROR(posenc_rotate(&args), POSENC_WRONG_ARGUMENT,
               "[rotate] tables must have one table for each of 2 sequences but is 1 long");
  args.tables_count = -1;
  EXPECT_ERROR(posenc_rotate(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_rotate] tables must point to as many entries as its count says, at least 0, but is -1");
  EXPECT(memcmp(x, expected, sizeof x) == 0);
  posenc_table_free(one);
  posenc_table_free(other);
}

// In blocks of two tokens: the first sequence has begun its second block, the other is new.
static void paged(void) {
  enum { kBlocks = 6, kSize = 2, kOfSequence = 3 };
  static const int32_t blocks[2 * kOfSequence] = {4, 0, 5, 2, -1, -1};
  static const int32_t first[2] = {2, 0};
  static const int slots[kTokens] = {0 * kSize, 0 * kSize + 1, 5 * kSize, 2 * kSize, 2 * kSize + 1};
  posenc_table* const table = table_of_base(0.5, 1.0);
  float x[kCount], cache[kBlocks * kSize * kRow] = {0};
  fill(x);
  for (int t = 0; t < kTokens; ++t) memcpy(cache + slots[t] * kRow, x + t * kRow, kRow * sizeof *x);
  rotate_alone(table, x, 0, 3, 12);
  rotate_alone(table, x, 3, kTokens, 10);

  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.k = (posenc_tensor){.data = cache,
                           .dtype = POSENC_F32,
                           .rank = 4,
                           .shape = {kBlocks, kSize, kHeads, kDim},
                           .strides = {kSize * kRow, kRow, kDim, 1}};
  args.positions.start = 10;
  args.table = table;
  args.cu_seqlens = kBounds;
  args.cu_seqlens_count = 3;
  args.block_table = blocks;
  args.block_table_count = 2 * kOfSequence;
  args.block_first = first;
  args.block_first_count = 2;
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  for (int t = 0; t < kTokens; ++t) EXPECT(memcmp(cache + slots[t] * kRow, x + t * kRow, kRow * sizeof *x) == 0);

  // Moved down by 8, in the cache and by themselves.
  posenc_rerotate_args shift = POSENC_REROTATE_ARGS_INIT;
  shift.k = args.k;
  shift.from_table = shift.to_table = table;
  shift.from_positions.start = 10;
  shift.to_positions.start = 2;
  shift.cu_seqlens = kBounds;
  shift.cu_seqlens_count = 3;
  shift.block_table = blocks;
  shift.block_table_count = 2 * kOfSequence;
  shift.block_first = first;
  shift.block_first_count = 2;
  EXPECT(posenc_rerotate(&shift) == POSENC_OK);
  static const int64_t from[kTokens] = {12, 13, 14, 10, 11};
  static const int64_t to[kTokens] = {4, 5, 6, 2, 3};
  posenc_rerotate_args alone = POSENC_REROTATE_ARGS_INIT;
  alone.k = heads(x, kTokens, kHeads, kDim);
  alone.from_table = alone.to_table = table;
  alone.from_positions = (posenc_positions){.type = POSENC_INT64, .data = from, .count = kTokens};
  alone.to_positions = (posenc_positions){.type = POSENC_INT64, .data = to, .count = kTokens};
  EXPECT(posenc_rerotate(&alone) == POSENC_OK);
  for (int t = 0; t < kTokens; ++t) EXPECT(memcmp(cache + slots[t] * kRow, x + t * kRow, kRow * sizeof *x) == 0);

  args.block_table_count = 0;
  EXPECT_ERROR(posenc_rotate(&args), POSENC_WRONG_ARGUMENT,
               "[rotate] k_pages.block_table must be given where k_pages.first is but is omitted");
  alone.to_positions.data = NULL;
  EXPECT_ERROR(posenc_rerotate(&alone), POSENC_WRONG_ARGUMENT,
               "[posenc_rerotate] to_positions must point to as many entries as its count says, at least 0, but is "
               "NULL");
  posenc_table_free(table);
}

struct runs {
  int calls;
  int64_t tasks;
};

static void run_here(void* context, int64_t tasks, posenc_task task, void* data) {
  struct runs* const runs = context;
  ++runs->calls;
  runs->tasks += tasks;
  for (int64_t i = tasks; i-- > 0;) task(data, i);
}

// Of as many rows as are worth two threads.
static void on_the_callers_threads(void) {
  enum { kMany = 4096, kAll = kMany * kRow };
  const double inv_freq[kDim / 2] = {1.0, 0.5, 0.25, 0.125};
  posenc_layout layout = POSENC_LAYOUT_INIT;
  layout.pairing = POSENC_HALF;
  layout.head_dim = layout.dim = kDim;
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = kMany;
  posenc_table* table = NULL;
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, 1.0, &options, &table) == POSENC_OK);
  static float x[kAll], alone[kAll];
  for (int i = 0; i < kAll; ++i) x[i] = alone[i] = (float)(i % 101) - 50.0F;
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.table = table;
  args.threads = 1;
  args.k = heads(alone, kMany, kHeads, kDim);
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  struct runs runs = {0, 0};
  args.threads = 0;
  args.executor = (posenc_executor){.context = &runs, .run = run_here, .threads = 2};
  args.k = heads(x, kMany, kHeads, kDim);
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  EXPECT(runs.calls == 1 && runs.tasks == 2);
  EXPECT(memcmp(x, alone, sizeof x) == 0);
  args.executor.threads = 0;
  EXPECT(posenc_rotate(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(memcmp(x, alone, sizeof x) == 0);
  posenc_table_free(table);
}

static void settings(void) {
  posenc_plan* plan = NULL;
  posenc_plan* set = NULL;
  EXPECT(posenc_plan_preset("llama-2-7b", &plan) == POSENC_OK);
  const char* const words[] = {"rope_scaling=yarn,factor=4,original=4096", "base=1e6"};
  EXPECT(posenc_plan_override(plan, words, 2, &set) == POSENC_OK);
  size_t size = 0;
  EXPECT(posenc_plan_json(set, NULL, &size) == POSENC_OK);
  char* json = malloc(size);
  EXPECT(json != NULL && posenc_plan_json(set, json, &size) == POSENC_OK);
  EXPECT(strstr(json, "\"base\": 1000000") != NULL && strstr(json, "set: base=1e6") != NULL);
  free(json);
  // A table is of the plan that was changed.
  posenc_table* table = NULL;
  EXPECT(posenc_table_of_layer(set, NULL, 0, NULL, &table) == POSENC_OK);
  const double factor = posenc_table_attention_factor(table);  // 0.1 ln(4) + 1
  EXPECT(factor > 1.13862 && factor < 1.13864);
  posenc_table_free(table);
  EXPECT(posenc_plan_override_patches(plan, words, 2, NULL, NULL, &size) == POSENC_OK);
  json = malloc(size);
  EXPECT(json != NULL && posenc_plan_override_patches(plan, words, 2, NULL, json, &size) == POSENC_OK);
  EXPECT(strstr(json, "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 4096 --rope-freq-base 1000000") != NULL);
  size -= 1;
  EXPECT(posenc_plan_override_patches(plan, words, 2, NULL, json, &size) == POSENC_WRONG_ARGUMENT);
  free(json);
  EXPECT(posenc_plan_override_patches(plan, words, 2, "[", NULL, &size) == POSENC_WRONG_ARGUMENT);
  posenc_plan_free(set);
  // What is wrong leaves the handle as it was, and says what.
  set = NULL;
  const char* const wrong[] = {"bsae=1e6", NULL};
  EXPECT_ERROR(posenc_plan_override(plan, wrong, 1, &set), POSENC_WRONG_ARGUMENT,
               "[override_plan] 'bsae=1e6' must be of a known word but is of another; did you mean base?");
  EXPECT(posenc_plan_override(plan, words, 2, NULL) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_plan_override(plan, wrong + 1, 1, &set) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_plan_override(plan, NULL, 1, &set) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_plan_override(plan, words, -1, &set) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_plan_override(NULL, words, 2, &set) == POSENC_WRONG_ARGUMENT);
  EXPECT(set == NULL);
  EXPECT(posenc_plan_override(plan, NULL, 0, &set) == POSENC_OK && set != NULL);
  posenc_plan_free(set);
  posenc_plan_free(plan);
}

static void handles_that_are_none(void) {
  posenc_table* table = NULL;
  posenc_layout layout = POSENC_LAYOUT_INIT;
  size_t size = 0;
  float number = 0;
  const posenc_positions positions = {.type = POSENC_COUNTED};
  EXPECT_ERROR(posenc_plan_json(NULL, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_plan_json] plan must be given but is NULL");
  EXPECT_ERROR(posenc_table_of_layer(NULL, NULL, 0, NULL, &table), POSENC_WRONG_ARGUMENT,
               "[posenc_table_of_layer] plan must be given but is NULL");
  EXPECT_ERROR(posenc_table_layout(NULL, &layout), POSENC_WRONG_ARGUMENT,
               "[posenc_table_layout] table must be given but is NULL");
  EXPECT_ERROR(posenc_cos_sin(NULL, &positions, 1, &number, &number), POSENC_WRONG_ARGUMENT,
               "[posenc_cos_sin] table must be given but is NULL");
  EXPECT(posenc_table_attention_factor(NULL) == 0.0);
  posenc_table_free(NULL);
  EXPECT(table == NULL);
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  float x[kCount];
  args.k = heads(x, kTokens, kHeads, kDim);
  EXPECT_ERROR(posenc_rotate(&args), POSENC_WRONG_ARGUMENT, "[rotate] table must be given but is null");
}

// A struct of an older or a newer header, or one that was not filled with its INIT macro.
static void structs_of_another_size(void) {
  posenc_table* const table = table_of_base(0.5, 1.0);
  float x[kCount], before[kCount];
  fill(x);
  memcpy(before, x, sizeof x);
  posenc_rotate_args rotate = POSENC_ROTATE_ARGS_INIT;
  rotate.k = heads(x, kTokens, kHeads, kDim);
  rotate.table = table;
  posenc_rerotate_args rerotate = POSENC_REROTATE_ARGS_INIT;
  rerotate.k = rotate.k;
  rerotate.from_table = rerotate.to_table = table;
  rerotate.to_positions.start = 1;
  posenc_cache_args cache = POSENC_CACHE_ARGS_INIT;
  const size_t wrong[] = {0, 8, sizeof(posenc_tensor), 100000, SIZE_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    rotate.size = rerotate.size = cache.size = wrong[i];
    EXPECT(posenc_rotate(&rotate) == POSENC_WRONG_ARGUMENT);
    EXPECT(strstr(posenc_last_error(), "as its INIT macro sets it") != NULL);
    EXPECT(posenc_rerotate(&rerotate) == POSENC_WRONG_ARGUMENT);
    EXPECT(posenc_rotate_into_cache(&cache) == POSENC_WRONG_ARGUMENT);
    posenc_layout layout = POSENC_LAYOUT_INIT;
    layout.size = wrong[i];
    EXPECT(posenc_table_layout(table, &layout) == POSENC_WRONG_ARGUMENT);
    EXPECT(layout.head_dim == 0);
  }
  EXPECT(memcmp(x, before, sizeof x) == 0);
  rotate.size = sizeof rotate;
  rotate.positions.start = 1;
  EXPECT(posenc_rotate(&rotate) == POSENC_OK);
  EXPECT(memcmp(x, before, sizeof x) != 0);
  posenc_table_free(table);
}

int main(void) {
  packed();
  paged();
  on_the_callers_threads();
  settings();
  handles_that_are_none();
  structs_of_another_size();
  return verdict();
}
