// What one query's pass over keys and values costs where memory costs nothing, against reading them: 32 heads on 8 key
// heads of 128 channels, by the kernels of attend (kernels/decode_loop.h; codes/code_loop.h for quantised caches),
// which alternate with their parts. Where a part takes longer than reading by itself, no order of reading can reach the
// speed of reading.
//
// usage: bench_decode_floors [KEYS]          4096 unless told, a multiple of 64
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cpu/machine/dispatch.h"
#include "huge_memory.h"
#include "kernels/codes/codes.h"
#include "kernels/decode_ahead.h"
#include "kernels/kernels.h"
#include "multiply_add.h"
#include "read_memory.h"
#include "taking_turns.h"

namespace {

using posenc::Products;
using posenc::bench::Candidate;
using posenc::bench::HugeMemory;
using posenc::kernels::Codes;
using posenc::kernels::DecodeCodes;
using posenc::kernels::DecodeLanes;
using posenc::kernels::Element;
using posenc::kernels::kBytesAgain;
using posenc::kernels::kBytesAhead;

constexpr int kRounds = 31;
// The shapes of Llama 3.1 8B: 4 query heads share a KV head. A tile is 64 keys, as in attend.
constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKeyHeads = 8;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kTile = 64;

// How keys and values are stored: in elements, or codes.
struct Stored {
  const char* name;
  Element element = Element::f32;
  std::optional<Codes> codes{};
  std::int64_t row_bytes = 0;                       // of a head
  std::int64_t unit = 1;                            // bytes of what strides count
  std::int64_t line = posenc::kernels::kLineBytes;  // fetched beside as many channels (cpu/attend/decode_products.cpp)
  bool has_scales = false;                          // for each token and head
};
constexpr Stored kStored[] = {
    {.name = "f32", .element = Element::f32, .row_bytes = 4 * kHeadDim, .unit = 4},
    {.name = "f16", .element = Element::f16, .row_bytes = 2 * kHeadDim, .unit = 2},
    {.name = "bf16", .element = Element::bf16, .row_bytes = 2 * kHeadDim, .unit = 2},
    {.name = "int8", .codes = Codes::int8, .row_bytes = kHeadDim, .has_scales = true},
    {.name = "int4", .codes = Codes::int4, .row_bytes = kHeadDim / 2, .has_scales = true},
    {.name = "q8_0", .codes = Codes::q8_0, .row_bytes = kHeadDim / 32 * 34, .line = 34},
    {.name = "q4_0", .codes = Codes::q4_0, .row_bytes = kHeadDim / 32 * 18, .line = 36},
};

// What a pass leaves out. stays: keys and values are in L1, so memory costs nothing. has_scores: with the softmax.
struct Way {
  bool stays = false;  // the same row again and again
  bool has_scores = true;
  bool has_keys = true;
  bool has_values = true;
  bool rotates = false;  // rotates keys, in a half layout
};

// One query's pass over `keys` keys and values of all heads, by the kernels of attend in their order, without what a
// call does besides (checks, masks, threads).
class Pass {
 public:
  Pass(const posenc::kernels::KernelTable& kernels, const Stored& stored, std::int64_t keys)
      : kernels_(kernels), stored_(stored), keys_(keys), k_(size(keys)), v_(size(keys)), own_(std::size_t{1} << 20U) {}

  // Products of bfloat16 in pairs, which are exact where queries and keys are stored so.
  bool has_pairs() const {
    return !stored_.codes && stored_.element == Element::bf16 && kernels_.pairs != nullptr &&
           kernels_.pairs->decode_dots != nullptr;
  }

  // Keys and values of zeros.
  // Only time is of interest, which zeros do not change: no product is skipped for them.
  void multiply(const Way& way) const {
    for (std::int64_t key = 0; key < keys_; key += kTile) {
      if (way.has_keys) multiply_keys(key, way);
      if (way.has_scores) softmax();
      if (way.has_values) add_values(key, way);
    }
  }

  // The softmax of as many scores, without products.
  void exponentials() const {
    for (std::int64_t key = 0; key < keys_; key += kTile) softmax();
  }

  // Every byte of keys and values once, in order: the limit that all of the others are held against.
  void read() const {
    for (const HugeMemory* const memory : {&k_, &v_}) {
      [[maybe_unused]] const volatile std::uint64_t read = posenc::bench::read_memory(memory->data(), size(keys_));
    }
  }

  // On registers alone: VDPBF16PS has two for one of floats.
  // QK^T and PV as multiply-adds that touch no memory: 2 operations for each key, query head and channel, each.
  void multiply_registers() const {
    const auto of_product = 2.0 * static_cast<double>(keys_ * kHeads * kHeadDim);
    run_registers(has_pairs() ? Products::bf16 : Products::f32, of_product);
    run_registers(Products::f32, of_product);
  }

 private:
  void multiply_keys(std::int64_t key, const Way& way) const {
    DecodeLanes keys = tile(k_.data(), key, way);
    if (way.rotates) keys.rotation = {.cos = angles(), .row = kHeadDim, .pairs = kHeadDim / 2};
    if (stored_.codes) return kernels_.codes->decode_dots(codes_of(keys));
    if (!has_pairs() || way.rotates) return kernels_.attention->decode_dots(keys);
    kernels_.pairs->decode_dots({.of = keys, .b = reinterpret_cast<const std::uint16_t*>(q()), .by = scale()});
  }
  void add_values(std::int64_t key, const Way& way) const {
    const DecodeLanes values = tile(v_.data(), key, way);
    if (stored_.codes) return kernels_.codes->decode_weighted(codes_of(values));
    kernels_.attention->decode_weighted(values);
  }

