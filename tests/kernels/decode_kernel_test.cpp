// Products of few queries and keys that are rotated on load, of each instruction set, against double: what they are,
// what they read and no more. And of any, that their bits do not depend on what is prefetched beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "kernels/codes/codes.h"
#include "kernels/decode_ahead.h"
#include "support/error_ratio.h"
#include "support/guarded_memory.h"
#include "support/tolerances.h"

namespace posenc::test::decode_kernel_test {
namespace {

using kernels::Element;

constexpr std::uint32_t kSeed = 20250817;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kEach = 2 * kernels::kDecodeLanes;
constexpr std::int64_t kLanes = kHeads * kEach;
constexpr std::int64_t kGap = 3;  // elements between rows

struct Shape {
  Element element;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t first;
  std::int64_t pairs;
  bool interleaved;

  std::int64_t bytes() const { return element == Element::f32 ? 4 : 2; }
  std::int64_t a_row() const { return kHeads * depth + kGap; }
  // The channels of pair p, of a key and of a query beside it.
  std::int64_t key_channel(std::int64_t p, bool second) const {
    return first + (interleaved ? 2 * p + (second ? 1 : 0) : p + (second ? pairs : 0));
  }
  std::int64_t query_channel(std::int64_t p, bool second) const { return first + p + (second ? pairs : 0); }
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(depth) + ", " + std::to_string(pairs) +
           (interleaved ? " interleaved" : "") + " pairs from " + std::to_string(first) + ", seed " +
           std::to_string(kSeed);
  }
};

// Rows and pairs that are whole groups and registers, that are none, and both; channels before and behind the pairs.
std::vector<Shape> shapes(Element element) {
  std::vector<Shape> out;
  for (const std::int64_t rows : {1, 4, 7}) {
    for (const std::int64_t pairs : {1, 5, 8, 16, 19, 32, 64}) {
      for (const std::int64_t first : {0, 3, 16}) {
        for (const std::int64_t behind : {0, 1, 40}) {
          for (const bool interleaved : {false, true}) {
            out.push_back({element, rows, first + 2 * pairs + behind, first, pairs, interleaved});
          }
        }
      }
    }
  }
  return out;
}

// Operands between pages that nobody may touch, NaN between the rows.
class Operands {
 public:
  Operands(const kernels::KernelTable& table, const Shape& s, Edge edge)
      : shape_(s),
        keys_((s.rows * s.a_row() - kGap) * s.bytes(), edge, 0),
        queries_(kLanes * s.depth * 4, edge, 0),
        angles_(s.rows * 2 * s.pairs * 4, edge, 0),
        of_keys_(static_cast<std::size_t>(s.rows * kHeads * s.depth)) {
    std::mt19937 random(kSeed);
    std::uniform_real_distribution<float> number(-1.0F, 1.0F);
    std::fill_n(keys_.data(), keys_.end() - keys_.data(), std::byte{0xFF});
    for (float& x : of_keys_) x = number(random);
    for (std::int64_t n = 0; n < kLanes * s.depth; ++n) b()[n] = number(random);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      for (std::int64_t p = 0; p < s.pairs; ++p) {
        const double angle = 7.0 * static_cast<double>(number(random));
        cos()[r * 2 * s.pairs + p] = static_cast<float>(std::cos(angle));
        cos()[(r * 2 + 1) * s.pairs + p] = static_cast<float>(std::sin(angle));
      }
    }
    if (s.element == Element::f32) {
      for (std::int64_t r = 0; r < s.rows; ++r) {
        std::copy_n(of_keys_.data() + r * kHeads * s.depth, kHeads * s.depth,
                    reinterpret_cast<float*>(keys_.data()) + r * s.a_row());
      }
      return;
    }
    convert(table, Element::f32, of_keys_.data(), kHeads * s.depth, s.element, keys_.data(), s.a_row());
    convert(table, s.element, keys_.data(), s.a_row(), Element::f32, of_keys_.data(), kHeads * s.depth);
  }

  float* b() { return reinterpret_cast<float*>(queries_.data()); }
  float* cos() { return reinterpret_cast<float*>(angles_.data()); }
  double key(std::int64_t r, std::int64_t h, std::int64_t c) const {
    return of_keys_[static_cast<std::size_t>((r * kHeads + h) * shape_.depth + c)];
  }

