// A prepared layer gives the bits of the layer and weights that it was made of, and takes no others.
#include "posenc/prepared_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attend/fused/fused_call.h"
#include "cpu/attend/attend_call.h"
#include "cpu/attend/kept_layer.h"
#include "cpu/machine/dispatch.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/throws.h"

namespace posenc::test::prepared_layer_test {
namespace {

constexpr std::uint64_t kSeed = 31415;

// A prompt, a token beside a cache, and what sees both ways.
std::vector<Arrangement> calls_of(const SchemeCase& scheme) {
  std::vector<Arrangement> out{
      {.name = "prompt", .mask = {.kind = MaskKind::causal}, .batch = 2, .queries = 40, .keys = 40},
      {.name = "both ways", .mask = {.kind = MaskKind::bidirectional}, .batch = 2, .queries = 9, .keys = 9}};
  if (scheme.side == 0 && !scheme.batches_only) {
    out.push_back({.name = "token", .mask = {.kind = MaskKind::causal}, .queries = 1, .keys = 90});
  }
  return out;
}

Places places_of(const SchemeCase& scheme) { return scheme.side > 0 ? Places::scattered : Places::run; }

SchemeCase named(const std::string& name) {
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.name == name) return scheme;
  }
  throw std::out_of_range(name);
}

TEST(PreparedLayer, GivesTheSameBitsForEveryScheme) {
  for (const Isa isa : every_isa("prepared layer")) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : calls_of(scheme)) {
        SCOPED_TRACE(scheme.name + ", " + arrangement.name);
        SchemeCall call(scheme, arrangement, places_of(scheme), ++seed);
        FusedCall fused(call);
        const SchemeCall::Result wanted = fused.by_kernels(isa);
        // Fewer distances than occur, and more.
        for (const std::int64_t max_distance : {5, 200}) {
          const PreparedLayer prepared =
              prepare_layer(call.layer, call.weights, {.max_distance = max_distance, .isa = isa});
          const SchemeCall::Result is = fused.by_kernels(isa, {.spare_scratch = 0, .prepared = &prepared});
          EXPECT_EQ(is.out, wanted.out);
          EXPECT_EQ(is.lse, wanted.lse);
        }
      }
    }
  }
}

// One layer for calls of any length, without what it keeps being made again.
TEST(PreparedLayer, ServesCallsThatDiffer) {
  for (const char* name : {"KERPLE", "DeBERTa 1", "Transformer-XL"}) {
    SCOPED_TRACE(name);
    const SchemeCase scheme = named(name);
    SchemeCall first(scheme, {.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = 3, .keys = 3},
                     Places::run, kSeed);
    const PreparedLayer prepared = prepare_layer(first.layer, first.weights, {.max_distance = 40});
    EXPECT_GT(prepared.bytes(), 0);
    for (const std::int64_t keys : {1, 30, 90}) {
      SchemeCall call(scheme, {.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = 1, .keys = keys},
                      Places::run, kSeed + 1);
      call.weights = first.weights;
      FusedCall fused(call);
      EXPECT_EQ(fused.by_kernels(Isa::automatic, {.prepared = &prepared}).out, fused.by_kernels(Isa::automatic).out);
    }
  }
}

// Floats of two tokens that stand `apart`, and what they are in a call.
struct TwoTokens {
  std::vector<float> x = std::vector<float>(2 * kHeads * std::max(kHeadDim, kValueDim), 0.5F);
  std::vector<float> out = std::vector<float>(x.size());
  std::vector<std::int64_t> positions;
  AttendArgs args;

  explicit TwoTokens(std::int64_t apart = 1) : positions{0, apart} {
    args = {.out = tensor(out.data(), {2, kHeads, kValueDim}),
            .q = tensor(static_cast<const float*>(x.data()), {2, kHeads, kHeadDim}),
            .k = tensor(static_cast<const float*>(x.data()), {2, kKvHeads, kHeadDim}),
            .v = tensor(static_cast<const float*>(x.data()), {2, kKvHeads, kValueDim})};
    args.inputs.q_positions = args.inputs.k_positions = std::span<const std::int64_t>(positions);
  }
};

