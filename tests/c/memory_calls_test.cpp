// No memory in the calls beside the forward pass: gradients, linear attention, the input stage, quantised caches, views
// of a cache and sharding. Outputs stay as they were.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "c/no_memory.h"
#include "posenc/c.h"

namespace posenc::test::c_memory_calls_test {
namespace {

constexpr std::int64_t kFew = 40;

posenc_tensor matrix(std::vector<float>& x, std::int64_t rows, std::int64_t columns) {
  return {.data = x.data(), .dtype = POSENC_F32, .rank = 2, .shape = {rows, columns}, .strides = {columns, 1}};
}

posenc_plan* plan_of(const std::string& config) {
  posenc_plan* plan = nullptr;
  EXPECT_EQ(posenc_plan_read_bytes(config.data(), config.size(), "config.json", &plan), POSENC_OK);
  return plan;
}

struct Rows {
  std::vector<float> q = some(kFew, kHeads);
  std::vector<float> k = some(kFew, kKvHeads);
  std::vector<float> v = some(kFew, kKvHeads);
  std::vector<float> out = std::vector<float>(q.size());
  std::vector<float> lse = std::vector<float>(static_cast<std::size_t>(kFew * kHeads));
  std::vector<float> d_out = some(kFew, kHeads);
  std::vector<float> d_q = std::vector<float>(q.size());
};

TEST(NoMemory, OfGradients) {
  const Model model;
  Rows rows;
  auto forward = sized<posenc_attend_args>();
  forward.plan = model.plan;
  forward.q = heads_of(rows.q, kFew, kHeads);
  forward.k = heads_of(rows.k, kFew, kKvHeads);
  forward.v = heads_of(rows.v, kFew, kKvHeads);
  forward.out = heads_of(rows.out, kFew, kHeads);
  forward.lse = matrix(rows.lse, kFew, kHeads);
  ASSERT_EQ(posenc_attend(&forward), POSENC_OK);
  auto args = sized<posenc_attend_backward_args>();
  args.plan = model.plan;
  args.q = forward.q;
  args.k = forward.k;
  args.v = forward.v;
  args.out = forward.out;
  args.lse = forward.lse;
  args.d_out = heads_of(rows.d_out, kFew, kHeads);
  args.d_q = heads_of(rows.d_q, kFew, kHeads);
  args.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_attend_backward(&args); }, &rows.d_q), 10);
}

TEST(NoMemory, OfLinearAttention) {
  posenc_plan* const plan = plan_of(
      R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 2,
          "num_hidden_layers": 1, "max_position_embeddings": 64})");
  std::vector<float> x = some(kFew, 2);
  std::vector<float> out(x.size());
  auto args = sized<posenc_attend_linear_args>();
  args.plan = plan;
  args.q = args.k = args.v = heads_of(x, kFew, 2);
  args.out = heads_of(out, kFew, 2);
  args.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_attend_linear(&args); }, &out), 5);
  std::vector<float> d_q(x.size());
  auto back = sized<posenc_attend_linear_backward_args>();
  back.plan = plan;
  back.q = back.k = back.v = args.q;
  back.d_out = args.q;
  back.d_q = heads_of(d_q, kFew, 2);
  back.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_attend_linear_backward(&back); }, &d_q), 5);
  posenc_plan_free(plan);
}

TEST(NoMemory, OfInputs) {
  posenc_plan* const plan =
      plan_of(R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1, "n_positions": 64, "n_ctx": 64})");
  std::vector<float> table = some(64, 1);
  std::vector<float> x = some(kFew, 1);
  auto prepare = sized<posenc_prepare_input_args>();
  prepare.plan = plan;
  prepare.positions = matrix(table, 64, kDim);
  EXPECT_GT(expect_no_memory_for<posenc_prepared_input>(
                [&](posenc_prepared_input** made) { return posenc_prepare_input(&prepare, made); },
                posenc_prepared_input_free),
            2);
  posenc_prepared_input* prepared = nullptr;
  ASSERT_EQ(posenc_prepare_input(&prepare, &prepared), POSENC_OK);
  auto args = sized<posenc_add_input_args>();
  args.prepared = prepared;
  args.x = matrix(x, kFew, kDim);
  args.threads = 1;
  expect_no_memory([&] { return posenc_add_input(&args); }, &x);
  std::vector<float> d_positions(table.size());
  auto back = sized<posenc_add_input_backward_args>();
  back.prepared = prepared;
  back.d_out = args.x;
  back.d_positions = matrix(d_positions, 64, kDim);
  back.threads = 1;
  expect_no_memory([&] { return posenc_add_input_backward(&back); }, &d_positions);
  posenc_prepared_input_free(prepared);
  posenc_plan_free(plan);
}

TEST(NoMemory, OfCosAndSin) {
  const Model model;
  std::vector<float> cos(static_cast<std::size_t>(kFew * kDim / 2));
  std::vector<float> sin = cos;
  const posenc_positions positions{.type = POSENC_COUNTED, .reserved = 0, .start = 0, .data = nullptr, .count = 0};
  expect_no_memory([&] { return posenc_cos_sin(model.table, &positions, kFew, cos.data(), sin.data()); }, &cos);
  auto layout = sized<posenc_layout>();
  expect_no_memory([&] { return posenc_table_layout(model.table, &layout); });
}

