// What a caller can say that no call can do: sizes and counts below 0 and near 2^63, numbers that are no enumerators,
// reserved members that are not 0, names that steer a terminal. Each is POSENC_WRONG_ARGUMENT, and its reason is text.
#include <stdint.h>

#include "expect.h"
#include "posenc/c.h"

enum { kTokens = 2, kHeads = 32, kKvHeads = 8, kDim = 128 };

static const int64_t kSizes[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX - 1, INT64_MAX / 2 + 1};
static const int64_t kFar[] = {INT64_MIN, INT64_MAX, INT64_MAX - 1};
static const int32_t kNumbers[] = {-1, 77, INT32_MIN, INT32_MAX};
static const int32_t kBounds[2] = {0, kTokens};
static const int32_t kBlocks[1] = {0};
static const int64_t kSlots[kTokens] = {0, 1};
static float q[kTokens * kHeads * kDim], k[kTokens * kKvHeads * kDim], v[kTokens * kKvHeads * kDim];
static float out[kTokens * kHeads * kDim], k_cache[4 * kKvHeads * kDim], v_cache[4 * kKvHeads * kDim];

static posenc_plan* plan;
static posenc_table* table;

// Whether `call` refuses every one of the numbers in `member`, which it takes as it is.
#define EXPECT_REFUSED(call, member, numbers)                            \
  do {                                                                   \
    EXPECT((call) == POSENC_OK);                                         \
    for (size_t i = 0; i < sizeof(numbers) / sizeof *(numbers); ++i) {   \
      (member) = (numbers)[i];                                           \
      const posenc_status status = (call);                               \
      if (status == POSENC_WRONG_ARGUMENT) continue;                     \
      fprintf(stderr, "%s = number %zu: %d\n", #member, i, (int)status); \
      EXPECT(!"refused");                                                \
    }                                                                    \
  } while (0)

static posenc_status make_table(const posenc_layout* layout, const posenc_table_options* options) {
  static const double inv_freq[kDim / 2] = {1.0};
  posenc_table* made = NULL;
  const posenc_status status = posenc_table_of_frequencies(layout, inv_freq, 1.0, options, &made);
  posenc_table_free(made);
  return status;
}

static posenc_status table_of_layer(int64_t layer, const posenc_table_options* options) {
  posenc_table* made = NULL;
  const posenc_status status = posenc_table_of_layer(plan, NULL, layer, options, &made);
  posenc_table_free(made);
  return status;
}

static posenc_layout layout_of_heads(void) {
  posenc_layout layout = POSENC_LAYOUT_INIT;
  layout.pairing = POSENC_HALF;
  layout.head_dim = layout.dim = kDim;
  return layout;
}

static posenc_table_options some_rows(void) {
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = 4;
  return options;
}

#define EXPECT_TABLE_REFUSED(member, numbers)                       \
  do {                                                              \
    posenc_layout layout = layout_of_heads();                       \
    posenc_table_options options = some_rows();                     \
    EXPECT_REFUSED(make_table(&layout, &options), member, numbers); \
  } while (0)

static void tables(void) {
  EXPECT_TABLE_REFUSED(layout.head_dim, kSizes);
  EXPECT_TABLE_REFUSED(layout.first_channel, kSizes);
  EXPECT_TABLE_REFUSED(layout.dim, kSizes);
  EXPECT_TABLE_REFUSED(layout.axes, kNumbers);
  EXPECT_TABLE_REFUSED(layout.pairing, kNumbers);
  EXPECT_TABLE_REFUSED(options.start, kFar);
  EXPECT_TABLE_REFUSED(options.count, kSizes);
  EXPECT_TABLE_REFUSED(options.angles, kNumbers);
  EXPECT_TABLE_REFUSED(options.reserved, kNumbers);
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {  // both at once: no more than the head has
    posenc_layout layout = layout_of_heads();
    const posenc_table_options options = some_rows();
    layout.head_dim = layout.dim = kSizes[i];
    EXPECT(make_table(&layout, &options) == POSENC_WRONG_ARGUMENT);
  }
  posenc_table_options options = some_rows();
  int64_t layer = 0;
  EXPECT_REFUSED(table_of_layer(layer, &options), layer, kSizes);
  layer = 0;
  EXPECT_REFUSED(table_of_layer(layer, &options), options.count, kSizes);
  options = some_rows();
  EXPECT_REFUSED(table_of_layer(layer, &options), options.reserved, kNumbers);
  static float cos[kDim], sin[kDim];
  int64_t rows = 2;
  posenc_positions at = {.type = POSENC_COUNTED};
  EXPECT_REFUSED(posenc_cos_sin(table, &at, rows, cos, sin), rows, kSizes);
  rows = 2;
  EXPECT_REFUSED(posenc_cos_sin(table, &at, rows, cos, sin), at.type, kNumbers);
  at.type = POSENC_COUNTED;
  EXPECT_REFUSED(posenc_cos_sin(table, &at, rows, cos, sin), at.reserved, kNumbers);
}

static posenc_rotate_args rotate_args(void) {
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.q = heads(q, kTokens, kHeads, kDim);
  args.k = heads(k, kTokens, kKvHeads, kDim);
  args.table = table;
  args.cu_seqlens = kBounds;
  args.cu_seqlens_count = 2;
  return args;
}

#define EXPECT_ROTATE_REFUSED(member, numbers)             \
  do {                                                     \
    posenc_rotate_args args = rotate_args();               \
    EXPECT_REFUSED(posenc_rotate(&args), member, numbers); \
  } while (0)

static void rotation(void) {
  EXPECT_ROTATE_REFUSED(args.q.shape[0], kSizes);
  EXPECT_ROTATE_REFUSED(args.k.shape[1], kSizes);
  EXPECT_ROTATE_REFUSED(args.k.shape[2], kSizes);
  EXPECT_ROTATE_REFUSED(args.k.strides[0], kSizes);
  EXPECT_ROTATE_REFUSED(args.q.rank, kNumbers);
  EXPECT_ROTATE_REFUSED(args.q.dtype, kNumbers);
  EXPECT_ROTATE_REFUSED(args.positions.type, kNumbers);
  EXPECT_ROTATE_REFUSED(args.positions.reserved, kNumbers);
  EXPECT_ROTATE_REFUSED(args.direction, kNumbers);
  EXPECT_ROTATE_REFUSED(args.reserved, kNumbers);
  EXPECT_ROTATE_REFUSED(args.tables_count, kSizes);
  EXPECT_ROTATE_REFUSED(args.cu_seqlens_count, kSizes);
  EXPECT_ROTATE_REFUSED(args.block_table_count, kSizes);
  EXPECT_ROTATE_REFUSED(args.block_first_count, kSizes);
  posenc_rotate_args args = rotate_args();
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  args.threads = -1;
  EXPECT(posenc_rotate(&args) == POSENC_WRONG_ARGUMENT);
}

static posenc_cache_args cache_args(void) {
  posenc_cache_args args = POSENC_CACHE_ARGS_INIT;
  args.k = heads(k, kTokens, kKvHeads, kDim);
  args.v = heads(v, kTokens, kKvHeads, kDim);
  args.k_cache = heads(k_cache, 4, kKvHeads, kDim);
  args.v_cache = heads(v_cache, 4, kKvHeads, kDim);
  args.table = table;
  args.slots = kSlots;
  args.slots_count = kTokens;
  return args;
}

#define EXPECT_CACHE_REFUSED(member, numbers)                         \
  do {                                                                \
    posenc_cache_args args = cache_args();                            \
    EXPECT_REFUSED(posenc_rotate_into_cache(&args), member, numbers); \
  } while (0)

static void cache(void) {
  EXPECT_CACHE_REFUSED(args.k.shape[0], kSizes);
  EXPECT_CACHE_REFUSED(args.v.shape[2], kSizes);
  EXPECT_CACHE_REFUSED(args.k_cache.shape[0], kSizes);
  EXPECT_CACHE_REFUSED(args.v_cache.strides[1], kSizes);
  EXPECT_CACHE_REFUSED(args.slots_count, kSizes);
  EXPECT_CACHE_REFUSED(args.norm, kNumbers);
  EXPECT_CACHE_REFUSED(args.positions.reserved, kNumbers);
}

// The queries are embeddings here, and integers are added, as a plan of one's own may say.
static posenc_add_input_args add_input_args(const posenc_prepared_input* input) {
  posenc_add_input_args args = POSENC_ADD_INPUT_ARGS_INIT;
  args.prepared = input;
  args.x = heads(q, 1, kTokens, kHeads * kDim);
  return args;
}

#define EXPECT_ADD_REFUSED(member, numbers)                   \
  do {                                                        \
    posenc_add_input_args args = add_input_args(input);       \
    EXPECT_REFUSED(posenc_add_input(&args), member, numbers); \
  } while (0)

static posenc_status prepare_input(const posenc_prepare_input_args* args) {
  posenc_prepared_input* made = NULL;
  const posenc_status status = posenc_prepare_input(args, &made);
  posenc_prepared_input_free(made);
  return status;
}

#define EXPECT_PREPARE_REFUSED(member, numbers)            \
  do {                                                     \
    posenc_prepare_input_args args = good;                 \
    EXPECT_REFUSED(prepare_input(&args), member, numbers); \
  } while (0)

static void input_stage(void) {
  static const char kGpt2[] =
      "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_head\": 2, \"n_layer\": 1, \"n_positions\": 5}";
  posenc_plan* gpt2 = NULL;
  EXPECT(posenc_plan_read_bytes(kGpt2, sizeof kGpt2 - 1, "gpt2", &gpt2) == POSENC_OK);
  static float rows[5 * kHeads * kDim];
  posenc_prepare_input_args good = POSENC_PREPARE_INPUT_ARGS_INIT;
  good.plan = gpt2;
  good.positions = heads(rows, 5, 1, kHeads * kDim);
  good.positions.rank = 2;
  good.positions.shape[1] = kHeads * kDim;
  good.positions.strides[1] = 1;
  EXPECT_PREPARE_REFUSED(args.input, kSizes);
  EXPECT_PREPARE_REFUSED(args.channels, kSizes);
  EXPECT_PREPARE_REFUSED(args.positions.shape[0], kSizes);
  EXPECT_PREPARE_REFUSED(args.positions.dtype, kNumbers);
  EXPECT_PREPARE_REFUSED(args.positions.rank, kNumbers);
  EXPECT_PREPARE_REFUSED(args.start, kFar);
  EXPECT_PREPARE_REFUSED(args.count, kFar);
  posenc_prepared_input* input = NULL;
  EXPECT(posenc_prepare_input(&good, &input) == POSENC_OK);
  EXPECT_ADD_REFUSED(args.x.shape[0], kSizes);
  EXPECT_ADD_REFUSED(args.x.shape[2], kSizes);
  EXPECT_ADD_REFUSED(args.x.strides[1], kSizes);
  EXPECT_ADD_REFUSED(args.x.dtype, kNumbers);
  EXPECT_ADD_REFUSED(args.x.rank, kNumbers);
  EXPECT_ADD_REFUSED(args.positions.type, kNumbers);
  EXPECT_ADD_REFUSED(args.positions.reserved, kNumbers);
  EXPECT_ADD_REFUSED(args.positions.start, kFar);
  EXPECT_ADD_REFUSED(args.token_types_count, kSizes);
  EXPECT_ADD_REFUSED(args.lengths_count, kSizes);
  EXPECT_ADD_REFUSED(args.cu_seqlens_count, kSizes);
  posenc_prepared_input_free(input);
  posenc_plan_free(gpt2);
}

static posenc_attend_args attend_args(void) {
  posenc_attend_args args = POSENC_ATTEND_ARGS_INIT;
  args.plan = plan;
  args.out = heads(out, kTokens, kHeads, kDim);
  args.q = heads(q, kTokens, kHeads, kDim);
  args.k = heads(k, kTokens, kKvHeads, kDim);
  args.v = heads(v, kTokens, kKvHeads, kDim);
  args.cu_seqlens_q = args.cu_seqlens_k = kBounds;
  args.cu_seqlens_q_count = args.cu_seqlens_k_count = 2;
  return args;
}

#define EXPECT_ATTEND_REFUSED(member, numbers)             \
  do {                                                     \
    posenc_attend_args args = attend_args();               \
    EXPECT_REFUSED(posenc_attend(&args), member, numbers); \
  } while (0)

static void attention(void) {
  EXPECT_ATTEND_REFUSED(args.layer, kSizes);
  EXPECT_ATTEND_REFUSED(args.q.shape[0], kSizes);
  EXPECT_ATTEND_REFUSED(args.k.shape[0], kSizes);
  EXPECT_ATTEND_REFUSED(args.k.shape[2], kSizes);
  EXPECT_ATTEND_REFUSED(args.out.strides[0], kSizes);
  EXPECT_ATTEND_REFUSED(args.weights_count, kSizes);
  EXPECT_ATTEND_REFUSED(args.q_order_count, kSizes);
  EXPECT_ATTEND_REFUSED(args.k_segments_count, kSizes);
  EXPECT_ATTEND_REFUSED(args.cu_seqlens_k_count, kSizes);
  EXPECT_ATTEND_REFUSED(args.block_table_count, kSizes);
  EXPECT_ATTEND_REFUSED(args.angles, kNumbers);
  EXPECT_ATTEND_REFUSED(args.products, kNumbers);
  posenc_mask mask = POSENC_MASK_INIT;
  posenc_attend_args args = attend_args();
  args.mask = &mask;
  EXPECT_REFUSED(posenc_attend(&args), mask.kind, kNumbers);
  // A batch of so many tokens that their number wraps.
  args = attend_args();
  args.cu_seqlens_q_count = args.cu_seqlens_k_count = 0;
  posenc_tensor* const all[4] = {&args.out, &args.q, &args.k, &args.v};
  for (int i = 0; i < 4; ++i) {
    all[i]->rank = 4;
    all[i]->shape[0] = all[i]->shape[2] = (int64_t)1 << 32;
    all[i]->shape[3] = kDim;
    for (int axis = 0; axis < 4; ++axis) all[i]->strides[axis] = axis == 3;
  }
  EXPECT(posenc_attend(&args) == POSENC_WRONG_ARGUMENT);
}

// Sequences of a paged cache that it has no blocks for.
static void paged_attention(void) {
  posenc_attend_args args = attend_args();
  const posenc_tensor pages = {.data = k_cache,
                               .dtype = POSENC_F32,
                               .rank = 4,
                               .shape = {1, 4, kKvHeads, kDim},
                               .strides = {4 * kKvHeads * kDim, kKvHeads * kDim, kDim, 1}};
  args.k = args.v = pages;
  args.v.data = v_cache;
  args.block_table = kBlocks;
  args.block_table_count = 1;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  int32_t ends[2] = {0, kTokens};
  args.cu_seqlens_k = ends;
  static const int32_t wrong[] = {-8, 5, 100000000, INT32_MIN, INT32_MAX};
  EXPECT_REFUSED(posenc_attend(&args), ends[1], wrong);
}

static void merging(void) {
  static float lse[kTokens * kHeads];
  const posenc_attend_part part = {
      .out = heads(q, kTokens, kHeads, kDim),
      .lse = {.data = lse, .dtype = POSENC_F32, .rank = 2, .shape = {kTokens, kHeads}, .strides = {kHeads, 1}}};
  posenc_merge_args args = POSENC_MERGE_ARGS_INIT;
  args.out = heads(out, kTokens, kHeads, kDim);
  args.parts = &part;
  args.parts_count = 1;
  EXPECT_REFUSED(posenc_merge(&args), args.parts_count, kSizes);
  args.parts_count = 1;
  EXPECT_REFUSED(posenc_merge(&args), args.out.shape[0], kSizes);
}

// Printable ASCII or UTF-8 above it: no byte steers a terminal.
static int is_text(const char* reason) {
  for (const char* c = reason; *c != '\0'; ++c) {
    if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f) return 0;
  }
  return reason[0] != '\0';
}