// What is kept is not made again, where it reaches as far as the call does.
TEST(PreparedLayer, SparesItsCalls) {
  SchemeCall of(named("KERPLE"),
                {.name = "both ways", .mask = {.kind = MaskKind::bidirectional}, .queries = 2, .keys = 2},
                Places::by_order, kSeed);
  const PreparedLayer prepared = prepare_layer(of.layer, of.weights, {.max_distance = 100});
  EXPECT_EQ(prepared.bytes(), 4 * kHeads * 201);
  const kernels::KernelTable& kernels = cpu::kernels_for("test", Isa::automatic);
  for (const std::int64_t apart : {1, 100, 101}) {
    TwoTokens tokens(apart);
    tokens.args.weights = of.weights;
    const cpu::AttendCall call = cpu::attend_call(of.layer, tokens.args, {.queries = 2, .keys = 2}, kernels,
                                                  cpu::KeptLayerAccess::kept(prepared).terms);
    EXPECT_EQ(call.own_vectors[0].bias.values.empty(), apart <= 100);
  }
}

TEST(PreparedLayer, RefusesWhatItWasNotMadeOf) {
  SchemeCall call(named("KERPLE"), {.name = "causal", .queries = 2, .keys = 2}, Places::by_order, kSeed);
  TwoTokens tokens;
  AttendArgs& args = tokens.args;
  PreparedLayer prepared = prepare_layer(call.layer, call.weights, {.isa = Isa::scalar});
  EXPECT_EQ(prepared.isa(), Isa::scalar);
  EXPECT_EQ(prepared.layer(), call.layer);
  EXPECT_TRUE(attend(prepared, args));
  args.weights = call.weights;
  const char* const others = "[attend] weights must be left out, since the prepared layer has them but is given";
  EXPECT_ERROR(attend(prepared, args), others);
  EXPECT_ERROR(attend_scratch_bytes(prepared, args), others);
  args.weights = {};
  if (selected_isa() != Isa::scalar) {
    args.isa = selected_isa();
    const std::string other =
        "[attend] isa must be that of the prepared layer, scalar but is " + std::string(name(args.isa));
    EXPECT_ERROR(attend(prepared, args), other.c_str());
    args.isa = Isa::automatic;
  }
  const PreparedLayer moved = std::move(prepared);
  EXPECT_TRUE(attend(moved, args));
  EXPECT_ERROR(attend(prepared, args), "[PreparedLayer] must hold a layer but is moved from");  // NOLINT: is meant
}

TEST(PreparedLayer, IsMadeOfWhatFits) {
  SchemeCall call(named("KERPLE"), {.name = "causal", .queries = 2, .keys = 2}, Places::by_order, kSeed);
  EXPECT_ERROR(prepare_layer(call.layer, {}),
               "[attend] weights.score[0] must hold the scheme's learned tables but is left out, or another scheme's");
  EXPECT_ERROR(prepare_layer(call.layer, call.weights, {.max_distance = -1}),
               "[prepare_layer] max_distance must be from 0 to 33554431, for tables of 1 GiB but is -1");
  EXPECT_ERROR(
      prepare_layer(call.layer, call.weights, {.max_distance = std::numeric_limits<std::int64_t>::max()}),
      "[prepare_layer] max_distance must be from 0 to 33554431, for tables of 1 GiB but is 9223372036854775807");
  EXPECT_ERROR(prepare_layer(call.layer, call.weights, {.parallel = {.threads = -1}}),
               "[prepare_layer] parallel.threads must be at least 0 but is -1");
  LayerPlan other = call.layer;
  other.sinks = true;
  EXPECT_ERROR(prepare_layer(other, call.weights), "[attend] sinks must have shape [4] but is left out");
  other = call.layer;
  other.heads = (std::int64_t{1} << 30) + 1;
  other.kv_heads = 1;
  EXPECT_ERROR(prepare_layer(other, call.weights), "[attend] layer.heads must be at most 1073741824 but is 1073741825");
}

}  // namespace
}  // namespace posenc::test::prepared_layer_test