  kernels::DecodeLanes product(float* c) {
    return {.element = shape_.element,
            .a = keys_.data(),
            .a_row = shape_.a_row(),
            .a_head = shape_.depth,
            .b = b(),
            .c = c,
            .rotation = {.cos = cos(),
                         .row = 2 * shape_.pairs,
                         .first = shape_.first,
                         .pairs = shape_.pairs,
                         .interleaved = shape_.interleaved},
            .rows = shape_.rows,
            .depth = shape_.depth,
            .lanes = kLanes,
            .heads = kHeads,
            .each = kEach};
  }

 private:
  void convert(const kernels::KernelTable& table, Element from_element, const void* from, std::int64_t from_row,
               Element to_element, void* to, std::int64_t to_row) const {
    table.convert({.from_element = from_element,
                   .to_element = to_element,
                   .rows = shape_.rows,
                   .count = kHeads * shape_.depth,
                   .from = from,
                   .from_row = from_row,
                   .to = to,
                   .to_row = to_row});
  }

  Shape shape_;
  GuardedMemory keys_, queries_, angles_;
  std::vector<float> of_keys_;
};

// A sum, and that of the magnitudes it is made of.
struct Sum {
  double value = 0.0;
  double size = 0.0;
  void add(double x) {
    value += x;
    size += std::abs(x);
  }
};

Sum wanted(Operands& x, const Shape& s, std::int64_t r, std::int64_t l) {
  Sum out;
  const std::int64_t h = l / kEach;
  const auto query = [&](std::int64_t c) { return static_cast<double>(x.b()[l * s.depth + c]); };
  for (std::int64_t c = 0; c < s.depth; ++c) {
    if (c < s.first || c >= s.first + 2 * s.pairs) out.add(query(c) * x.key(r, h, c));
  }
  for (std::int64_t p = 0; p < s.pairs; ++p) {
    const double cos = x.cos()[r * 2 * s.pairs + p];
    const double sin = x.cos()[(r * 2 + 1) * s.pairs + p];
    const double first = x.key(r, h, s.key_channel(p, false));
    const double second = x.key(r, h, s.key_channel(p, true));
    out.add(query(s.query_channel(p, false)) * first * cos);
    out.add(-query(s.query_channel(p, false)) * second * sin);
    out.add(query(s.query_channel(p, true)) * second * cos);
    out.add(query(s.query_channel(p, true)) * first * sin);
  }
  return out;
}

TEST(DecodeLanes, RotateKeysOnTheirWay) {
  for (const cpu::IsaKernels& isa : cpu::runnable_kernels()) {
    for (const Element element : {Element::f32, Element::f16, Element::bf16}) {
      ErrorRatio ratio("rotated dots, " + std::string(name(isa.isa)) + ", element " +
                       std::to_string(static_cast<int>(element)));
      for (const Shape& s : shapes(element)) {
        for (const Edge edge : {Edge::begin, Edge::end}) {
          Operands x(isa.table, s, edge);
          std::vector<float> c(static_cast<std::size_t>(s.rows * kLanes), std::numeric_limits<float>::quiet_NaN());
          isa.table.attention->decode_dots(x.product(c.data()));
          for (std::int64_t n = 0; n < s.rows * kLanes; ++n) {
            const Sum sum = wanted(x, s, n / kLanes, n % kLanes);
            ratio.add(std::abs(c[static_cast<std::size_t>(n)] - sum.value),
                      rotated_dot_in_floats(sum.size, static_cast<double>(s.depth)), s.name());
          }
        }
      }
      ratio.expect();
    }
  }
}

// What both products of a tile write.
struct Products {
  std::vector<float> c, out;
  bool operator==(const Products&) const = default;
};

// Of rows that lie together. `element` is ignored where there are codes.
Products products(const kernels::KernelTable& table, kernels::DecodeLanes x, std::optional<kernels::Codes> codes) {
  Products result{.c = std::vector<float>(static_cast<std::size_t>(x.rows * x.lanes)),
                  .out = std::vector<float>(static_cast<std::size_t>(x.lanes * x.depth), 1.0F)};
  std::vector<float> weights(result.c.size());
  for (std::size_t n = 0; n < weights.size(); ++n) weights[n] = static_cast<float>(n % 7) * 0.25F;
  x.c = result.c.data();
  x.p = weights.data();
  x.out = result.out.data();
  if (codes) {
    table.codes->decode_dots({.of = x, .codes = *codes, .fixed_scale = 0.5F});
    table.codes->decode_weighted({.of = x, .codes = *codes, .fixed_scale = 0.5F});
  } else {
    table.attention->decode_dots(x);
    table.attention->decode_weighted(x);
  }
  return result;
}

