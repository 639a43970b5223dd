// The rotation against what limits it: time over that of xor_in_place.h (in place) or memcpy (out of place) on the same
// bytes, in the same state of the caches, alternating in one process.
//
// Google Benchmark runs the cases: --benchmark_filter chooses among them by name, --benchmark_out keeps what they say.
// Its own interleaving shuffles whole repetitions, and gives no ratio within a round, so the rounds are taking_turns.h.
#include "posenc/rotate.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cpu/rotate/check_rotate.h"
#include "cpu/rotate/plain_call.h"
#include "huge_memory.h"
#include "posenc/info.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace {

using posenc::bench::Candidate;
using posenc::bench::HugeMemory;
using posenc::bench::ratios;
using posenc::bench::Spread;

enum class Caches { warm, evicted };

// One tensor of queries, [tokens, heads, head_dim], rotated on one thread. The goals are those of docs/performance.md.
struct Case {
  std::string name;
  std::int64_t tokens = 512;
  std::int64_t heads = 32;
  std::int64_t head_dim = 128;
  posenc::DType dtype = posenc::DType::f32;
  posenc::Pairing pairing = posenc::Pairing::half;
  Caches caches = Caches::warm;
  bool out_of_place = false;
  bool on_demand = false;   // angles are made as they are needed
  bool head_major = false;  // [1, heads, tokens, head_dim]
  posenc::Isa isa = posenc::Isa::automatic;
  std::optional<double> goal = {};  // at most this much time over the limit
};

constexpr std::int64_t kFirst = 777;  // position

// ---- Measuring a case. ----

// Beside the tensor, as much as a last cache of today holds; read and written before each timed call.
constexpr std::size_t kEvictingBytes = std::size_t{512} << 20U;

// What is timed next finds nothing of its own in the caches, as in a model whose layers take turns with them.
void evict() {
  static const HugeMemory other(kEvictingBytes);
  posenc::bench::xor_in_place(other.data(), kEvictingBytes);
}

// Values between -1 and 1, and the same in every format to what it can hold.
void fill(const HugeMemory& memory, std::int64_t count, posenc::DType dtype) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    const auto sign_and_mantissa = static_cast<std::uint16_t>((state >> 16U) & 0x803FU);
    if (dtype == posenc::DType::f32) {
      const float x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
      std::memcpy(memory.data() + 4 * i, &x, sizeof x);
    } else {  // 0.5 .. 1 with six bits of mantissa: 0x3F00 as bfloat16, 0x3800 as binary16
      const auto x = static_cast<std::uint16_t>(sign_and_mantissa | (dtype == posenc::DType::bf16 ? 0x3F00U : 0x3800U));
      std::memcpy(memory.data() + 2 * i, &x, sizeof x);
    }
  }
}

// seconds: of each round. noisy: memcpy, which is always the same work, varied too much for a verdict.
struct Measured {
  std::vector<double> seconds;
  Spread over_xor;
  Spread over_memcpy;
  bool noisy;
};

// Whether the middle half of the rounds spans more than 15 % of their median.
bool is_noisy(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t n = seconds.size();
  return seconds[n * 3 / 4] - seconds[n / 4] > 0.15 * seconds[n / 2];
}

// Of as many positions as there are tokens, so that a held table is no larger than what a call reads.
posenc::RotaryTable table_of(const Case& c) {
  const posenc::Rope rope{.pairing = c.pairing, .head_dim = c.head_dim, .dim = c.head_dim, .base = 5e5};
  if (c.on_demand) return table_on_demand(rope);
  return make_table(rope, {.start = kFirst, .count = c.tokens});
}

// [1, heads, tokens, head_dim] where a head's rows are adjacent; else a token's heads are.
posenc::TensorView view(void* data, const Case& c) {
  if (c.head_major) return posenc::tensor(data, c.dtype, {1, c.heads, c.tokens, c.head_dim});
  return posenc::tensor(data, c.dtype, {c.tokens, c.heads, c.head_dim});
}

constexpr int kWarmRounds = 31;
constexpr int kEvictedRounds = 11;

int rounds(const Case& c) { return c.caches == Caches::warm ? kWarmRounds : kEvictedRounds; }

