// attend_linear against the reference: every mask it has, feature map, dtype and instruction set, over lengths that end
// in a chunk, at its end and behind it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attend/linear/linear_call.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test::linear_floats_test {
namespace {

constexpr std::uint64_t kSeed = 31415;

std::string name_of(FeatureMap map) {
  if (map == FeatureMap::identity) return "identity";
  return map == FeatureMap::relu ? "relu" : "elu + 1";
}

// Calls that the reference answers once, and attend_linear on every instruction set.
class Comparison {
 public:
  Comparison() {
    for (const Isa isa : every_isa("linear attention in floats")) {
      const std::string suite = "linear attention in floats, " + std::string(name(isa));
      isas_.push_back({isa, ErrorRatio(suite), ErrorRatio(suite + ", stored in 16 bits")});
    }
  }
  void compare(const LinearRows& rows, DType dtype) {
    const std::uint64_t seed = kSeed + calls_++;
    const FeatureMap map = seed % 4 == 0   ? FeatureMap::identity
                           : seed % 4 == 1 ? FeatureMap::relu
                                           : FeatureMap::elu_plus_one;
    const std::int64_t value_dim = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 50 : 16;
    const Pairing pairing = seed % 2 == 0 ? Pairing::half : Pairing::interleaved;
    const std::string where =
        rows.name + ", " + name_of(map) + ", " + std::string(name(dtype)) + ", seed " + std::to_string(seed);
    SCOPED_TRACE(where);
    const LinearCall call(linear_layer(value_dim, pairing), rows, map, dtype, seed);
    const std::vector<double> wanted = call.by_formulas();
    const std::vector<double> bounds = call.bounds(wanted);
    for (OfIsa& own : isas_) {
      const std::vector<double> is = call.by_kernels(own.isa);
      ErrorRatio& ratio = dtype == DType::f32 ? own.of_f32 : own.of_16_bits;
      for (std::size_t n = 0; n < is.size(); ++n) ratio.add(std::abs(is[n] - wanted[n]), bounds[n], where);
    }
  }
  void expect() const {
    for (const OfIsa& own : isas_) {
      own.of_f32.expect();
      own.of_16_bits.expect();
    }
  }

 private:
  struct OfIsa {
    Isa isa;
    ErrorRatio of_f32;
    ErrorRatio of_16_bits;
  };
  std::vector<OfIsa> isas_;
  std::uint64_t calls_ = 0;
};

TEST(LinearFloats, EqualTheReference) {
  Comparison comparison;
  const std::vector<LinearRows> all = every_linear_rows();
  for (std::size_t n = 0; n < all.size(); ++n) {
    comparison.compare(all[n], DType::f32);
    if (n % 2 == 0) comparison.compare(all[n], n % 4 == 0 ? DType::f16 : DType::bf16);
  }
  comparison.expect();
}

// As sums go on, what is added to them gets smaller beside them: in chunks, it does not get lost. Without a rotation
// all of z and S is a sum of features.
TEST(LinearFloats, SumManyKeys) {
  constexpr std::int64_t kKeys = 20000;
  LayerPlan layer = linear_layer(1);
  layer.rotate.clear();
  layer.heads = layer.kv_heads = 1;
  for (const Isa isa : every_isa("linear attention, many keys")) {
    ErrorRatio ratio("linear attention, many keys, " + std::string(name(isa)));
    const LinearCall call(layer, {.name = "all", .queries = 0, .keys = kKeys}, FeatureMap::relu, DType::f32, kSeed);
    LinearNumbers state = call.no_state();
    call.by_kernels(isa, 1, &state);
    for (std::size_t c = 0; c < 16; ++c) {
      double total = 0.0;
      double product = 0.0;
      double size = 0.0;
      for (std::size_t j = 0; j < kKeys; ++j) {
        const double feature = std::max(call.k.values[j * 16 + c], 0.0);
        total += feature;
        product += feature * call.v.values[j];
        size += feature * std::abs(call.v.values[j]);
      }
      const double roundings = summed_in_floats(48 + static_cast<double>(kKeys) / 48) * kFloatRounding;
      ratio.add(std::abs(static_cast<double>(state.totals[c]) - total), roundings * total, "z");
      ratio.add(std::abs(static_cast<double>(state.products[c]) - product), roundings * size, "S");
    }
    ratio.expect();
  }
}

}  // namespace
}  // namespace posenc::test::linear_floats_test
