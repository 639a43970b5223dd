// The parts of a rotation against RMW (xor_in_place.h), which alternates with them, on bytes that stay in the first
// cache, in the second, in the third and in none. A goal below what a part takes by itself is out of reach on this
// machine, by this order of loads and stores.
//
// usage: bench_rotate_floors [orders]     orders: those of loads and stores alone
#include "rotate_floors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "huge_memory.h"
#include "posenc/line_allocator.h"
#include "posenc/rotate.h"
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
constexpr int kOrderRounds = 601;  // one and a half seconds; orders differ by a hundredth
// 4 MiB between two looks at the clock.
constexpr std::int64_t kTimedLines = std::int64_t{1} << 16;

// Whether each row reads a cos and a sin of its own, as in a table, or all rows the same, which stay in the first
// cache.
enum class Angles { same, own };

// Rows of heads in place, all rotated by 0.
// all: what the kernel is given (kernels.h), with the strides of [rows, heads, head_dim].
struct Rows {
  Rows(const posenc::bench::HugeMemory& memory, std::int64_t bytes, Element element, Angles of = Angles::same) {
    const std::int64_t size = element == Element::f32 ? 4 : 2;
    const std::int64_t rows = bytes / (size * kHeads * kHeadDim);
    const std::int64_t step = of == Angles::own ? kHeadDim : 0;
    angles.assign(static_cast<std::size_t>(kHeadDim + (rows - 1) * step), 0.0F);
    for (std::int64_t row = 0; row < rows; ++row) {
      cos.push_back(angles.data() + row * step);
      std::fill_n(angles.begin() + row * step, kHeadDim / 2, 1.0F);
    }
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
  std::vector<float, posenc::LineAllocator<float>> angles;  // as in a table: [1 or rows][cos, sin][pairs]
  std::vector<const float*> cos;                            // [rows]
  posenc::kernels::RotateRows all;
};

// Each over the last.
// The last candidate is RMW, or memcpy out of place: 1 is the speed of moving the bytes.
void print(const std::vector<Candidate>& candidates, std::int64_t lines) {
  for (const Candidate& c : candidates) {
    const Spread time = spread(c.seconds);
    const Spread ratio = ratios(c, candidates.back());
    std::printf("  %-43s %6.2f ns a line   %5.2f [%.2f, %.2f] x %s\n", c.name.c_str(),
                time.median * 1e9 / static_cast<double>(lines), ratio.median, ratio.least, ratio.most,
                candidates.back().name.c_str());
  }
}

// Calls that together take long enough for the clock.
int calls_of(std::int64_t lines) { return static_cast<int>(std::max<std::int64_t>(1, kTimedLines / lines)); }

// The parts by themselves, in place, half-split: no kernel can be faster than the slowest of them.
void measure(const posenc::bench::RotateFloors& floors, Element element, std::int64_t bytes) {
  const posenc::bench::HugeMemory memory(static_cast<std::size_t>(bytes));
  // Zeros: exact in every format, and no conversion is faster or slower for them.
  const Rows rows(memory, bytes, element);
  const std::int64_t lines = bytes / 64;
  const int calls = calls_of(lines);
  std::vector<Candidate> candidates{
      {.name = "the formula, on registers", .run = [&] { floors.rotate_registers(element, lines); }, .calls = calls},
      {.name = "loads, conversions, stores", .run = [&] { floors.pass(rows.all); }, .calls = calls},
      {.name = "the kernel", .run = [&] { floors.rotate(rows.all); }, .calls = calls},
      {.name = "RMW",
       .run = [&] { posenc::bench::xor_in_place(memory.data(), static_cast<std::size_t>(bytes)); },
       .calls = calls}};
  take_turns(candidates, kRounds);
  print(candidates, lines);
}

// Loads and stores 4 KiB apart would wait for each other.
constexpr std::size_t kApart = 17 * 64;

// The same from one tensor into another; the limit is memcpy.
void measure_out_of_place(const posenc::bench::RotateFloors& floors, Element element, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const posenc::bench::HugeMemory from(size);
  const posenc::bench::HugeMemory to(size, kApart);
  Rows rows(from, bytes, element);
  rows.all.to = to.data();
  const std::int64_t lines = bytes / 64;
  const int calls = calls_of(lines);
  std::vector<Candidate> candidates{
      {.name = "the formula, on registers", .run = [&] { floors.rotate_registers(element, lines); }, .calls = calls},
      {.name = "loads, conversions, stores", .run = [&] { floors.pass(rows.all); }, .calls = calls},
      {.name = "the kernel", .run = [&] { floors.rotate(rows.all); }, .calls = calls},
      {.name = "memcpy", .run = [&] { std::memcpy(to.data(), from.data(), size); }, .calls = calls}};
  take_turns(candidates, kRounds);
  print(candidates, lines);
}

// Orders of loads and stores, f32, each by itself and with the formula, the angles of a row its own; in place over RMW,
// out of place over memcpy. Each has passed over the same bytes just before.
void measure_orders(const posenc::bench::RotateFloors& floors, const posenc::bench::Orders& orders, std::int64_t bytes,
                    bool in_place) {
  const auto size = static_cast<std::size_t>(bytes);
  const posenc::bench::HugeMemory from(size);
  const posenc::bench::HugeMemory to(in_place ? 0 : size, kApart);
  Rows rows(from, bytes, Element::f32, Angles::own);
  Rows same(from, bytes, Element::f32, Angles::same);
  if (!in_place) rows.all.to = same.all.to = to.data();
  std::vector<Candidate> candidates;
  const auto add = [&](std::string name, const std::function<void()>& run) {
    candidates.push_back({.name = std::move(name), .run = run, .calls = calls_of(bytes / 64), .before = run});
  };
  // Rows that read one cos and sin, which stay in L1: what reading a table costs is the difference to the next.
  add(orders.front().name + std::string(", all by one"), [&same, pass = orders.front().pass] { pass(same.all); });
  for (const posenc::bench::Order& order : orders) {
    add(order.name, [&rows, pass = order.pass] { pass(rows.all); });
    add(order.name + std::string(", formula"), [&rows, rotate = order.rotate] { rotate(rows.all); });
  }
  add("the kernel, all by one", [&] { floors.rotate(same.all); });
  add("the kernel", [&] { floors.rotate(rows.all); });
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = kHeadDim, .dim = kHeadDim, .base = 5e5};
  const posenc::RotaryTable table = make_table(rope, {.count = rows.all.rows});
  const auto view = [&](void* data) {
    return posenc::tensor(static_cast<float*>(data), {rows.all.rows, kHeads, kHeadDim});
  };
  posenc::RotateArgs args{.q = view(in_place ? from.data() : to.data()), .table = &table, .parallel = {.threads = 1}};
  if (!in_place) args.q_from = view(from.data());
  add("a call of the library", [&] { (void)rotate(args); });
  if (in_place) {
    add("RMW", [&] { posenc::bench::xor_in_place(from.data(), size); });
  } else {
    add("memcpy", [&] { std::memcpy(to.data(), from.data(), size); });
  }
  take_turns(candidates, kOrderRounds);
  print(candidates, bytes / 64);
}

