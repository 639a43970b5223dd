// No memory: each operator new of each call of c.h fails once, and all from one on. The call gives POSENC_NO_MEMORY and
// writes nothing, until it has all that it asks for.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "c/no_memory.h"
#include "posenc/c.h"

namespace posenc::test::c_memory_test {
namespace {

// The first: what a process makes once is made by these.
TEST(NoMemory, OfPlans) {
  posenc_plan* plan = nullptr;
  const auto preset = [&] {
    const posenc_status status = posenc_plan_preset("llama-3.2-1b", &plan);
    if (status == POSENC_OK) posenc_plan_free(plan);
    return status;
  };
  EXPECT_GT(expect_no_memory(preset), 100);
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
          "max_position_embeddings": 64, "rope_thetta": 1, "unread": {"a": [1, "\u0041"]}})";
  const auto read = [&] {
    const posenc_status status = posenc_plan_read_bytes(config.data(), config.size(), "config.json", &plan);
    if (status == POSENC_OK) posenc_plan_free(plan);
    return status;
  };
  EXPECT_GT(expect_no_memory(read), 100);
  const Model model;
  std::size_t size = 0;
  EXPECT_GT(expect_no_memory([&] { return posenc_plan_json(model.plan, nullptr, &size); }), 5);
}

TEST(NoMemory, OfTables) {
  const Model model;
  auto options = sized<posenc_table_options>();
  options.count = 100;
  posenc_table* table = nullptr;
  const auto of_layer = [&] {
    const posenc_status status = posenc_table_of_layer(model.plan, nullptr, 0, &options, &table);
    if (status == POSENC_OK) posenc_table_free(table);
    return status;
  };
  EXPECT_GT(expect_no_memory(of_layer), 2);
  auto layout = sized<posenc_layout>();
  layout.axes = 1;
  layout.pairing = POSENC_HALF;
  layout.head_dim = layout.dim = kDim;
  const std::array<double, kDim / 2> inv_freq{1.0};
  const auto of_frequencies = [&] {
    const posenc_status status = posenc_table_of_frequencies(&layout, inv_freq.data(), 1.0, &options, &table);
    if (status == POSENC_OK) posenc_table_free(table);
    return status;
  };
  EXPECT_GT(expect_no_memory(of_frequencies), 2);
}

TEST(NoMemory, OfRotations) {
  const Model model;
  std::vector<float> k = some(kTokens, kKvHeads);
  std::vector<std::int32_t> ends;
  std::vector<const posenc_table*> tables;
  for (std::int32_t s = 0; s <= kTokens; ++s) ends.push_back(s);
  tables.assign(kTokens, model.table);
  auto args = sized<posenc_rotate_args>();
  args.k = heads_of(k, kTokens, kKvHeads);
  args.tables = tables.data();
  args.tables_count = kTokens;
  args.cu_seqlens = ends.data();
  args.cu_seqlens_count = kTokens + 1;
  args.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_rotate(&args); }, &k), 0);

  auto again = sized<posenc_rerotate_args>();
  again.k = args.k;
  again.from_table = again.to_table = model.table;
  again.from_positions.start = 7;
  again.threads = 1;
  again.plan = model.plan;
  expect_no_memory([&] { return posenc_rerotate(&again); }, &k);
}

TEST(NoMemory, OfCaches) {
  const Model model;
  std::vector<float> k = some(kTokens, kKvHeads);
  std::vector<float> cache(k.size());
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < kTokens; ++t) slots.push_back(kTokens - 1 - t);
  auto args = sized<posenc_cache_args>();
  args.k = heads_of(k, kTokens, kKvHeads);
  args.k_cache = heads_of(cache, kTokens, kKvHeads);
  args.table = model.table;
  args.slots = slots.data();
  args.slots_count = kTokens;
  args.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_rotate_into_cache(&args); }, &cache), 0);
}

TEST(NoMemory, OfAttention) {
  const Model model;
  std::vector<float> q = some(4, kHeads);
  std::vector<float> k = some(4, kKvHeads);
  std::vector<float> v = some(4, kKvHeads);
  std::vector<float> out(q.size());
  auto args = sized<posenc_attend_args>();
  args.plan = model.plan;
  args.out = heads_of(out, 4, kHeads);
  args.q = heads_of(q, 4, kHeads);
  args.k = heads_of(k, 4, kKvHeads);
  args.v = heads_of(v, 4, kKvHeads);
  args.threads = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_attend(&args); }, &out), 10);

  auto prepare = sized<posenc_prepare_layer_args>();
  prepare.plan = model.plan;
  prepare.threads = 1;
  posenc_prepared_layer* prepared = nullptr;
  const auto prepare_one = [&] {
    const posenc_status status = posenc_prepare_layer(&prepare, &prepared);
    if (status == POSENC_OK) posenc_prepared_layer_free(prepared);
    return status;
  };
  EXPECT_GT(expect_no_memory(prepare_one), 2);

  std::vector<float> lse(4 * kHeads);
  const posenc_attend_part part{
      .out = args.q,
      .lse = {.data = lse.data(), .dtype = POSENC_F32, .rank = 2, .shape = {4, kHeads}, .strides = {kHeads, 1}}};
  auto merge = sized<posenc_merge_args>();
  merge.out = args.out;
  merge.parts = &part;
  merge.parts_count = 1;
  EXPECT_GT(expect_no_memory([&] { return posenc_merge(&merge); }, &out), 1);
}

}  // namespace
}  // namespace posenc::test::c_memory_test
