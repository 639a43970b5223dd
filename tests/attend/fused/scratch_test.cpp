// Where threads work: as many bytes as a call says, whatever the lengths, and nothing from the heap on the way.
#include <gtest/gtest.h>

#include <memory_resource>
#include <string>
#include <vector>

#include "attend/fused/fused_call.h"
#include "cpu/attend/arena.h"
#include "cpu/attend/attend_unit.h"
#include "cpu/machine/dispatch.h"
#include "support/all_schemes.h"
#include "support/heap_probe.h"
#include "support/throws.h"

namespace posenc::test::scratch_test {
namespace {

constexpr std::uint64_t kSeed = 20240731;

Arrangement of_tokens(std::int64_t queries, std::int64_t keys) {
  return {.name = "causal", .mask = {.kind = MaskKind::causal}, .batch = 2, .queries = queries, .keys = keys};
}

Places places_of(const SchemeCase& scheme) { return scheme.side > 0 ? Places::scattered : Places::by_order; }

TEST(Scratch, IsAsMuchAsACallSays) {
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    SchemeCall call(scheme, of_tokens(20, 70), places_of(scheme), kSeed);
    FusedCall fused(call);
    for (const std::int64_t threads : {1, 2}) {
      const SchemeCall::Result own = fused.by_kernels(Isa::automatic, {.threads = threads});
      const SchemeCall::Result given = fused.by_kernels(Isa::automatic, {.threads = threads, .spare_scratch = 0});
      EXPECT_EQ(given.out, own.out);
      EXPECT_EQ(given.lse, own.lse);
      // Whole lines for each thread, or the next one's would begin within a line.
      EXPECT_EQ(fused.scratch.size() % static_cast<std::size_t>(cpu::kArenaAlignment), 0U);
    }
    const auto needed = std::to_string(fused.scratch.size());
    // A line is what alignment may take.
    EXPECT_ERROR(
        fused.by_kernels(Isa::automatic, {.threads = 2, .spare_scratch = -2 * cpu::kArenaAlignment}),
        ("[attend] scratch must have at least " + needed + " bytes but is " + std::to_string(fused.scratch.size()))
            .c_str());
  }
}

TEST(Scratch, DoesNotGrowWithTheLengths) {
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    std::vector<std::size_t> bytes;
    for (const std::int64_t n : {200, 400}) {  // units of all their rows
      SchemeCall call(scheme, of_tokens(n, n), places_of(scheme), kSeed);
      FusedCall fused(call);
      fused.by_kernels(Isa::automatic, {.spare_scratch = 0});
      bytes.push_back(fused.scratch.size());
    }
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

// Once a worker is made, whatever it does it does in what it has taken.
TEST(Scratch, IsAllThatAPassTakes) {
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    for (const std::int64_t queries : {3, 112}) {
      SchemeCall call(scheme, of_tokens(queries, 130), places_of(scheme), kSeed);
      const std::vector<float> q(call.q.values.begin(), call.q.values.end());
      const std::vector<float> k(call.k.values.begin(), call.k.values.end());
      const std::vector<float> v(call.v.values.begin(), call.v.values.end());
      std::vector<std::int64_t> out_shape = call.q.shape;
      out_shape.back() = call.layer.value_dim;
      std::vector<float> out(q.size() / static_cast<std::size_t>(call.layer.head_dim) *
                             static_cast<std::size_t>(call.layer.value_dim));
      const auto view = [](auto* data, const std::vector<std::int64_t>& shape) {
        return tensor(data, {shape.at(0), shape.at(1), shape.at(2), shape.at(3)});
      };
      const AttendArgs args{.out = view(out.data(), out_shape),
                            .q = view(q.data(), call.q.shape),
                            .k = view(k.data(), call.k.shape),
                            .v = view(v.data(), call.v.shape),
                            .weights = call.weights,
                            .inputs = call.inputs};
      const cpu::AttendCall made =
          cpu::attend_call(call.layer, args, call.sizes, cpu::kernels_for("test", Isa::automatic));
      const std::vector<cpu::AttendUnit> units = cpu::attend_units(made, call.layer.kv_heads);
      const cpu::FarTiles far(made);
      cpu::KeepGoing keep_going(args.keep_going);
      cpu::AttendWorker worker(made, units, far, keep_going, std::pmr::new_delete_resource());
      std::vector<float> state;
      for (const cpu::AttendUnit& unit : units) {
        state.resize(std::max(state.size(), static_cast<std::size_t>(cpu::state_size(made, unit))));
      }
      const HeapProbe probe;
      for (const cpu::AttendUnit& unit : units) {
        worker.begin(unit);
        worker.pass_over(unit, 0, call.sizes.keys);
        worker.save(state.data());
        worker.finish();
      }
      EXPECT_EQ(probe.allocations(), 0);
    }
  }
}

}  // namespace
}  // namespace posenc::test::scratch_test
