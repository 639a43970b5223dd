// What the kernels of one instruction set make of fixed inputs, a hash a line, to be compared with another's.
// POSENC_ISA_SUFFIX names it. Without any library of posenc: neon_island.sh compiles this and the island for two
// machines.
//
// No result here is a NaN of a sum or a product, whose sign and payload the processor chooses. Norms are left out: the
// order of their sums depends on the width of a register.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/codes/codes.h"
#include "kernels/kernels.h"

#define POSENC_JOIN_TOKENS(a, b) a##b
#define POSENC_JOIN(a, b) POSENC_JOIN_TOKENS(a, b)
#define POSENC_KERNEL(name) posenc::kernels::POSENC_JOIN(name, POSENC_ISA_SUFFIX)

namespace {

using namespace posenc::kernels;

// Knuth's multiplier (MMIX).
class Random {
 public:
  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 32U);
  }
  // Of either sign, some 2^-20 to 2^20; halves and zeros among them, so that sums cancel.
  float number() {
    if (bits() % 8U == 0) return static_cast<float>(bits() % 5U) / 2.0F - 1.0F;
    const float mantissa = 1.0F + static_cast<float>(bits() >> 9U) * 0x1p-23F;
    const float scale = static_cast<float>(1U << (bits() % 21U));
    const float size = bits() % 2U == 0 ? mantissa * scale : mantissa / scale;
    return bits() % 2U == 0 ? size : -size;
  }

 private:
  std::uint64_t state_ = 2104;
};

// FNV-1a.
template <class T>
std::uint64_t hash(const std::vector<T>& values) {
  std::uint64_t out = 14695981039346656037U;
  for (const T& value : values) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char byte : bytes) out = (out ^ byte) * 1099511628211U;
  }
  return out;
}

template <class T>
void print(const char* what, std::int64_t which, const std::vector<T>& values) {
  std::printf("%s %lld %016llx\n", what, static_cast<long long>(which), static_cast<unsigned long long>(hash(values)));
}

void angles(Random& random, std::int64_t pairs, bool per_pair) {
  constexpr std::int64_t kRows = 200;
  const auto padded = static_cast<std::size_t>((pairs + kPadding - 1) / kPadding * kPadding);
  std::vector<double> hi(padded);
  std::vector<double> lo(padded);
  std::vector<double> lowest(padded);
  for (std::size_t p = 0; p < static_cast<std::size_t>(pairs); ++p) {
    hi[p] = static_cast<double>(random.bits()) * 0x1p-33 + static_cast<double>(random.bits()) * 0x1p-66;
    lo[p] = static_cast<double>(random.bits()) * 0x1p-88;
    lowest[p] = static_cast<double>(random.bits()) * 0x1p-142;
  }
  std::vector<double> x(static_cast<std::size_t>(kRows * (per_pair ? pairs : 1)));
  for (double& at : x)
    at = static_cast<double>(static_cast<std::int32_t>(random.bits())) * (random.bits() % 2U == 0 ? 1.0 : 512.5);
  std::vector<float> out(static_cast<std::size_t>(2 * kRows * pairs));
  POSENC_KERNEL(angles_)
  ({.rows = kRows,
    .pairs = pairs,
    .x = x.data(),
    .x_stride = per_pair ? pairs : 1,
    .per_pair = per_pair,
    .near_limit = 0x1p31,
    .hi = hi.data(),
    .lo = lo.data(),
    .lowest = lowest.data(),
    .cos = out.data(),
    .sin = out.data() + pairs,
    .out_stride = 2 * pairs});
  print(per_pair ? "angles per pair" : "angles", pairs, out);
}

// The bits of a finite number of the type: never the largest exponent.
template <class T>
T element(Random& random, Element type) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return random.number();
  } else {
    const std::uint32_t infinity = type == Element::f16 ? 0x7C00U : 0x7F80U;
    // Half the exponents of bfloat16: a product must not leave the range of floats.
    const std::uint32_t limit = type == Element::f16 ? infinity : infinity - 0x1F80U;
    return static_cast<T>((random.bits() % limit) | (random.bits() & 0x8000U));
  }
}

