// attend_ring: what a rank needs comes piece by piece from those that hold it; parts are merged as they are computed.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "agreement.h"
#include "posenc/mpi.h"
#include "ring_messages.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kRing = "mpi::attend_ring";

struct Ring : RingCall {
  const mpi::RingArgs& args;

  Ring(const RingCall& call, const mpi::RingArgs& given) : RingCall(call), args(given) {}

  std::int64_t checked_digest() const;
  void run() const;
};

std::int64_t Ring::checked_digest() const {
  Digest digest;
  check(digest);
  if (!args.local.pages.block_table.empty() || !args.local.carry.empty()) {
    refuse("local", "have neither pages nor carry", "given");
  }
  if (args.local.keep_going) refuse("local.keep_going", "be omitted, since other ranks would wait", "given");
  check_written(where, layer, args.local.out, args.local.lse, q_rows());
  Probe probe(*this);
  (void)attend(layer, {.out = tensor(probe.out.data(), {1, layer.heads, layer.value_dim}),
                       .q = probe.q,
                       .k = probe.k,
                       .v = probe.v,
                       .weights = weights,
                       .inputs = probe.inputs,
                       .parallel = {.threads = 1}});
  (void)Schedule(*this, false);
  return digest.value();
}

void Ring::run() const {
  const Schedule schedule(*this, false);
  Keys coming(*this, schedule);
  LayerPlan part_layer = layer;
  part_layer.sinks = false;
  AttendArgs call = args.local;
  call.weights.sinks = {};
  call.keep_going = coming.moving();
  struct Summed {
    std::vector<float> out, lse;
  };
  const auto empty = [&] {
    return Summed{std::vector<float>(index(q_rows() * layer.heads * layer.value_dim)),
                  std::vector<float>(index(q_rows() * layer.heads), -std::numeric_limits<float>::infinity())};
  };
  const auto as_out = [&](Summed& x) { return tensor(x.out.data(), {q_rows(), layer.heads, layer.value_dim}); };
  const auto as_lse = [&](Summed& x) { return tensor(x.lse.data(), {q_rows(), layer.heads}); };
  Summed sum = empty();
  Summed part = empty();
  std::vector<float> carry(index(carry_size()));
  std::vector<float> carries;
  Failure failure;
  for (std::int64_t n = 0; n < coming.count(); ++n) {
    const Arrived& here = coming.take(n);
    carries.insert(carries.end(), carry.begin(), carry.end());
    failure.attempt([&] {
      Summed& to = n == 0 ? sum : part;
      call.out = as_out(to);
      call.lse = as_lse(to);
      call.k = coming.k(here);
      call.v = coming.v(here);
      call.inputs = coming.inputs(here);
      if (in_runs()) call.carry = tensor(carry.data(), DType::f32, carry_shape());
      (void)attend(part_layer, call);
      if (n == 0) return;
      const std::vector<AttendPart> parts{{as_out(sum), as_lse(sum)}, {as_out(part), as_lse(part)}};
      merge({.out = as_out(sum), .lse = as_lse(sum), .parts = parts});
    });
  }
  coming.finish();
  failure.settle(*this);
  const std::vector<AttendPart> all{{as_out(sum), as_lse(sum)}};
  merge({.out = args.local.out,
         .lse = args.local.lse,
         .parts = all,
         .sinks = layer.sinks ? args.local.weights.sinks : ConstTensorView{}});
  if (args.sent != nullptr) *args.sent = coming.sent;
  if (args.carries != nullptr) *args.carries = std::move(carries);
}

}  // namespace

namespace mpi {

void attend_ring(MPI_Comm comm, const LayerPlan& layer, const RingArgs& args) {
  const Ring ring(ring_call(comm, kRing, layer, args), args);
  agree(comm, kRing, [&] { return ring.checked_digest(); });
  ring.run();
}

}  // namespace mpi
}  // namespace posenc
