// Few queries over a KV cache (speculative decode, a batch's last tokens): 1 to 24 of 32 heads on 8 KV heads of 128
// channels, already rotated or on load, in one process and in turn, on one thread. A query's time over that of one
// query alone: above 1 is a cliff; so is a time above that of more queries.
// Then as many keys as 1 to 64 sequences of uneven lengths, each with so many queries: one after another, and in pages
// of 16 tokens that lie in any order.
//
// usage: bench_few_queries [KEYS [ROUNDS [TYPE ...]]]   types: f32, bf16, f16, int8, q8_0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "huge_memory.h"
#include "posenc/attend.h"
#include "posenc/cache.h"
#include "taking_turns.h"

namespace {

using posenc::DType;
using posenc::bench::Candidate;
using posenc::bench::HugeMemory;

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kQueries[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 17, 24};
constexpr std::int64_t kMostQueries = 24;
constexpr std::int64_t kMostSequences = 64;

posenc::LayerPlan layer() {
  posenc::LayerPlan out{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kWidth, .value_dim = kWidth};
  out.softmax_scale = 1 / std::sqrt(static_cast<double>(kWidth));
  out.rotate = {
      {.scheme = posenc::Rope{.pairing = posenc::Pairing::half, .head_dim = kWidth, .dim = kWidth, .base = 500000.0}}};
  return out;
}

DType dtype_of(const std::string& type) {
  if (type == "bf16") return DType::bf16;
  return type == "f16" ? DType::f16 : DType::f32;
}

// Keys and values of `keys` tokens, and queries in f32, or in the cache's own dtype where that has 16 bits.
struct Cache {
  // With room for so many tokens more.
  Cache(const std::string& type, std::int64_t keys, const std::vector<float>& numbers, std::int64_t more = 0)
      : size(static_cast<std::size_t>((keys + more) * kKvHeads * kWidth)),
        k(4 * size),
        v(4 * size, 2048),
        q(4 * static_cast<std::size_t>(kMostQueries * kHeads * kWidth)),
        dtype(dtype_of(type)) {
    std::vector<std::int64_t> slots(static_cast<std::size_t>(keys));
    std::iota(slots.begin(), slots.end(), 0);
    posenc::CacheArgs store{.k = posenc::tensor(numbers.data(), {keys, kKvHeads, kWidth}),
                            .v = posenc::tensor(numbers.data(), {keys, kKvHeads, kWidth}),
                            .slots = slots};
    if (type == "int8" || type == "q8_0") {
      const bool has_scales = type == "int8";
      scales.resize(2 * static_cast<std::size_t>(keys * kKvHeads));
      const auto view = [&](HugeMemory& memory, float* of) {
        posenc::QuantisedView out = posenc::quantised(
            static_cast<void*>(memory.data()), has_scales ? posenc::CacheFormat::int8 : posenc::CacheFormat::q8_0,
            {keys, kKvHeads, kWidth});
        if (has_scales) out.scales = posenc::tensor(of, {keys, kKvHeads});
        return out;
      };
      args.k_quantised = store.k_quantised = view(k, scales.data());
      args.v_quantised = store.v_quantised = view(v, scales.data() + keys * kKvHeads);
    } else {
      const auto view = [&](HugeMemory& memory) {
        return posenc::tensor(static_cast<void*>(memory.data()), dtype, {keys, kKvHeads, kWidth});
      };
      args.k = store.k_cache = view(k);
      args.v = store.v_cache = view(v);
    }
    (void)posenc::rotate_into_cache(store);
    // Queries are stored as a cache's first tokens would be.
    const std::int64_t tokens = kMostQueries * kHeads / kKvHeads;
    const posenc::ConstTensorView given = posenc::tensor(numbers.data(), {tokens, kKvHeads, kWidth});
    (void)posenc::rotate_into_cache(
        {.k = given,
         .k_cache = posenc::tensor(static_cast<void*>(q.data()), dtype, {tokens, kKvHeads, kWidth}),
         .slots = std::span(slots).first(static_cast<std::size_t>(tokens))});
    args.parallel.threads = 1;
  }

  std::size_t size;
  HugeMemory k, v, q;
  DType dtype;
  std::vector<float> scales;
  posenc::AttendArgs args;
};

void measure(const std::string& type, std::int64_t keys, int rounds, bool on_load, const std::vector<float>& numbers) {
  const posenc::LayerPlan plan = layer();
  const Cache cache(type, keys, numbers);
  std::vector<float> out(static_cast<std::size_t>(kMostQueries * kHeads * kWidth));
  std::vector<Candidate> candidates;
  for (const std::int64_t n : kQueries) {
    posenc::AttendArgs args = cache.args;
    args.inputs.k_rotated = !on_load;
    args.q = posenc::tensor(static_cast<const void*>(cache.q.data()), cache.dtype, {n, kHeads, kWidth});
    args.out = posenc::tensor(out.data(), {n, kHeads, kWidth});
    candidates.push_back({.name = std::to_string(n), .run = [&plan, args] { (void)posenc::attend(plan, args); }});
  }
  posenc::bench::take_turns(candidates, rounds);
  std::printf("%s, %lld keys, %s\n", type.c_str(), static_cast<long long>(keys),
              on_load ? "rotated on load" : "rotated already");
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto n = static_cast<double>(kQueries[i]);
    const posenc::bench::Spread time = posenc::bench::spread(candidates[i].seconds);
    const posenc::bench::Spread over_one = ratios(candidates[i], candidates[0]);
    std::printf("  %2s queries %9.3f ms [%.3f, %.3f]   a query over one alone %.2f [%.2f, %.2f]\n",
                candidates[i].name.c_str(), time.median * 1e3, time.least * 1e3, time.most * 1e3, over_one.median / n,
                over_one.least / n, over_one.most / n);
  }
}