// Loops are compiled for the most usual shape, and for any (decode_loop.h): lines in the order of memory beside 128
// channels. A sum is the same in both.
TEST(DecodeLanes, SameBitsWhateverIsFetched) {
  constexpr std::int64_t kMostRows = 64;
  constexpr std::int64_t kMostDepth = 136;
  std::mt19937 random(kSeed);
  std::vector<std::uint16_t> memory(static_cast<std::size_t>(2 * kMostRows * kHeads * kMostDepth));
  for (std::size_t n = 0; n < memory.size(); ++n) {  // numbers near 1, as f32, f16, bf16 and codes
    memory[n] = static_cast<std::uint16_t>((random() & 0x8000U) | 0x3C00U | (random() & 0x1FFU));
  }
  std::vector<float> queries(static_cast<std::size_t>(kLanes * kMostDepth));
  for (std::size_t n = 0; n < queries.size(); ++n) queries[n] = static_cast<float>(n % 11) - 5.25F;
  std::vector<float> angles(static_cast<std::size_t>(kMostRows * kMostDepth));
  for (std::size_t n = 0; n < angles.size(); ++n) angles[n] = static_cast<float>(n % 13) * 0.125F;
  // Of a head: nothing, all of its channels, some of them.
  const auto rotations = [&](std::int64_t depth) {
    std::vector<kernels::LoadRotation> out(1);
    for (const bool interleaved : {false, true}) {
      out.push_back({.cos = angles.data(), .row = depth, .pairs = depth / 2, .interleaved = interleaved});
      out.push_back(
          {.cos = angles.data(), .row = depth / 2, .first = 16, .pairs = depth / 4, .interleaved = interleaved});
    }
    return out;
  };
  const auto each = [&](const cpu::IsaKernels& isa, Element element, std::optional<kernels::Codes> codes,
                        std::int64_t bytes) {
    for (const std::int64_t depth : {std::int64_t{128}, std::int64_t{96}, kMostDepth}) {
      for (const std::int64_t rows : {std::int64_t{4}, std::int64_t{7}, kMostRows}) {
        for (const std::int64_t lanes : {kernels::kDecodeLanes, kEach}) {
          for (const kernels::LoadRotation& rotation : rotations(depth)) {
            kernels::DecodeLanes x{.element = element,
                                   .a = memory.data(),
                                   .a_row = kHeads * depth,
                                   .a_head = depth,
                                   .b = queries.data(),
                                   .rotation = rotation,
                                   .rows = rows,
                                   .depth = depth,
                                   .lanes = kHeads * lanes,
                                   .heads = kHeads,
                                   .each = lanes};
            const Products alone = products(isa.table, x, codes);
            x.ahead = memory.data();
            x.ahead_next = kernels::kDecodeRows * kHeads * depth * bytes;
            x.ahead_head = kernels::kDecodeRows * depth * bytes;
            x.ahead_row = kernels::kLineBytes;
            x.ahead_line = kernels::kDecodeRows * kernels::kLineBytes;
            x.ahead_again = kernels::kBytesAgain - kernels::kBytesAhead;
            EXPECT_EQ(products(isa.table, x, codes), alone)
                << name(isa.isa) << ", " << rows << " x " << depth << ", lines in the order of memory";
            x.ahead_head = depth * bytes;
            x.ahead_row = kHeads * depth * bytes;
            x.ahead_line = kernels::kLineBytes;
            EXPECT_EQ(products(isa.table, x, codes), alone)
                << name(isa.isa) << ", " << rows << " x " << depth << ", lines of a row";
          }
        }
      }
    }
  };
  for (const cpu::IsaKernels& isa : cpu::runnable_kernels()) {
    for (const Element element : {Element::f32, Element::f16, Element::bf16}) {
      each(isa, element, std::nullopt, element == Element::f32 ? 4 : 2);
    }
    if (isa.table.codes->decode_dots != nullptr) each(isa, Element::f32, kernels::Codes::int8, 1);
  }
}

}  // namespace
}  // namespace posenc::test::decode_kernel_test