template <class T>
void rotate(Random& random, Element type, std::int64_t pairs, bool half) {
  constexpr std::int64_t kHeads = 40;
  std::vector<float> angle(static_cast<std::size_t>(2 * pairs));
  for (float& at : angle) at = random.number() * 0x1p-20F;
  const float* const row = angle.data();
  std::vector<T> from(static_cast<std::size_t>(kHeads * 2 * pairs));
  for (T& at : from) at = element<T>(random, type);
  std::vector<T> to(from.size());
  POSENC_KERNEL(rotate_)
  ({.element = type,
    .rows = 1,
    .heads = kHeads,
    .pairs = pairs,
    .partner = half ? pairs : 0,
    .cos = &row,
    .sin_offset = pairs,
    .cos_scale = 1.25F,
    .sin_scale = -1.25F,
    .from = from.data(),
    .from_head = 2 * pairs,
    .to = to.data(),
    .to_head = 2 * pairs});
  print(half ? "rotate half" : "rotate interleaved", pairs * 10 + static_cast<int>(type), to);
}

template <class From, class To>
void convert(Element from_type, Element to_type, const std::vector<From>& from) {
  std::vector<To> to(from.size());
  const auto count = static_cast<std::int64_t>(from.size());
  POSENC_KERNEL(convert_)
  ({.from_element = from_type, .to_element = to_type, .rows = 1, .count = count, .from = from.data(), .to = to.data()});
  print("convert", static_cast<int>(from_type) * 10 + static_cast<int>(to_type), to);
}

// Three rows of embeddings, whose numbers are finite, with rows of floats or of their own type.
template <class T, class Row>
void input(Random& random, Element type, Element row_type, std::int64_t count, bool with_types, bool multiplies) {
  constexpr std::int64_t kRows = 3;
  std::vector<T> from(static_cast<std::size_t>(kRows * count));
  for (T& at : from) at = element<T>(random, type);
  std::vector<Row> rows(2 * from.size());
  for (Row& at : rows) at = element<Row>(random, row_type);
  const void* positions[kRows];
  const void* types[kRows];
  for (std::int64_t row = 0; row < kRows; ++row) {
    positions[row] = rows.data() + row * count;
    types[row] = rows.data() + (kRows + row) * count;
  }
  std::vector<T> to(from.size());
  POSENC_KERNEL(input_)
  ({.element = type,
    .row_element = row_type,
    .rows = kRows,
    .count = count,
    .multiplier = 0.37F,
    .multiplies = multiplies,
    .positions = positions,
    .types = with_types ? types : nullptr,
    .from = from.data(),
    .from_row = count,
    .to = to.data(),
    .to_row = count});
  print("input",
        ((count * 10 + static_cast<int>(type)) * 10 + static_cast<int>(row_type)) * 10 + (with_types ? 2 : 0) +
            (multiplies ? 1 : 0),
        to);
}

void inputs(Random& random) {
  using Half = std::uint16_t;
  for (const std::int64_t count : {1, 2, 3, 5, 8, 15, 16, 31, 67}) {
    for (const bool with_types : {false, true}) {
      for (const bool multiplies : {false, true}) {
        input<float, float>(random, Element::f32, Element::f32, count, with_types, multiplies);
        for (const Element type : {Element::f16, Element::bf16}) {
          input<Half, float>(random, type, Element::f32, count, with_types, multiplies);
          input<Half, Half>(random, type, type, count, with_types, multiplies);
        }
      }
    }
  }
}