void measure_all_orders(const posenc::bench::RotateFloors& floors, const char* isa) {
  // Sizes of the tensor: larger than the first cache and within the second of the machines of docs/performance.md;
  // larger than their second and within the third.
  constexpr std::int64_t kSecondCache = std::int64_t{256} << 10;
  constexpr std::int64_t kThirdCache = std::int64_t{8} << 20;
  std::printf("%s, f32, half, orders of loads and stores, 256 KiB\n", isa);
  measure_orders(floors, floors.orders, kSecondCache, true);
  std::printf("%s, f32, half, orders of loads and stores, 8 MiB\n", isa);
  measure_orders(floors, floors.orders, kThirdCache, true);
  std::printf("%s, f32, half, orders of loads and stores, 8 MiB, out of place\n", isa);
  measure_orders(floors, floors.orders, kThirdCache, false);
  measure_orders(floors, floors.past_caches, kThirdCache, false);  // apart: the others would find nothing in the caches
}

}  // namespace

int main(int argc, char** argv) {
  const bool orders_alone = argc > 1 && std::strcmp(argv[1], "orders") == 0;
  for (const auto& [isa, isa_name] : {std::pair{posenc::Isa::avx2, "avx2"}, {posenc::Isa::avx512, "avx512"}}) {
    const posenc::bench::RotateFloors floors = posenc::bench::rotate_floors(isa);
    if (floors.rotate == nullptr) continue;
    if (!floors.orders.empty()) measure_all_orders(floors, isa_name);
    if (orders_alone) continue;
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
