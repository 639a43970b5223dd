// Decode on quantised KV caches: one token of 32 heads on 8 KV heads of 128 channels, against a cache of bfloat16 and
// against reading the cache's bytes, in one process and in turn, on one thread. Keys are rotated already, or on load.
//
// usage: bench_quantised [KEYS [ROUNDS]]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "huge_memory.h"
#include "posenc/attend.h"
#include "posenc/cache.h"
#include "read_memory.h"
#include "taking_turns.h"

namespace {

using posenc::CacheFormat;
using posenc::bench::Candidate;
using posenc::bench::HugeMemory;

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kWidth = 128;
constexpr std::int64_t kGroup = 32;

std::uint64_t sink = 0;

// Keys or values of a format, and their bytes.
struct Cache {
  Cache(CacheFormat format, std::int64_t keys, const float* numbers)
      : bytes(static_cast<std::size_t>(keys * kKvHeads * posenc::cache_row_bytes(format, kWidth))), codes(bytes, 1024) {
    view = posenc::quantised(static_cast<void*>(codes.data()), format, {keys, kKvHeads, kWidth});
    const bool by_channel = format == CacheFormat::int4_by_channel;
    if (format < CacheFormat::q8_0 || by_channel) {
      const std::int64_t count = by_channel ? keys / kGroup * kKvHeads * kWidth : keys * kKvHeads;
      const auto tensor = [&](std::vector<float>& memory) {
        memory.resize(static_cast<std::size_t>(count));
        return by_channel ? posenc::tensor(memory.data(), {keys / kGroup, kKvHeads, kWidth})
                          : posenc::tensor(memory.data(), {keys, kKvHeads});
      };
      if (by_channel) view.group = kGroup;
      view.scales = tensor(scales);
      const bool has_zeros =
          by_channel || format == CacheFormat::int8_asymmetric || format == CacheFormat::int4_asymmetric;
      if (has_zeros) view.zeros = tensor(zeros);
    }
    std::vector<std::int64_t> slots(static_cast<std::size_t>(keys));
    std::iota(slots.begin(), slots.end(), 0);
    (void)posenc::rotate_into_cache(
        {.k = posenc::tensor(numbers, {keys, kKvHeads, kWidth}), .k_quantised = view, .slots = slots});
  }

  std::size_t bytes;
  HugeMemory codes;
  std::vector<float> scales, zeros;
  posenc::QuantisedView view;
};

struct Pair {
  const char* name;
  CacheFormat k;
  CacheFormat v;
};

posenc::LayerPlan layer() {
  posenc::LayerPlan out{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kWidth, .value_dim = kWidth};
  out.softmax_scale = 1 / std::sqrt(static_cast<double>(kWidth));
  out.rotate = {
      {.scheme = posenc::Rope{.pairing = posenc::Pairing::half, .head_dim = kWidth, .dim = kWidth, .base = 500000.0}}};
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t keys = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 32768;
  const int rounds = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 9;
  const auto size = static_cast<std::size_t>(keys * kKvHeads * kWidth);
  std::vector<float> numbers(size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& x : numbers) x = normal(random);
  const HugeMemory k_bf16(2 * size);
  const HugeMemory v_bf16(2 * size, 2048);
  const posenc::TensorView k =
      posenc::tensor(static_cast<void*>(k_bf16.data()), posenc::DType::bf16, {keys, kKvHeads, kWidth});
  const posenc::TensorView v =
      posenc::tensor(static_cast<void*>(v_bf16.data()), posenc::DType::bf16, {keys, kKvHeads, kWidth});
  std::vector<std::int64_t> slots(static_cast<std::size_t>(keys));
  std::iota(slots.begin(), slots.end(), 0);
  const posenc::ConstTensorView given =
      posenc::tensor(static_cast<const float*>(numbers.data()), {keys, kKvHeads, kWidth});
  (void)posenc::rotate_into_cache({.k = given, .v = given, .k_cache = k, .v_cache = v, .slots = slots});

  const posenc::LayerPlan plan = layer();
  std::vector<float> out(static_cast<std::size_t>(kHeads * kWidth));
  const posenc::AttendArgs common{.out = posenc::tensor(out.data(), {1, kHeads, kWidth}),
                                  .q = posenc::tensor(static_cast<const float*>(numbers.data()), {1, kHeads, kWidth}),
                                  .parallel = {.threads = 1}};
  std::printf("%lld keys, one token of %lld heads on %lld KV heads of %lld, one thread; x: over bf16\n",
              static_cast<long long>(keys), static_cast<long long>(kHeads), static_cast<long long>(kKvHeads),
              static_cast<long long>(kWidth));
  for (const bool on_load : {false, true}) {
    std::printf("%s\n", on_load ? "rotated on load" : "rotated already");
    std::vector<Candidate> candidates;
    const auto add = [&](const std::string& name, posenc::AttendArgs args) {
      args.inputs.k_rotated = !on_load;
      candidates.push_back({.name = name, .run = [&plan, args] { (void)posenc::attend(plan, args); }});
    };
    posenc::AttendArgs of_bf16 = common;
    of_bf16.k = k;
    of_bf16.v = v;
    add("bf16", of_bf16);
    std::vector<std::unique_ptr<Cache>> caches;
    for (const Pair& pair :
         {Pair{"int8", CacheFormat::int8, CacheFormat::int8},
          Pair{"int8, asymmetric values", CacheFormat::int8, CacheFormat::int8_asymmetric},
          Pair{"int4", CacheFormat::int4, CacheFormat::int4},
          Pair{"fp8 e4m3", CacheFormat::fp8_e4m3, CacheFormat::fp8_e4m3},
          Pair{"fp8 e5m2", CacheFormat::fp8_e5m2, CacheFormat::fp8_e5m2},
          Pair{"q8_0", CacheFormat::q8_0, CacheFormat::q8_0}, Pair{"q4_0", CacheFormat::q4_0, CacheFormat::q4_0},
          Pair{"q5_1", CacheFormat::q5_1, CacheFormat::q5_1},
          Pair{"int4 by channel, int4 values", CacheFormat::int4_by_channel, CacheFormat::int4}}) {
      const Cache& of_k = *caches.emplace_back(std::make_unique<Cache>(pair.k, keys, numbers.data()));
      const Cache& of_v = *caches.emplace_back(std::make_unique<Cache>(pair.v, keys, numbers.data()));
      posenc::AttendArgs args = common;
      args.k_quantised = of_k.view;
      args.v_quantised = of_v.view;
      add(pair.name, args);
    }
    const auto read = [&](const char* name, const char* first, const char* second, std::size_t bytes) {
      candidates.push_back({.name = name, .run = [=] {
                              sink ^= posenc::bench::read_memory(first, bytes / 512 * 512);
                              sink ^= posenc::bench::read_memory(second, bytes / 512 * 512);
                            }});
    };
    read("reading bf16's bytes", k_bf16.data(), v_bf16.data(), 2 * size);
    read("reading int8's bytes", caches[0]->codes.data(), caches[1]->codes.data(), caches[0]->bytes);
    posenc::bench::take_turns(candidates, rounds);
    posenc::bench::print(candidates, static_cast<double>(keys), "key");
  }
  return sink == 1 ? 1 : 0;
}