// Every pattern there is, or many: NaNs too.
void conversions(Random& random) {
  std::vector<float> floats(400'003);
  for (float& at : floats) {
    const std::uint32_t bits = random.bits();
    std::memcpy(&at, &bits, sizeof at);
  }
  std::vector<std::uint16_t> narrow(0x10003);
  for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<std::uint16_t>(i);
  for (const Element type : {Element::f16, Element::bf16}) {
    convert<float, std::uint16_t>(Element::f32, type, floats);
    convert<std::uint16_t, float>(type, Element::f32, narrow);
  }
  convert<std::uint16_t, std::uint16_t>(Element::f16, Element::bf16, narrow);
  convert<std::uint16_t, std::uint16_t>(Element::bf16, Element::f16, narrow);
}

// Any codes, but for those that are no numbers, as floats; and as values with weights, whose sums go by rows whatever
// the width of a register.
void codes(Random& random, Codes type, std::int64_t bytes, std::int64_t count) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kHeads = 2;
  std::vector<std::uint8_t> from(static_cast<std::size_t>(kRows * kHeads * bytes));
  for (std::uint8_t& byte : from) {
    byte = static_cast<std::uint8_t>(random.bits());
    if (type == Codes::e4m3 && (byte & 0x7FU) == 0x7F) byte = 0;
    if (type == Codes::e5m2 && (byte & 0x7CU) == 0x7C) byte = 0;
  }
  const std::int64_t of_block = type == Codes::q8_0 ? kQ80Bytes : type == Codes::q4_0 ? kQ40Bytes : kQ51Bytes;
  if (type >= Codes::q8_0) {  // halves below 2
    for (std::size_t n = 1; n < from.size(); n += static_cast<std::size_t>(of_block)) {
      from[n] &= 0xBFU;
      if (type == Codes::q5_1) from[n + 2] &= 0xBFU;
    }
  }
  const bool has_zeros = type == Codes::uint8 || type == Codes::uint4;
  std::vector<float> scale(kRows * kHeads);
  std::vector<float> zero(kRows * kHeads);
  for (float& x : scale) x = random.number();
  for (float& x : zero) x = random.number();
  std::vector<float> to(static_cast<std::size_t>(kRows * kHeads * count));
  const CodeKernels& kernels = POSENC_KERNEL(codes_);
  kernels.decode({.codes = type,
                  .rows = kRows * kHeads,
                  .count = count,
                  .from = from.data(),
                  .from_row = bytes,
                  .to = to.data(),
                  .to_row = count,
                  .scale = type >= Codes::q8_0 ? nullptr : scale.data(),
                  .scale_row = 1,
                  .zero = has_zeros ? zero.data() : nullptr,
                  .zero_row = 1});
  print("codes", static_cast<int>(type) * 1000 + count, to);

  constexpr std::int64_t kLanes = kHeads * kDecodeLanes;
  std::vector<float> p(kRows * kLanes);
  std::vector<float> out(static_cast<std::size_t>(kLanes * count));
  for (float& x : p) x = random.number();
  for (float& x : out) x = random.number();
  kernels.decode_weighted({.of = {.a = from.data(),
                                  .a_row = kHeads * bytes,
                                  .a_head = bytes,
                                  .p = p.data(),
                                  .out = out.data(),
                                  .rows = kRows,
                                  .depth = count,
                                  .lanes = kLanes,
                                  .heads = kHeads,
                                  .each = kDecodeLanes},
                           .codes = type,
                           .scale = type >= Codes::q8_0 ? nullptr : scale.data(),
                           .scale_row = kHeads,
                           .scale_head = 1,
                           .zero = has_zeros ? zero.data() : nullptr,
                           .zero_row = kHeads,
                           .zero_head = 1});
  print("weighted codes", static_cast<int>(type) * 1000 + count, out);
}

void all_codes(Random& random) {
  for (const std::int64_t count : {2, 6, 14, 32, 64, 80, 96, 128, 160}) {
    for (const Codes type : {Codes::int8, Codes::uint8, Codes::e4m3, Codes::e5m2}) codes(random, type, count, count);
    for (const Codes type : {Codes::int4, Codes::uint4}) codes(random, type, count / 2, count);
    if (count % kBlockChannels != 0) continue;
    codes(random, Codes::q8_0, count / kBlockChannels * kQ80Bytes, count);
    codes(random, Codes::q4_0, count / kBlockChannels * kQ40Bytes, count);
    codes(random, Codes::q5_1, count / kBlockChannels * kQ51Bytes, count);
  }
}

}  // namespace

int main() {
  Random random;
  for (const std::int64_t pairs : {1, 2, 3, 5, 8, 31, 64}) {
    angles(random, pairs, false);
    angles(random, pairs, true);
  }
  for (std::int64_t pairs = 1; pairs <= 70; ++pairs) {
    for (const bool half : {false, true}) {
      rotate<float>(random, Element::f32, pairs, half);
      rotate<std::uint16_t>(random, Element::f16, pairs, half);
      rotate<std::uint16_t>(random, Element::bf16, pairs, half);
    }
  }
  conversions(random);
  inputs(random);
  all_codes(random);
}