// rotate, RMW and memcpy on the same bytes, in turns. In place each call rotates what the last one left, which keeps
// the length of each pair but for rounding: numbers neither overflow nor vanish.
Measured measure_once(const Case& c) {
  const std::int64_t count = c.tokens * c.heads * c.head_dim;
  const auto bytes = static_cast<std::size_t>(count * posenc::bytes_of(c.dtype));
  const HugeMemory x(bytes);
  const HugeMemory y(bytes, 17 * 64);  // loads and stores 4 KiB apart would wait for each other
  fill(x, count, c.dtype);

  const posenc::RotaryTable table = table_of(c);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(c.tokens));
  std::iota(positions.begin(), positions.end(), kFirst);
  posenc::RotateArgs args{.q = view(x.data(), c),
                          .positions = std::span(positions),
                          .table = &table,
                          .parallel = {.threads = 1},
                          .isa = c.isa};
  if (c.out_of_place) {
    args.q_from = args.q;
    args.q = view(y.data(), c);
  }

  // Warm: what is timed has just passed over the same bytes, untimed. Enough calls for the clock to be exact.
  constexpr std::size_t kTimedBytes = std::size_t{16} << 20U;
  const bool is_warm = c.caches == Caches::warm;
  const int calls = is_warm ? static_cast<int>(std::max<std::size_t>(1, kTimedBytes / bytes)) : 1;
  const auto candidate = [&](const char* name, const std::function<void()>& run) {
    return Candidate{.name = name, .run = run, .calls = calls, .before = is_warm ? run : evict};
  };
  std::vector<Candidate> candidates{candidate("rotate", [&] { (void)rotate(args); }),
                                    candidate("xor", [&] { posenc::bench::xor_in_place(x.data(), bytes); }),
                                    candidate("memcpy", [&] {
                                      std::memcpy(y.data(), x.data(), bytes);
                                      benchmark::ClobberMemory();
                                    })};
  posenc::bench::take_turns(candidates, rounds(c));
  return {candidates[0].seconds, ratios(candidates[0], candidates[1]), ratios(candidates[0], candidates[2]),
          is_noisy(candidates[2].seconds)};
}

// Again where the machine was disturbed, a few times at most; what stays noisy is called so.
Measured measure(const Case& c) {
  constexpr int kRepeats = 3;
  Measured out = measure_once(c);
  for (int repeat = 0; out.noisy && repeat < kRepeats; ++repeat) out = measure_once(c);
  return out;
}

std::string format(const char* what, const Spread& ratio) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f [%.2f, %.2f] x %s", ratio.median, ratio.least, ratio.most, what);
  return text;
}

// Held against RMW in place, and against memcpy out of place.
std::string verdict(const Case& c, const Measured& m) {
  if (!c.goal) return "";
  char text[80];
  const double ratio = c.out_of_place ? m.over_memcpy.median : m.over_xor.median;
  std::snprintf(text, sizeof text, ", goal %.2f: %s", *c.goal,
                m.noisy            ? "noisy, not judged"
                : ratio <= *c.goal ? "met"
                                   : "missed");
  return text;
}

// Google Benchmark counts and prints; the rounds have been timed already, and are handed to it one by one.
void run(benchmark::State& state, const Case& c) {
  const Measured m = measure(c);
  std::size_t round = 0;
  for (auto _ : state) state.SetIterationTime(m.seconds[round++]);
  state.SetLabel(format("xor", m.over_xor) + ", " + format("memcpy", m.over_memcpy) + verdict(c, m));
}

// What is checked before a call of `tokens` is rotated: where that is little, a fast path (cpu/rotate/plain_call.h).
void run_check(benchmark::State& state, std::int64_t tokens, bool with_k) {
  const Case c{.name = "", .tokens = tokens};
  std::vector<float> q(static_cast<std::size_t>(tokens * c.heads * c.head_dim));
  std::vector<float> k = q;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
  std::iota(positions.begin(), positions.end(), kFirst);
  const posenc::RotaryTable table = table_of(c);
  const posenc::RotateArgs args{.q = view(q.data(), c),
                                .k = with_k ? view(k.data(), c) : posenc::TensorView{},
                                .positions = std::span(positions),
                                .table = &table,
                                .parallel = {.threads = 1}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(&args);
    if (posenc::cpu::is_small_and_plain(args)) continue;
    benchmark::DoNotOptimize(posenc::cpu::check_rotate("rotate", args));
  }
  if (tokens == 1) state.SetLabel("goal 10 ns");
}