  // Bytes of the keys, or of the values, of so many tokens.
  std::size_t size(std::int64_t keys) const { return static_cast<std::size_t>(keys * kKeyHeads * stored_.row_bytes); }

  // Parts of memory that stay in the first cache, some lines apart.
  float* part(int n) const { return reinterpret_cast<float*>(own_.data()) + n * (kHeads * kHeadDim + 16); }
  float* q() const { return part(0); }
  float* out() const { return part(1); }
  float* scores() const { return part(2); }
  float* scale() const { return part(3); }
  float* max() const { return part(3) + kHeads; }
  float* sum() const { return part(3) + 2 * kHeads; }
  float* angles() const { return part(4); }  // [kTile][kHeadDim]

  // 64 rows of keys or of values, as attend hands them to the kernels, with what is prefetched beside them: of a row
  // that stays itself.
  DecodeLanes tile(const char* data, std::int64_t key, const Way& way) const {
    const std::int64_t row_bytes = kKeyHeads * stored_.row_bytes;
    DecodeLanes out{.element = stored_.element,
                    .a = data + (way.stays ? 0 : key * row_bytes),
                    .a_row = way.stays ? 0 : row_bytes / stored_.unit,
                    .a_head = stored_.row_bytes / stored_.unit,
                    .b = q(),
                    .c = scores(),
                    .p = scores(),
                    .out = this->out(),
                    .rows = kTile,
                    .depth = kHeadDim,
                    .lanes = kHeads,
                    .heads = kKeyHeads,
                    .each = kHeads / kKeyHeads};
    if (!way.stays && key + kTile >= keys_) return out;
    out.ahead = static_cast<const char*>(out.a) + (way.stays ? 0 : kBytesAhead);
    out.ahead_next = way.stays ? 0 : posenc::kernels::kDecodeRows * row_bytes;
    out.ahead_head = (way.stays ? 1 : posenc::kernels::kDecodeRows) * stored_.row_bytes;
    out.ahead_row = stored_.line;
    out.ahead_line = posenc::kernels::kDecodeRows * stored_.line;
    out.ahead_again = way.stays ? 0 : kBytesAgain - kBytesAhead;
    return out;
  }

  // The same of a quantised cache, with a scale for each token and head where the codes have none among them.
  DecodeCodes codes_of(const DecodeLanes& lanes) const {
    DecodeCodes out{.of = lanes, .codes = *stored_.codes};
    if (!stored_.has_scales) return out;
    out.scale = scales_.data();
    out.scale_row = kKeyHeads;
    out.scale_head = 1;
    return out;
  }

  void softmax() const {
    kernels_.attention->softmax({.of = {scores(), kTile, kHeads}, .max = max(), .sum = sum(), .rescale = scale()});
    std::fill_n(sum(), kHeads, 0.0F);  // of ones, which would grow without end
  }

  static void run_registers(Products products, double operations) {
    const double of_step = posenc::bench::multiply_add(posenc::selected_isa(), 1, products);
    posenc::bench::multiply_add(posenc::selected_isa(), static_cast<std::int64_t>(operations / of_step), products);
  }

  const posenc::kernels::KernelTable& kernels_;
  Stored stored_;
  std::int64_t keys_;
  HugeMemory k_, v_, own_;
  std::vector<float> scales_ = std::vector<float>(kTile * kKeyHeads, 1.0F);  // those of a tile
};

// "of memory bandwidth": the time of reading over that of the part. Below 1, the part alone takes longer than reading.
void measure(const posenc::kernels::KernelTable& kernels, const Stored& stored, std::int64_t keys) {
  const Pass pass(kernels, stored, keys);
  std::vector<Candidate> candidates{{.name = "multiply-adds on registers", .run = [&] { pass.multiply_registers(); }}};
  candidates.push_back({.name = "softmax", .run = [&] { pass.exponentials(); }});
  const auto add = [&](const char* of, const Way& way) {
    candidates.push_back({.name = of, .run = [&pass, way] { pass.multiply(way); }});
  };
  add("QK^T, one row in L1", {.stays = true, .has_scores = false, .has_values = false});
  add("PV, one row in L1", {.stays = true, .has_scores = false, .has_keys = false});
  add("the products, one row in L1", {.stays = true, .has_scores = false});
  add("all of it, one row in L1", {.stays = true});
  add("the same, keys rotated", {.stays = true, .rotates = true});
  add("all of it, from memory", {});
  add("the same, keys rotated", {.rotates = true});
  candidates.push_back({.name = "reading", .run = [&] { pass.read(); }});
  take_turns(candidates, kRounds);
  std::printf("%s, %d keys%s\n", stored.name, static_cast<int>(keys),
              pass.has_pairs() ? ", queries and keys in pairs" : "");
  for (const Candidate& c : candidates) {
    const posenc::bench::Spread time = posenc::bench::spread(c.seconds);
    const posenc::bench::Spread of_reading = ratios(candidates.back(), c);
    std::printf("  %-28s %8.3f ms [%.3f, %.3f]   %.2f [%.2f, %.2f] of memory bandwidth\n", c.name.c_str(),
                time.median * 1e3, time.least * 1e3, time.most * 1e3, of_reading.median, of_reading.least,
                of_reading.most);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t keys = argc > 1 ? std::atoll(argv[1]) : 4096;
  if (keys <= 0 || keys % kTile != 0) {
    std::fprintf(stderr, "usage: bench_decode_floors [KEYS], a multiple of %d\n", static_cast<int>(kTile));
    return 2;
  }
  const posenc::kernels::KernelTable& kernels = posenc::cpu::kernels_for("bench_decode_floors", posenc::Isa::automatic);
  std::printf("instruction set: %s\n", std::string(name(posenc::selected_isa())).c_str());
  for (const Stored& stored : kStored) measure(kernels, stored, keys);
}
