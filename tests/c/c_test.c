// The C ABI, used as a C program would: from a model's name to rotated keys, and every way to be refused.
#include "posenc/c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

static const double kRounding = 0x1p-24;  // the largest relative error of one operation in f32

static void plans(void) {
  posenc_plan* plan = NULL;
  EXPECT_ERROR(posenc_plan_preset("llama-3.1-8", &plan), POSENC_WRONG_ARGUMENT, posenc_last_error());
  EXPECT(strstr(posenc_last_error(), "llama-3.1-8b") != NULL);
  EXPECT(plan == NULL);
  EXPECT(posenc_plan_read("no/such/file", &plan) == POSENC_WRONG_FILE);
  EXPECT(strstr(posenc_last_error(), "no/such/file") != NULL);
  EXPECT_ERROR(posenc_plan_read(NULL, &plan), POSENC_WRONG_ARGUMENT,
               "[posenc_plan_read] path must be given but is NULL");
  EXPECT_ERROR(posenc_plan_read("x", NULL), POSENC_WRONG_ARGUMENT, "[posenc_plan_read] plan must be given but is NULL");
  EXPECT(posenc_plan_read_bytes("{", 1, NULL, &plan) == POSENC_WRONG_FILE);

  EXPECT(posenc_plan_preset("llama-3.1-8b", &plan) == POSENC_OK);
  EXPECT(strcmp(posenc_last_error(), "") == 0);
  size_t size = 0;
  EXPECT(posenc_plan_json(plan, NULL, &size) == POSENC_OK);
  EXPECT(size > 1000);
  char* const json = malloc(size);
  size_t room = size - 1;
  EXPECT(posenc_plan_json(plan, json, &room) == POSENC_WRONG_ARGUMENT);
  EXPECT(room == size);
  EXPECT(posenc_plan_json(plan, json, &room) == POSENC_OK);
  EXPECT(json[0] == '{' && strlen(json) + 1 == size);
  free(json);
  posenc_plan_free(plan);
  posenc_plan_free(NULL);
}

// [count, channels], one after another.
static posenc_tensor rows(float* data, int64_t count, int64_t channels) {
  const posenc_tensor out = {
      .data = data, .dtype = POSENC_F32, .rank = 2, .shape = {count, channels}, .strides = {channels, 1}};
  return out;
}