// ---- The cases. ----

struct Format {
  posenc::DType dtype;
  bool is_short;  // two bytes
};
constexpr Format kFormats[] = {{posenc::DType::f32, false}, {posenc::DType::f16, true}, {posenc::DType::bf16, true}};

struct Size {
  const char* name;
  std::int64_t tokens;
  Caches caches;
  double goal;           // f32
  double goal_of_short;  // f16, bf16
};
// Tokens by where a tensor of 32 heads of 128 channels in f32 (16 KiB a token) lies: L1, L2, L3, memory.
constexpr Size kSizes[] = {
    {"1", 1, Caches::warm, 1.7, 5.0},
    {"16", 16, Caches::warm, 1.06, 1.5},
    {"64", 64, Caches::warm, 1.06, 1.5},
    {"512", 512, Caches::warm, 1.03, 1.06},
    {"4096", 4096, Caches::warm, 1.03, 1.06},
    {"4096_evicted", 4096, Caches::evicted, 1.05, 1.10},
    {"1GiB", 65536, Caches::evicted, 1.02, 1.1},
};

// "rotate/512/bf16/half": what --benchmark_filter matches.
std::string named(const Case& c, std::string_view group, std::string_view size) {
  return std::string(group) + "/" + std::string(size) + "/" + std::string(name(c.dtype)) +
         (c.pairing == posenc::Pairing::half ? "/half" : "/interleaved");
}

// Every size, dtype and pairing by a held table, with a goal, and on demand; then out of place, with a goal, and other
// head sizes, layouts and instruction sets.
std::vector<Case> cases() {
  std::vector<Case> out;
  const auto add = [&](Case c, std::string_view group, std::string_view size) {
    c.name = named(c, group, size);
    out.push_back(c);
  };
  for (const Size& size : kSizes) {
    // 1 GiB in every dtype, so twice the tokens in 16 bits.
    const bool is_huge = size.tokens == 65536;
    for (const Format& format : kFormats) {
      for (const posenc::Pairing pairing : {posenc::Pairing::half, posenc::Pairing::interleaved}) {
        Case c{.tokens = is_huge && format.is_short ? 2 * size.tokens : size.tokens,
               .dtype = format.dtype,
               .pairing = pairing,
               .caches = size.caches,
               .goal = format.is_short ? size.goal_of_short : size.goal};
        if (is_huge && pairing == posenc::Pairing::interleaved) c.goal = 1.10;
        add(c, "rotate", size.name);
        c.goal = {};
        c.on_demand = true;
        add(c, "on_demand", size.name);
      }
    }
  }
  for (const Format& format : kFormats) {
    for (const posenc::Pairing pairing : {posenc::Pairing::half, posenc::Pairing::interleaved}) {
      const Case plain{.dtype = format.dtype, .pairing = pairing};
      Case c = plain;
      c.out_of_place = true;
      c.goal = 1.03;
      add(c, "out_of_place", "512");
      for (const std::int64_t head_dim : {64, 80, 96, 256}) {
        c = plain;
        c.head_dim = head_dim;
        add(c, "head_dim_" + std::to_string(head_dim), "512");
      }
      c = plain;
      c.heads = 8;
      add(c, "heads_8", "512");
      c.head_major = true;
      add(c, "heads_8_head_major", "512");
      for (const posenc::Isa isa : posenc::supported_isas()) {
        for (const std::int64_t tokens : {16, 512}) {
          c = plain;
          c.tokens = tokens;
          c.isa = isa;
          add(c, "isa_" + std::string(name(isa)), std::to_string(tokens));
        }
      }
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("processor", posenc::info().cpu);
  benchmark::AddCustomContext("instruction set", std::string(name(posenc::selected_isa())));
  for (const std::int64_t tokens : {1, 512}) {
    for (const bool with_k : {false, true}) {
      const std::string name = "check/" + std::to_string(tokens) + (with_k ? "/q,k" : "/q");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run_check(state, tokens, with_k); });
    }
  }
  for (const Case& c : cases()) {
    benchmark::RegisterBenchmark(c.name.c_str(), [c](benchmark::State& state) { run(state, c); })
        ->UseManualTime()
        ->Iterations(rounds(c))
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
