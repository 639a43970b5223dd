// The parts of a rotation against RMW (xor_in_place.h), which takes turns with them, on bytes that stay in the first
// cache, in the second, in the third and in none. A goal below what a part takes by itself is out of reach on this
// machine, by this order of loads and stores.
//
// usage: bench_rotate_floors
#include "rotate_floors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "huge_memory.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace posenc::bench {

RotateFloors rotate_floors_avx2();
RotateFloors rotate_floors_avx512();

RotateFloors rotate_floors(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512 && __builtin_cpu_supports("avx512bw")) return rotate_floors_avx512();
  if (isa == Isa::avx2 && __builtin_cpu_supports("avx2")) return rotate_floors_avx2();
#else
  static_cast<void>(isa);
#endif
  return {};
}

}  // namespace posenc::bench

namespace {

using posenc::bench::Candidate;
using posenc::bench::spread;
using posenc::bench::Spread;
using posenc::kernels::Element;

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kHeadDim = 128;
constexpr int kRounds = 61;
constexpr std::int64_t kTimedLines = std::int64_t{1} << 16;

// Rows of heads in place, all turned by 0.
struct Rows {
  Rows(const posenc::bench::HugeMemory& memory, std::int64_t bytes, Element element)
      : angles(kHeadDim, 0.0F), cos(static_cast<std::size_t>(bytes), nullptr) {
    std::fill_n(angles.begin(), kHeadDim / 2, 1.0F);
    const std::int64_t size = element == Element::f32 ? 4 : 2;
    const std::int64_t rows = bytes / (size * kHeads * kHeadDim);
    cos.assign(static_cast<std::size_t>(rows), angles.data());
    all = {.element = element,
           .rows = rows,
           .heads = kHeads,
           .pairs = kHeadDim / 2,
           .partner = kHeadDim / 2,
           .cos = cos.data(),
           .sin_offset = kHeadDim / 2,
           .from = memory.data(),
           .from_row = kHeads * kHeadDim,
           .from_head = kHeadDim,
           .to = memory.data(),
           .to_row = kHeads * kHeadDim,
           .to_head = kHeadDim};
  }
  std::vector<float> angles;      // [cos, sin][pairs]
  std::vector<const float*> cos;  // [rows]
  posenc::kernels::RotateRows all;
};

// Each over the last.
void print(const std::vector<Candidate>& candidates, std::int64_t lines) {
  for (const Candidate& c : candidates) {
    const Spread time = spread(c.seconds);
    const Spread ratio = ratios(c, candidates.back());
    std::printf("  %-34s %6.2f ns a line   %5.2f [%.2f, %.2f] x %s\n", c.name.c_str(),
                time.median * 1e9 / static_cast<double>(lines), ratio.median, ratio.least, ratio.most,
                candidates.back().name.c_str());
  }
}

void measure(const posenc::bench::RotateFloors& floors, Element element, std::int64_t bytes) {
  const posenc::bench::HugeMemory memory(static_cast<std::size_t>(bytes));
  // Zeros: exact in every format, and no conversion is faster or slower for them.
  const Rows rows(memory, bytes, element);
  const std::int64_t lines = bytes / 64;
  const int calls = static_cast<int>(std::max<std::int64_t>(1, kTimedLines / lines));
  std::vector<Candidate> candidates{
      {.name = "the formula, on registers", .run = [&] { floors.turn(element, lines); }, .calls = calls},
      {.name = "loads, conversions, stores", .run = [&] { floors.pass(rows.all); }, .calls = calls},
      {.name = "the kernel", .run = [&] { floors.rotate(rows.all); }, .calls = calls},
      {.name = "RMW",
       .run = [&] { posenc::bench::xor_in_place(memory.data(), static_cast<std::size_t>(bytes)); },
       .calls = calls}};
  take_turns(candidates, kRounds);
  print(candidates, lines);
}

void measure_out_of_place(const posenc::bench::RotateFloors& floors, Element element, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const posenc::bench::HugeMemory from(size);
  const posenc::bench::HugeMemory to(size, 17 * 64);  // loads and stores 4 KiB apart would wait for each other
  Rows rows(from, bytes, element);
  rows.all.to = to.data();
  const std::int64_t lines = bytes / 64;
  const int calls = static_cast<int>(std::max<std::int64_t>(1, kTimedLines / lines));
  std::vector<Candidate> candidates{
      {.name = "loads, conversions, stores", .run = [&] { floors.pass(rows.all); }, .calls = calls},
      {.name = "the kernel", .run = [&] { floors.rotate(rows.all); }, .calls = calls},
      {.name = "memcpy", .run = [&] { std::memcpy(to.data(), from.data(), size); }, .calls = calls}};
  take_turns(candidates, kRounds);
  print(candidates, lines);
}

}  // namespace

int main() {
  for (const auto& [isa, isa_name] : {std::pair{posenc::Isa::avx2, "avx2"}, {posenc::Isa::avx512, "avx512"}}) {
    const posenc::bench::RotateFloors floors = posenc::bench::rotate_floors(isa);
    if (floors.rotate == nullptr) continue;
    for (const auto& [element, name] :
         {std::pair{Element::f32, "f32"}, {Element::f16, "f16"}, {Element::bf16, "bf16"}}) {
      for (const std::int64_t bytes :
           {std::int64_t{16} << 10, std::int64_t{256} << 10, std::int64_t{8} << 20, std::int64_t{64} << 20}) {
        std::printf("%s, %s, half, %d KiB\n", isa_name, name, static_cast<int>(bytes >> 10));
        measure(floors, element, bytes);
      }
      std::printf("%s, %s, half, 8 MiB, out of place\n", isa_name, name);
      measure_out_of_place(floors, element, std::int64_t{8} << 20);
    }
  }
}