static void report(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("gemma-3-4b", &plan) == POSENC_OK);
  const posenc_plan* const plans[] = {plan, plan};
  posenc_report_options options = POSENC_REPORT_OPTIONS_INIT;
  size_t size = 0;
  EXPECT_ERROR(posenc_report(plans, 0, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_report] count must be from 1 to 4096 but is 0");
  const posenc_plan* const missing[] = {plan, NULL};
  EXPECT_ERROR(posenc_report(missing, 2, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_report] plans[1] must be given but is NULL");
  options.length = -1;
  EXPECT_ERROR(posenc_report(plans, 2, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[report] length must be from 1 to 2^53 tokens but is -1");
  options.length = 4096;
  options.against = plan;
  EXPECT(posenc_report(plans, 1, &options, NULL, &size) == POSENC_OK);
  char* const page = malloc(size);
  EXPECT(posenc_report(plans, 1, &options, page, &size) == POSENC_OK);
  EXPECT(strncmp(page, "<!DOCTYPE html>", 15) == 0 && strstr(page, "\"verdict\": \"same\"") != NULL);
  options.json = 1;
  size_t json_size = size;
  EXPECT(posenc_report(plans, 1, &options, page, &json_size) == POSENC_OK);
  EXPECT(json_size < size && page[0] == '{');
  free(page);
  posenc_plan_free(plan);
}

static void extension(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("llama-2-7b", &plan) == POSENC_OK);
  posenc_extend_options options = POSENC_EXTEND_OPTIONS_INIT;
  size_t size = 0;
  EXPECT_ERROR(posenc_extend(plan, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[study_extension] to must be from 1 to 2^53 tokens but is 0");
  EXPECT_ERROR(posenc_extend(NULL, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_extend] plan must be given but is NULL");
  options.to = 16384;
  EXPECT(posenc_extend(plan, &options, NULL, &size) == POSENC_OK);
  char* text = malloc(size);
  EXPECT(posenc_extend(plan, &options, text, &size) == POSENC_OK);
  EXPECT(strstr(text, "from 4096 to 16384 tokens") != NULL && strstr(text, "recommended: YaRN") != NULL);
  options.from = 8192;
  size_t small = 1;
  EXPECT(posenc_extend(plan, &options, text, &small) == POSENC_WRONG_ARGUMENT && small > 1);
  free(text);

  // As JSON, with the caller's own queries and keys, and the file that a patch is for.
  posenc_plan_free(plan);
  static const char kConfig[] =
      "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_attention_heads\": 32, \"num_hidden_layers\": 2,"
      " \"max_position_embeddings\": 4096, \"rope_scaling\": null}";
  EXPECT(posenc_plan_read_bytes(kConfig, sizeof(kConfig) - 1, "config.json", &plan) == POSENC_OK);
  float rows_of_q[2 * 32 * 128];
  for (int64_t n = 0; n < 2 * 32 * 128; ++n) rows_of_q[n] = (float)(n % 7) - 3.0F;
  const posenc_tensor q = {
      .data = rows_of_q, .dtype = POSENC_F32, .rank = 3, .shape = {2, 32, 128}, .strides = {32 * 128, 128, 1}};
  options.q = q;
  EXPECT(posenc_extend(plan, &options, NULL, &size) == POSENC_WRONG_ARGUMENT);
  options.k = q;
  options.json = 1;
  options.config_json = "{\"model_type\": \"gpt2\"}";
  EXPECT_ERROR(posenc_extend(plan, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[override_patches] config_json must be what the plan was read from but is another model's");
  options.config_json = kConfig;
  EXPECT(posenc_extend(plan, &options, NULL, &size) == POSENC_OK);
  text = malloc(size);
  EXPECT(posenc_extend(plan, &options, text, &size) == POSENC_OK);
  EXPECT(text[0] == '{' && strstr(text, "\"from\": 8192") != NULL && strstr(text, "hugging_face_old") != NULL);
  EXPECT(strstr(text, "\"entropy_of_given_before\"") != NULL);
  free(text);
  posenc_plan_free(plan);
}

static void code(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("gemma-3-4b", &plan) == POSENC_OK);
  posenc_emit_options options = POSENC_EMIT_OPTIONS_INIT;
  size_t size = 0;
  EXPECT_ERROR(posenc_emit(plan, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_emit] options->as must be given but is NULL");
  options.as = "fortran";
  EXPECT_ERROR(posenc_emit(plan, &options, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[posenc_emit] options->as must be one of numpy, torch, c, cpp, cuda, triton, metal but is fortran");
  options.as = "c";
  EXPECT(posenc_emit(plan, &options, NULL, &size) == POSENC_WRONG_ARGUMENT);  // layers differ
  EXPECT(strstr(posenc_last_error(), "[emit] layer must be given") != NULL);
  options.layer = 5;
  EXPECT(posenc_emit(plan, &options, NULL, &size) == POSENC_OK);
  char* const text = malloc(size);
  size_t room = size - 1;
  EXPECT(posenc_emit(plan, &options, text, &room) == POSENC_WRONG_ARGUMENT);
  EXPECT(room == size);
  EXPECT(posenc_emit(plan, &options, text, &room) == POSENC_OK);
  EXPECT(strlen(text) + 1 == size && strstr(text, "void attention(") != NULL);
  free(text);
  posenc_plan_free(plan);
}

static void reuse(void) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("llama-3.1-8b", &plan) == POSENC_OK);
  posenc_reuse_args args = POSENC_REUSE_ARGS_INIT;
  EXPECT_ERROR(posenc_reuse_verdict(&args, NULL, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_reuse_verdict] args->plan must be given but is NULL");
  args.plan = plan;
  args.layer = 3;
  args.operation = 9;
  EXPECT_ERROR(posenc_reuse_verdict(&args, NULL, NULL, NULL), POSENC_WRONG_ARGUMENT,
               "[posenc_reuse_verdict] args->operation must be from 0 to 8 but is 9");
  args.operation = POSENC_SHIFT;
  posenc_reuse_verdict_out verdict = {0};
  EXPECT(posenc_reuse_verdict(&args, &verdict, NULL, NULL) == POSENC_OK);
  EXPECT(verdict.reuse == POSENC_EXACT && verdict.reach == 0 && verdict.period == 1);
  args.operation = POSENC_EVICT;
  args.keys_rotated = 1;
  char text[4096];
  size_t size = sizeof text;
  EXPECT(posenc_reuse_verdict(&args, &verdict, text, &size) == POSENC_OK);
  EXPECT(verdict.reuse == POSENC_APPROXIMATE && verdict.reach == -1);
  EXPECT(strstr(text, "rounded_again") != NULL && strstr(text, "mixed_context") != NULL);
  args.reader = plan;
  args.operation = POSENC_SHARE;
  EXPECT(posenc_reuse_verdict(&args, &verdict, NULL, NULL) == POSENC_OK && verdict.reuse == POSENC_EXACT);
  size = 0;
  EXPECT_ERROR(posenc_study_cache(plan, "vision", 0, 0, NULL, &size), POSENC_WRONG_ARGUMENT,
               "[reuse_verdict] stack must be one of the plan's: decoder but is \"vision\"");
  EXPECT(posenc_study_cache(plan, NULL, 0, 0, NULL, &size) == POSENC_OK && size > 1000);
  posenc_plan_free(plan);
}

// Three tokens of which the middle one goes, as attention over the two that are left.
static void view(void) {
  enum { kDim = 128, kHeads = 32, kKvHeads = 8, kRow = kKvHeads * kDim };
  posenc_cache_view* view = NULL;
  posenc_cache_view* none = NULL;
  EXPECT_ERROR(posenc_cache_view_new(0, 1, &none), POSENC_WRONG_ARGUMENT,
               "[CacheView] block_size must be from 1 to 2^20 but is 0");
  EXPECT(none == NULL && posenc_cache_view_tokens(NULL) == 0);
  EXPECT(posenc_cache_view_new(4, 1, &view) == POSENC_OK);
  const int64_t places[] = {5, 6, 7};
  EXPECT(posenc_cache_view_append(view, 1, 3, places) == POSENC_OK);
  EXPECT(posenc_cache_view_next_position(view) == 8);
  EXPECT(posenc_cache_view_erase(view, 1, 1, 0) == POSENC_OK);
  EXPECT(posenc_cache_view_shift(view, -5) == POSENC_OK);
  EXPECT(posenc_cache_view_tokens(view) == 2 && posenc_cache_view_next_position(view) == 2);
  posenc_cache_view* passage = NULL;
  EXPECT(posenc_cache_view_passage(view, 1, 1, &passage) == POSENC_OK);
  EXPECT(posenc_cache_view_erase(view, 1, 1, 0) == POSENC_OK);
  EXPECT(posenc_cache_view_insert(view, 1, passage) == POSENC_OK);
  EXPECT_ERROR(posenc_cache_view_insert(view, 9, passage), POSENC_WRONG_ARGUMENT,
               "[CacheView::insert] at must be from 0 to 2 but is 9");

  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("llama-3.1-8b", &plan) == POSENC_OK);
  float* const cache = malloc(4 * kRow * sizeof(float));
  float* const q = malloc(kHeads * kDim * sizeof(float));
  float* const out = malloc(kHeads * kDim * sizeof(float));
  float* const whole = malloc(kHeads * kDim * sizeof(float));
  float* const two = malloc(2 * kRow * sizeof(float));
  for (int n = 0; n < 4 * kRow; ++n) cache[n] = (float)sin(n * 0.7);
  for (int n = 0; n < kHeads * kDim; ++n) q[n] = (float)cos(n * 0.3);
  memcpy(two, cache + kRow, kRow * sizeof(float));             // slot 1
  memcpy(two + kRow, cache + 3 * kRow, kRow * sizeof(float));  // slot 3
  posenc_view_rows* rows = NULL;
  const posenc_cache_view* const views[] = {view};
  const int64_t queries[] = {1};
  EXPECT(posenc_view_rows_new(views, queries, 1, &rows) == POSENC_OK);
  const posenc_tensor pages = {.data = cache,
                               .dtype = POSENC_F32,
                               .rank = 4,
                               .shape = {1, 4, kKvHeads, kDim},
                               .strides = {4 * kRow, kRow, kDim, 1}};
  const posenc_tensor keys = {
      .data = two, .dtype = POSENC_F32, .rank = 3, .shape = {2, kKvHeads, kDim}, .strides = {kRow, kDim, 1}};
  const posenc_tensor asks = {
      .data = q, .dtype = POSENC_F32, .rank = 3, .shape = {1, kHeads, kDim}, .strides = {kHeads * kDim, kDim, 1}};
  posenc_attend_args args = POSENC_ATTEND_ARGS_INIT;
  args.plan = plan;
  args.q = asks;
  args.out = asks;
  args.out.data = whole;
  args.k = args.v = keys;
  EXPECT(posenc_attend(&args) == POSENC_OK);
  args.out.data = out;
  args.k = args.v = pages;
  EXPECT(posenc_view_rows_give(rows, &args) == POSENC_OK);
  EXPECT(posenc_attend(&args) == POSENC_OK);
  for (int n = 0; n < kHeads * kDim; ++n) EXPECT(fabs(out[n] - whole[n]) <= 64 * kRounding);
  posenc_view_rows_free(rows);
  posenc_cache_view_free(passage);
  posenc_cache_view_free(view);
  posenc_plan_free(plan);
  free(cache);
  free(q);
  free(out);
  free(whole);
  free(two);
}

static void rotation(void) {
  enum { kTokens = 3, kHeads = 2, kDim = 128, kCount = kTokens * kHeads * kDim };
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_preset("llama-3.1-8b", &plan) == POSENC_OK);
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = 64;
  posenc_table* held = NULL;
  posenc_table* demand = NULL;
  EXPECT(posenc_table_of_layer(plan, "decoder", 31, &options, &held) == POSENC_OK);
  EXPECT(posenc_table_of_layer(plan, NULL, 0, NULL, &demand) == POSENC_OK);
  EXPECT_ERROR(posenc_table_of_layer(plan, NULL, 32, NULL, &demand), POSENC_WRONG_ARGUMENT,
               "[posenc_table_of_layer] layer must be at least 0 and below 32 but is 32");
  posenc_layout layout = POSENC_LAYOUT_INIT;
  EXPECT(posenc_table_layout(held, &layout) == POSENC_OK);
  EXPECT(layout.pairing == POSENC_HALF && layout.head_dim == kDim && layout.dim == kDim && layout.axes == 1);
  EXPECT(posenc_table_attention_factor(held) == 1.0);

  static float k[kCount];
  static float first[kCount];
  for (int i = 0; i < kCount; ++i) k[i] = first[i] = (float)(i % 17) - 8.0F;
  posenc_rotate_args args = POSENC_ROTATE_ARGS_INIT;
  args.k = heads(k, kTokens, kHeads, kDim);
  args.positions.start = 5;
  args.table = held;
  EXPECT(posenc_rotate(&args) == POSENC_OK);

  static float cosines[kTokens * kDim / 2];
  static float sines[kTokens * kDim / 2];
  const posenc_positions positions = {.type = POSENC_COUNTED, .start = 5};
  EXPECT(posenc_cos_sin(demand, &positions, kTokens, cosines, sines) == POSENC_OK);
  for (int t = 0; t < kTokens; ++t) {
    for (int h = 0; h < kHeads; ++h) {
      for (int p = 0; p < kDim / 2; ++p) {
        const float* const x = first + (t * kHeads + h) * kDim;
        const float* const y = k + (t * kHeads + h) * kDim;
        const double a = x[p];
        const double b = x[p + kDim / 2];
        const double c = cosines[t * kDim / 2 + p];
        const double s = sines[t * kDim / 2 + p];
        // A product is rounded, and the fused sum; the products here are exact.
        const double bound = kRounding * (fabs(a) + fabs(b) + hypot(a, b));
        EXPECT(fabs(y[p] - (a * c - b * s)) <= bound);
        EXPECT(fabs(y[p + kDim / 2] - (b * c + a * s)) <= bound);
      }
    }
  }

  // Shifted by 7, then back to where they began.
  const int32_t from[kTokens] = {5, 6, 7};
  posenc_rerotate_args shift = POSENC_REROTATE_ARGS_INIT;
  shift.k = args.k;
  shift.from_table = held;
  shift.from_positions.type = POSENC_INT32;
  shift.from_positions.data = from;
  shift.from_positions.count = kTokens;
  shift.to_table = demand;
  shift.to_positions.start = 12;
  shift.plan = plan;
  EXPECT(posenc_rerotate(&shift) == POSENC_OK);
  args.positions.start = 12;
  args.direction = POSENC_INVERSE;
  EXPECT(posenc_rotate(&args) == POSENC_OK);
  // Three rotations of pairs up to (8, 8): each is off by a rounding of c and s, a product and the sum, and rotates
  // what was off before, which makes that sqrt 2 as large at most.
  const double rotated_back = 3 * sqrt(2) * kRounding * (16 + 8 + 8 * sqrt(2));
  for (int i = 0; i < kCount; ++i) EXPECT(fabs((double)k[i] - (double)first[i]) <= rotated_back);

  args.direction = 7;
  EXPECT_ERROR(posenc_rotate(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_rotate] direction must be POSENC_FORWARD, _INVERSE or _TRANSPOSE but is 7");
  args.direction = POSENC_FORWARD;
  args.positions.start = 62;
  EXPECT(posenc_rotate(&args) == POSENC_WRONG_ARGUMENT);
  args.positions.start = 0;
  args.k.dtype = 9;
  EXPECT(posenc_rotate(&args) == POSENC_WRONG_ARGUMENT);
  args.size = 1;
  EXPECT(posenc_rotate(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(posenc_rotate(NULL) == POSENC_WRONG_ARGUMENT);
  posenc_table_free(held);
  posenc_table_free(demand);
  posenc_plan_free(plan);
}

// The second pair rotates clockwise.
static void own_frequencies(void) {
  const double inv_freq[2] = {1.0, -0.5};
  posenc_layout layout = POSENC_LAYOUT_INIT;
  layout.head_dim = 4;
  layout.dim = 4;
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = 3;
  posenc_table* table = NULL;
  EXPECT_ERROR(posenc_table_of_frequencies(&layout, inv_freq, 2.0, &options, &table), POSENC_WRONG_ARGUMENT,
               "[posenc_table_of_frequencies] layout->pairing must be POSENC_HALF or POSENC_INTERLEAVED but is not "
               "given");
  layout.pairing = POSENC_INTERLEAVED;
  EXPECT_ERROR(posenc_table_of_frequencies(&layout, inv_freq, 2.0, NULL, &table), POSENC_WRONG_ARGUMENT,
               "[posenc_table_of_frequencies] options->count must be at least 1 but is 0, as options is NULL");
  options.count = 0;
  EXPECT_ERROR(posenc_table_of_frequencies(&layout, inv_freq, 2.0, &options, &table), POSENC_WRONG_ARGUMENT,
               "[posenc_table_of_frequencies] options->count must be at least 1 but is 0");
  EXPECT(table == NULL);
  options.count = 3;
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, 2.0, &options, &table) == POSENC_OK);
  float cosine[2] = {0, 0};
  float sine[2] = {0, 0};
  const int64_t position = 2;
  const posenc_positions positions = {.type = POSENC_INT64, .data = &position, .count = 1};
  EXPECT(posenc_cos_sin(table, &positions, 1, cosine, sine) == POSENC_OK);
  EXPECT(cosine[0] == (float)(2.0 * cos(2.0)) && sine[1] == (float)(2.0 * sin(-1.0)));
  posenc_table_free(table);
  layout.dim = 6;
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, 2.0, &options, &table) == POSENC_WRONG_ARGUMENT);
}

// Two tokens into rows 3 and 1 of a cache, normalised to length 1 before they rotate; then what must be refused.
static void cache(void) {
  enum { kDim = 4, kRows = 5 };
  const double inv_freq[2] = {1.0, 0.5};
  posenc_layout layout = POSENC_LAYOUT_INIT;
  layout.pairing = POSENC_HALF;
  layout.head_dim = layout.dim = kDim;
  posenc_table_options options = POSENC_TABLE_OPTIONS_INIT;
  options.count = 8;
  posenc_table* table = NULL;
  EXPECT(posenc_table_of_frequencies(&layout, inv_freq, 1.0, &options, &table) == POSENC_OK);
  float k[2 * kDim] = {3, 0, 4, 0, 0, 5, 0, 12};
  float v[2 * kDim] = {1, 2, 3, 4, 5, 6, 7, 8};
  float k_cache[kRows * kDim] = {0};
  float v_cache[kRows * kDim] = {0};
  const int64_t slots[2] = {3, 1};
  posenc_cache_args args = POSENC_CACHE_ARGS_INIT;
  args.k = heads(k, 2, 1, kDim);
  args.v = heads(v, 2, 1, kDim);
  args.k_cache = heads(k_cache, kRows, 1, kDim);
  args.v_cache = heads(v_cache, kRows, 1, kDim);
  args.slots = slots;
  args.slots_count = 2;
  args.table = table;
  args.positions.start = 6;
  args.norm = POSENC_L2_NORM;
  args.epsilon = 0.0;
  EXPECT(posenc_rotate_into_cache(&args) == POSENC_OK);
  // Of pairs of length 1: half a rounding of each of c and s, times 1.4; one of a product, one of the sum; one of the
  // norm's product, rotated along, times 1.4.
  const double stored = 4.2 * kRounding;
  const float* const first = k_cache + 3 * kDim;  // (3, 4) / 5 rotated by 6 radians
  EXPECT(fabs(first[0] - (0.6 * cos(6.0) - 0.8 * sin(6.0))) <= stored);
  EXPECT(fabs(first[2] - (0.8 * cos(6.0) + 0.6 * sin(6.0))) <= stored);
  EXPECT(first[1] == 0.0F && first[3] == 0.0F);
  const float* const second = k_cache + kDim;  // (5, 12) / 13 rotated by 7 half radians
  EXPECT(fabs(second[1] - (5 * cos(3.5) - 12 * sin(3.5)) / 13) <= stored);
  EXPECT(memcmp(v_cache + 3 * kDim, v, kDim * sizeof *v) == 0);
  EXPECT(memcmp(v_cache + kDim, v + kDim, kDim * sizeof *v) == 0);
  // What came of the second key moves with the key's length alone: none of its gradient passes the norm.
  float d_k[2 * kDim];
  posenc_cache_backward_args back = POSENC_CACHE_BACKWARD_ARGS_INIT;
  back.d_k_cache = args.k_cache;
  back.d_v_cache = args.v_cache;
  back.k = args.k;
  back.positions = args.positions;
  back.table = table;
  back.norm = POSENC_L2_NORM;
  back.epsilon = 0.0;
  back.slots = slots;
  back.slots_count = 2;
  back.d_k = heads(d_k, 2, 1, kDim);
  float d_v[2 * kDim];
  back.d_v = heads(d_v, 2, 1, kDim);
  EXPECT(posenc_rotate_into_cache_backward(&back) == POSENC_OK);
  // Of y = R k / |k|, the gradient of |y|^2 / 2: 0, but for what y was off, its rotation back and two products.
  for (int i = 0; i < 2 * kDim; ++i) EXPECT(fabs(d_k[i]) <= 4 * stored);
  EXPECT(memcmp(d_v, v, sizeof v) == 0);
  back.norm = POSENC_NO_NORM;
  EXPECT(posenc_rotate_into_cache_backward(&back) == POSENC_OK);
  EXPECT(fabs(d_k[0] - 0.6) <= 2 * stored && fabs(d_k[2] - 0.8) <= 2 * stored);
  back.d_norm_weight = rows(d_v, 1, kDim);
  EXPECT_ERROR(posenc_rotate_into_cache_backward(&back), POSENC_WRONG_ARGUMENT,
               "[rotate_into_cache_backward] d_norm_weight must be omitted, since the call has no such tensor but is "
               "given");
  back.size = 8;
  EXPECT(posenc_rotate_into_cache_backward(&back) == POSENC_WRONG_ARGUMENT);
  args.norm = 9;
  EXPECT_ERROR(posenc_rotate_into_cache(&args), POSENC_WRONG_ARGUMENT,
               "[posenc_rotate_into_cache] norm must be POSENC_NO_NORM, _RMS_NORM, _L2_NORM or _LAYER_NORM but is 9");
  args.norm = POSENC_NO_NORM;
  args.slots_count = 1;
  EXPECT(posenc_rotate_into_cache(&args) == POSENC_WRONG_ARGUMENT);
  posenc_table_free(table);
}

// A learned table, and sinusoids that are held: of plans, as a program has them.
static void input_stage(void) {
  enum { kChannels = 4, kTokens = 3 };
  static const char kGpt2[] =
      "{\"model_type\": \"gpt2\", \"n_embd\": 4, \"n_head\": 2, \"n_layer\": 1, \"n_positions\": 5}";
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kGpt2, sizeof kGpt2 - 1, "gpt2", &plan) == POSENC_OK);
  float table[5 * kChannels];
  for (int i = 0; i < 5 * kChannels; ++i) table[i] = (float)i;
  posenc_prepare_input_args prepare = POSENC_PREPARE_INPUT_ARGS_INIT;
  posenc_prepared_input* input = NULL;
  prepare.plan = plan;
  prepare.positions = rows(table, 5, kChannels);
  EXPECT(posenc_prepare_input(&prepare, &input) == POSENC_OK);
  float x[kTokens * kChannels], before[kTokens * kChannels];
  for (int i = 0; i < kTokens * kChannels; ++i) before[i] = x[i] = 0.5F * (float)i;
  posenc_add_input_args args = POSENC_ADD_INPUT_ARGS_INIT;
  args.prepared = input;
  args.x = rows(x, kTokens, kChannels);
  args.positions.start = 2;
  EXPECT(posenc_add_input(&args) == POSENC_OK);
  for (int i = 0; i < kTokens * kChannels; ++i) EXPECT(x[i] == before[i] + table[2 * kChannels + i]);
  float d_table[5 * kChannels], d_x[kTokens * kChannels];
  posenc_add_input_backward_args back = POSENC_ADD_INPUT_BACKWARD_ARGS_INIT;
  back.prepared = input;
  back.d_out = rows(x, kTokens, kChannels);
  back.d_x = rows(d_x, kTokens, kChannels);
  back.d_positions = rows(d_table, 5, kChannels);
  back.positions.start = 2;
  EXPECT(posenc_add_input_backward(&back) == POSENC_OK);
  EXPECT(memcmp(d_x, x, sizeof x) == 0);  // each token has a row of its own
  for (int i = 0; i < 5 * kChannels; ++i) {
    const int at = i - 2 * kChannels;
    EXPECT(d_table[i] == (at >= 0 && at < kTokens * kChannels ? x[at] : 0.0F));
  }
  back.d_positions = rows(d_table, 4, kChannels);
  EXPECT(posenc_add_input_backward(&back) == POSENC_WRONG_ARGUMENT);
  back.size = 8;
  EXPECT(posenc_add_input_backward(&back) == POSENC_WRONG_ARGUMENT);
  memcpy(before, x, sizeof x);
  args.positions.start = 3;
  EXPECT_ERROR(posenc_add_input(&args), POSENC_WRONG_ARGUMENT,
               "[add_input] positions must find one of the table's 5 rows, position + 0, but is 5");
  args.size = 8;
  EXPECT(posenc_add_input(&args) == POSENC_WRONG_ARGUMENT);
  EXPECT(strstr(posenc_last_error(), "as its INIT macro sets it") != NULL);
  args.size = sizeof args;
  args.prepared = NULL;
  EXPECT_ERROR(posenc_add_input(&args), POSENC_WRONG_ARGUMENT, "[posenc_add_input] prepared must be given but is NULL");
  EXPECT(memcmp(x, before, sizeof x) == 0);

  posenc_prepared_input* none = NULL;
  const double scale = 2.0;
  prepare.scale = &scale;
  EXPECT_ERROR(posenc_prepare_input(&prepare, &none), POSENC_WRONG_ARGUMENT,
               "[posenc_prepare_input] scale must be NULL for an input that is not sinusoidal but is given");
  prepare.scale = NULL;
  prepare.input = 1;
  EXPECT_ERROR(posenc_prepare_input(&prepare, &none), POSENC_WRONG_ARGUMENT,
               "[posenc_prepare_input] input must be at least 0 and below 1, as many as the stack has, but is 1");
  prepare.input = 0;
  prepare.stack = "tower";
  EXPECT(posenc_prepare_input(&prepare, &none) == POSENC_WRONG_ARGUMENT);
  prepare.stack = NULL;
  prepare.size = 1;
  EXPECT(posenc_prepare_input(&prepare, &none) == POSENC_WRONG_ARGUMENT);
  prepare.size = sizeof prepare;
  EXPECT(posenc_prepare_input(&prepare, NULL) == POSENC_WRONG_ARGUMENT);
  EXPECT(none == NULL);
  posenc_prepared_input_free(input);
  posenc_prepared_input_free(NULL);
  posenc_plan_free(plan);
}

static void sinusoids(void) {
  enum { kChannels = 4 };
  static const char kMarian[] =
      "{\"model_type\": \"marian\", \"d_model\": 4, \"encoder_attention_heads\": 1, \"decoder_attention_heads\": 1, "
      "\"encoder_layers\": 1, \"decoder_layers\": 1, \"max_position_embeddings\": 64}";
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kMarian, sizeof kMarian - 1, "marian", &plan) == POSENC_OK);
  posenc_prepare_input_args prepare = POSENC_PREPARE_INPUT_ARGS_INIT;
  prepare.plan = plan;
  prepare.channels = kChannels;
  prepare.count = 8;
  posenc_prepared_input* input = NULL;
  EXPECT(posenc_prepare_input(&prepare, &input) == POSENC_OK);
  float x[kChannels] = {0}, from[kChannels] = {1, 2, 3, 4};
  posenc_add_input_args args = POSENC_ADD_INPUT_ARGS_INIT;
  args.prepared = input;
  args.x = rows(x, 1, kChannels);
  args.x_from = rows(from, 1, kChannels);
  args.positions.start = 5;
  EXPECT(posenc_add_input(&args) == POSENC_OK);
  // m x + p, m = 1 without scale_embedding: two roundings of numbers below 5, and one of a sine.
  const double bound = 3 * 5 * kRounding;
  EXPECT(fabs(x[0] - (1 + sin(5.0))) <= bound && fabs(x[1] - (2 + sin(0.05))) <= bound);
  EXPECT(fabs(x[2] - (3 + cos(5.0))) <= bound && fabs(x[3] - (4 + cos(0.05))) <= bound);
  float table[kChannels] = {0};
  posenc_prepared_input* none = NULL;
  prepare.positions = rows(table, 1, kChannels);
  EXPECT_ERROR(posenc_prepare_input(&prepare, &none), POSENC_WRONG_ARGUMENT,
               "[posenc_prepare_input] positions and token_types must be omitted for an input that is not a learned "
               "table but is given");
  EXPECT(none == NULL);
  posenc_prepared_input_free(input);
  posenc_plan_free(plan);
}

int main(void) {
  EXPECT(strlen(posenc_version()) >= 5);
  plans();
  code();
  report();
  extension();
  reuse();
  view();
  rotation();
  own_frequencies();
  cache();
  input_stage();
  sinusoids();
  return verdict();
}