static void reasons(void) {
  static const char* const kBad = "\x1b[2J\xff\xe2\x80\xae";
  posenc_plan* none = NULL;
  EXPECT(posenc_plan_preset(kBad, &none) == POSENC_WRONG_ARGUMENT);
  EXPECT(is_text(posenc_last_error()));
  EXPECT(posenc_plan_read(kBad, &none) == POSENC_WRONG_FILE);
  EXPECT(is_text(posenc_last_error()));
  EXPECT(posenc_plan_read_bytes("{", 1, kBad, &none) == POSENC_WRONG_FILE);
  EXPECT(is_text(posenc_last_error()));
  posenc_table* made = NULL;
  EXPECT(posenc_table_of_layer(plan, kBad, 0, NULL, &made) == POSENC_WRONG_ARGUMENT);
  EXPECT(is_text(posenc_last_error()));
  const posenc_named_tensor weight = {.name = kBad, .tensor = heads(q, 1, 1, 1)};
  posenc_attend_args args = attend_args();
  args.weights = &weight;
  args.weights_count = 1;
  EXPECT(posenc_attend(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(is_text(posenc_last_error()));
}

int main(void) {
  EXPECT(posenc_plan_preset("llama-3.1-8b", &plan) == POSENC_OK);
  const posenc_layout layout = layout_of_heads();
  const posenc_table_options options = some_rows();
  static const double inv_freq[kDim / 2] = {1.0};
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, 1.0, &options, &table) == POSENC_OK);
  tables();
  rotation();
  cache();
  input_stage();
  attention();
  paged_attention();
  merging();
  reasons();
  posenc_table_free(table);
  posenc_plan_free(plan);
  return verdict();
}