TEST(NoMemory, OfQuantisedCaches) {
  const Model model;
  std::vector<float> k = some(kFew, kKvHeads);
  std::vector<float> scales(static_cast<std::size_t>(kFew * kKvHeads));
  std::vector<std::int8_t> codes(k.size());
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < kFew; ++t) slots.push_back(t);
  const posenc_quantised held{.format = POSENC_INT8,
                              .rank = 3,
                              .data = codes.data(),
                              .shape = {kFew, kKvHeads, kDim},
                              .strides = {kKvHeads * kDim, kDim, 1},
                              .scales = matrix(scales, kFew, kKvHeads),
                              .zeros = {},
                              .scale = 0,
                              .group = 0};
  auto store = sized<posenc_cache_args>();
  store.k = heads_of(k, kFew, kKvHeads);
  store.k_quantised = &held;
  store.slots = slots.data();
  store.slots_count = kFew;
  store.threads = 1;
  expect_no_memory([&] { return posenc_rotate_into_cache(&store); }, &scales);
  std::vector<float> read(k.size());
  const posenc_tensor to = heads_of(read, kFew, kKvHeads);
  expect_no_memory([&] { return posenc_dequantise(&to, &held, 0); }, &read);

  std::vector<float> d_k(k.size());
  auto back = sized<posenc_cache_backward_args>();
  back.d_k_cache = to;
  back.k = store.k;
  back.table = model.table;
  back.slots = slots.data();
  back.slots_count = kFew;
  back.d_k = heads_of(d_k, kFew, kKvHeads);
  back.threads = 1;
  expect_no_memory([&] { return posenc_rotate_into_cache_backward(&back); }, &d_k);
}

// A view that a failed call was to change is what it was.
TEST(NoMemory, OfViews) {
  EXPECT_GT(expect_no_memory_for<posenc_cache_view>(
                [](posenc_cache_view** made) { return posenc_cache_view_new(16, 2, made); }, posenc_cache_view_free),
            0);
  posenc_cache_view* view = nullptr;
  ASSERT_EQ(posenc_cache_view_new(16, 2, &view), POSENC_OK);
  ASSERT_EQ(posenc_cache_view_append(view, 0, 8, nullptr), POSENC_OK);
  EXPECT_GT(expect_no_memory_for<posenc_cache_view>(
                [&](posenc_cache_view** made) { return posenc_cache_view_passage(view, 2, 4, made); },
                posenc_cache_view_free),
            0);
  posenc_cache_view* passage = nullptr;
  ASSERT_EQ(posenc_cache_view_passage(view, 2, 4, &passage), POSENC_OK);
  const auto change = [&](const std::function<posenc_status()>& call) {
    std::array<std::int64_t, 2> was{};
    const auto is = [&] { return std::array{posenc_cache_view_tokens(view), posenc_cache_view_next_position(view)}; };
    return expect_no_memory(call, nullptr,
                            {.before = [&] { was = is(); },
                             .after = [&](posenc_status status) { EXPECT_TRUE(status == POSENC_OK || is() == was); }});
  };
  const std::array<std::int64_t, 4> coordinates{7, 8, 9, 5};
  EXPECT_GT(change([&] { return posenc_cache_view_append(view, 40, 2, coordinates.data()); }), 1);
  EXPECT_GT(change([&] { return posenc_cache_view_insert(view, 3, passage); }), 2);
  EXPECT_GT(change([&] { return posenc_cache_view_erase(view, 1, 1, 0); }), 2);
  change([&] { return posenc_cache_view_shift(view, 5); });
  const std::int64_t queries = 1;
  const posenc_cache_view* const views = view;
  EXPECT_GT(expect_no_memory_for<posenc_view_rows>(
                [&](posenc_view_rows** made) { return posenc_view_rows_new(&views, &queries, 1, made); },
                posenc_view_rows_free),
            1);
  posenc_view_rows* rows = nullptr;
  ASSERT_EQ(posenc_view_rows_new(&views, &queries, 1, &rows), POSENC_OK);
  auto args = sized<posenc_attend_args>();
  expect_no_memory([&] { return posenc_view_rows_give(rows, &args); });
  posenc_view_rows_free(rows);
  posenc_cache_view_free(passage);
  posenc_cache_view_free(view);
}

TEST(NoMemory, OfSharding) {
  const Model model;
  auto args = sized<posenc_shard_args>();
  args.ranks = 2;
  args.dealing = POSENC_DEAL_BALANCED;
  args.tokens = 64;
  EXPECT_GT(expect_no_memory_for<posenc_sharding>([&](posenc_sharding** made) { return posenc_shard(&args, made); },
                                                  posenc_sharding_free),
            5);
  posenc_sharding* sharding = nullptr;
  ASSERT_EQ(posenc_shard(&args, &sharding), POSENC_OK);
  auto cost = sized<posenc_shard_cost_args>();
  cost.plan = model.plan;
  cost.queries = sharding;
  cost.ulysses_ranks = 1;
  cost.query_bytes = cost.key_bytes = 2;
  std::array<posenc_rank_cost, 2> costs{};
  EXPECT_GT(expect_no_memory([&] { return posenc_shard_cost(&cost, costs.data(), 2); }), 2);
  auto own = sized<posenc_rank_rows>();
  expect_no_memory([&] { return posenc_sharding_rank(sharding, 0, &own); });
  const std::int64_t* places = nullptr;
  std::int64_t tokens = 0;
  expect_no_memory([&] { return posenc_sharding_places(sharding, &places, &tokens); });
  posenc_sharding_free(sharding);
}

}  // namespace
}  // namespace posenc::test::c_memory_calls_test