// Sequences of lengths in proportion to 1, 2, ..., and the pages that their tokens are in.
struct Batch {
  static constexpr std::int64_t kPage = 16;

  Batch(std::int64_t sequences, std::int64_t queries, std::int64_t keys) {
    std::vector<std::int64_t> own;
    for (std::int64_t s = 0; s < sequences; ++s) {
      const std::int64_t length = keys * 2 * (s + 1) / (sequences * (sequences + 1));
      of_queries.push_back(of_queries.back() + static_cast<std::int32_t>(queries));
      of_keys.push_back(of_keys.back() + static_cast<std::int32_t>(length));
      own.push_back((length + kPage - 1) / kPage);
    }
    pages = std::reduce(own.begin(), own.end());
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, std::mt19937(1));
    auto next = order.begin();
    for (const std::int64_t count : own) {
      table.insert(table.end(), next, next + count);
      table.resize(table.size() + static_cast<std::size_t>(own.back() - count), -1);  // the last is the longest
      next += count;
    }
  }

  std::vector<std::int32_t> of_queries{0}, of_keys{0}, table;
  std::int64_t pages;
};

// Memory is read as pages as it is: what is in it does not count.
void measure_batches(const std::string& type, std::int64_t keys, int rounds, const std::vector<float>& numbers) {
  const posenc::LayerPlan plan = layer();
  const Cache cache(type, keys, numbers, kMostSequences * Batch::kPage);
  std::vector<float> out(static_cast<std::size_t>(kMostSequences * kMostQueries * kHeads * kWidth));
  const HugeMemory q(out.size() * 4);
  std::printf("%s, %lld keys of all sequences, rotated already\n", type.c_str(), static_cast<long long>(keys));
  for (const std::int64_t sequences : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}, kMostSequences}) {
    for (const std::int64_t queries : {2, 4, 8, 16}) {
      const Batch batch(sequences, queries, keys);
      const auto view = [&](const HugeMemory& memory, std::initializer_list<std::int64_t> shape) {
        return posenc::tensor(static_cast<const void*>(memory.data()), cache.dtype, shape);
      };
      posenc::AttendArgs args = cache.args;
      args.inputs.k_rotated = true;
      args.inputs.cu_seqlens_q = batch.of_queries;
      args.inputs.cu_seqlens_k = batch.of_keys;
      args.q = view(q, {sequences * queries, kHeads, kWidth});
      args.out = posenc::tensor(out.data(), {sequences * queries, kHeads, kWidth});
      args.k = view(cache.k, {batch.of_keys.back(), kKvHeads, kWidth});
      args.v = view(cache.v, {batch.of_keys.back(), kKvHeads, kWidth});
      posenc::AttendArgs paged = args;
      paged.k = view(cache.k, {batch.pages, Batch::kPage, kKvHeads, kWidth});
      paged.v = view(cache.v, {batch.pages, Batch::kPage, kKvHeads, kWidth});
      paged.pages.block_table = batch.table;
      std::vector<Candidate> candidates{
          {.name = "together", .run = [&] { (void)posenc::attend(plan, args); }},
          {.name = "in pages", .run = [&] { (void)posenc::attend(plan, paged); }},
      };
      posenc::bench::take_turns(candidates, rounds);
      const posenc::bench::Spread ratio = ratios(candidates[1], candidates[0]);
      std::printf("  %2lld sequences of %2lld queries %9.3f ms   in pages %9.3f, %.2f [%.2f, %.2f] times\n",
                  static_cast<long long>(sequences), static_cast<long long>(queries),
                  posenc::bench::spread(candidates[0].seconds).median * 1e3,
                  posenc::bench::spread(candidates[1].seconds).median * 1e3, ratio.median, ratio.least, ratio.most);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t keys = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 4096;
  const int rounds = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 9;
  if (keys < kMostQueries * kHeads / kKvHeads || rounds < 1) {
    std::fprintf(stderr, "usage: bench_few_queries [KEYS [ROUNDS [TYPE ...]]], 96 keys or more\n");
    return 2;
  }
  std::vector<std::string> types = {"f32", "bf16", "f16", "int8", "q8_0"};
  if (argc > 3) types.assign(argv + 3, argv + argc);
  std::vector<float> numbers(static_cast<std::size_t>(keys * kKvHeads * kWidth));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& x : numbers) x = normal(random);
  for (const bool on_load : {false, true}) {
    for (const std::string& type : types) measure(type, keys, rounds, on_load, numbers);
  }
  for (const std::string& type : types) {
    if (type != "int8" && type != "q8_0") measure_batches(type, keys, rounds, numbers);
  }
}
