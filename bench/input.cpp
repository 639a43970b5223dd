// add_input against the least that it can do to the same bytes, read, XOR, write back (xor_in_place.h), and against a
// plain loop that the compiler makes vectors of. "x" is how many times as fast as the limit: 1 is the speed of
// that pass over memory. Learned tables are read too, so their limit is that pass and one that only reads.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "huge_memory.h"
#include "posenc/add_input.h"
#include "read_memory.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace {

using posenc::bench::Candidate;
using posenc::bench::HugeMemory;

constexpr std::int64_t kChannels = 1024;
constexpr int kRounds = 15;
constexpr std::size_t kTimedBytes = std::size_t{4} << 20U;

// What anybody would write for f32; p: [tokens, channels].
void plain_loop(float* x, const float* p, std::int64_t count, float m) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = m * x[i] + p[i];
}

void measure(std::int64_t tokens, posenc::DType dtype) {
  const std::size_t bytes = static_cast<std::size_t>(tokens * kChannels * bytes_of(dtype));
  const HugeMemory x(bytes);
  // Offsets apart, so that no store shares the lower 12 bits of its address with the loads beside it.
  const HugeMemory table(bytes, 1024);
  const auto view = posenc::tensor(x.data(), dtype, {tokens, kChannels});
  const posenc::ConstTensorView rows = posenc::tensor(table.data(), dtype, {tokens, kChannels});
  const posenc::SinusoidalInput marian{.convention = posenc::SinusoidConvention::marian};
  const auto prepare = [&](const posenc::InputScheme& scheme, const posenc::InputWeights& weights, bool holds) {
    return posenc::prepare_input(scheme, weights, {.channels = kChannels, .count = holds ? tokens : 0});
  };
  const posenc::PreparedInput learned =
      prepare(posenc::LearnedInput{}, posenc::LearnedInputWeights{.positions = rows}, false);
  const posenc::PreparedInput held = prepare(marian, {}, true);
  const posenc::PreparedInput made = prepare(marian, {}, false);
  const posenc::PreparedInput paper = prepare(posenc::SinusoidalInput{}, {}, false);
  const int calls = static_cast<int>(std::max<std::size_t>(1, kTimedBytes / bytes));
  const auto candidate = [&](const std::string& name, const std::function<void()>& run) {
    return Candidate{.name = name, .run = run, .calls = calls, .before = run};
  };
  const auto add = [&](const std::string& name, const posenc::PreparedInput& input) {
    return candidate(name, [&] { (void)add_input(input, {.x = view, .parallel = {.threads = 1}}); });
  };
  volatile std::uint64_t sum = 0;
  std::vector<Candidate> candidates{
      candidate("read, XOR, write back", [&] { posenc::bench::xor_in_place(x.data(), bytes); }),
      candidate("  and a table read",
                [&] {
                  posenc::bench::xor_in_place(x.data(), bytes);
                  sum = posenc::bench::read_memory(table.data(), bytes);
                }),
      add("learned", learned)};
  // Of a batch of four: a quarter of the rows are the sums of four tokens each, the others 0.
  const HugeMemory d_table(bytes, 2048);
  if (dtype != posenc::DType::f64 && tokens >= 4) {
    candidates.push_back(candidate("gradient of a learned table", [&] {
      (void)add_input_backward(learned, {.d_out = posenc::tensor(x.data(), dtype, {4, tokens / 4, kChannels}),
                                         .d_positions = posenc::tensor(d_table.data(), dtype, {tokens, kChannels}),
                                         .parallel = {.threads = 1}});
    }));
  }
  if (dtype != posenc::DType::f64) {  // whose sines are the C library's, some 10 ns each
    candidates.push_back(add("sinusoidal, rows held", held));
    candidates.push_back(add("sinusoidal, rows made", made));
    candidates.push_back(add("  the paper's order", paper));
  }
  if (dtype == posenc::DType::f32) {
    candidates.push_back(candidate("a plain loop over a table", [&] {
      plain_loop(reinterpret_cast<float*>(x.data()), reinterpret_cast<const float*>(table.data()), tokens * kChannels,
                 1.0F);
    }));
  }
  posenc::bench::take_turns(candidates, kRounds);
  std::printf("%lld tokens, %s\n", static_cast<long long>(tokens), std::string(name(dtype)).c_str());
  posenc::bench::print(candidates, static_cast<double>(tokens), "token");
}

}  // namespace

int main() {
  for (const posenc::DType dtype : {posenc::DType::f32, posenc::DType::f16, posenc::DType::bf16, posenc::DType::f64}) {
    for (const std::int64_t tokens : {1, 16, 512, 16384}) measure(tokens, dtype);
  }
}
