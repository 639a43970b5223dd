// attend_ring: what a rank needs comes piece by piece from those that hold it; parts are merged as they are computed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "agreement.h"
#include "posenc/mpi.h"
#include "ring_messages.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kRing = "mpi::attend_ring";

std::int64_t ring_digest(const RingCall& ring, const mpi::RingArgs& args) {
  const AttendArgs& local = args.local;
  Digest digest(kRing);
  ring.check(digest);
  if (!local.pages.block_table.empty() || !local.carry.empty()) {
    ring.refuse("local", "have neither pages nor carry", "given");
  }
  if (!local.k_quantised.empty() || !local.v_quantised.empty()) {
    ring.refuse("local", "have no k_quantised or v_quantised", "given");
  }
  if (local.keep_going) ring.refuse("local.keep_going", "be omitted, since other ranks would wait", "given");
  check_written(kRing, ring.layer, local.out, local.lse, ring.q_rows());
  check_apart(kRing, std::array{Named{"out", local.out}, Named{"lse", local.lse}},
              std::array{Named{"q", ring.q}, Named{"k", ring.k}, Named{"v", ring.v},
                         Named{"log_forget", ring.inputs.log_forget}});
  Probe probe(ring);
  (void)attend(ring.layer, {.out = tensor(probe.out.data(), {1, ring.layer.heads, ring.layer.value_dim}),
                            .q = probe.q,
                            .k = probe.k,
                            .v = probe.v,
                            .weights = ring.weights,
                            .inputs = probe.inputs,
                            .angles = local.angles,
                            .products = local.products,
                            .parallel = {.threads = 1},
                            .isa = local.isa});
  digest.add_number(static_cast<std::int64_t>(local.angles));
  digest.add_number(static_cast<std::int64_t>(local.products));
  return digest.value();
}

// The pass itself. Made where ranks still agree on the call, since it takes the memory that this needs.
class Forward {
 public:
  Forward(const RingCall& ring, const mpi::RingArgs& args);
  void run();

 private:
  TensorView rows_of_out(std::vector<float>& x, std::int64_t rows) const {
    return tensor(x.data(), {rows, ring_.layer.heads, ring_.layer.value_dim});
  }
  TensorView rows_of_lse(std::vector<float>& x, std::int64_t rows) const {
    return tensor(x.data(), {rows, ring_.layer.heads});
  }
  void see_nothing();
  void compute(std::int64_t piece, const Arrived& here);
  void attend_to(const Arrived& here, std::int64_t first, std::int64_t count, const TensorView& out,
                 const TensorView& lse);
  void write();

  const RingCall& ring_;
  const mpi::RingArgs& args_;
  Schedule schedule_;
  Keys coming_;
  LayerPlan part_layer_;
  std::int64_t at_a_time_;
  // The sum so far, which is the caller's where that is of floats; and a part to be merged into it.
  TensorView out_, lse_;
  std::vector<float> own_out_, own_lse_, part_out_, part_lse_, carry_, carries_;
  RowInputs of_queries_, of_keys_;
  std::function<bool()> moving_;
  AttendWork work_{};
};

Forward::Forward(const RingCall& ring, const mpi::RingArgs& args)
    : ring_(ring),
      args_(args),
      schedule_(ring, false),
      coming_(ring, schedule_),
      part_layer_(ring.layer),
      at_a_time_(ring.rows_at_a_time()),
      out_(args.local.out),
      lse_(args.local.lse),
      carry_(index(ring.carry_size())),
      moving_(coming_.moving()) {
  const std::int64_t of_query = ring.layer.heads * ring.layer.value_dim;
  part_layer_.sinks = false;
  if (out_.dtype != DType::f32) {
    own_out_.resize(index(ring.q_rows() * of_query));
    out_ = rows_of_out(own_out_, ring.q_rows());
  }
  if (lse_.empty()) {
    own_lse_.resize(index(ring.q_rows() * ring.layer.heads));
    lse_ = rows_of_lse(own_lse_, ring.q_rows());
  }
  if (coming_.count() > 1) {
    part_out_.resize(index(at_a_time_ * of_query));
    part_lse_.resize(index(at_a_time_ * ring.layer.heads));
  }
  if (args.carries != nullptr) carries_.resize(index(coming_.count()) * carry_.size());
}

void Forward::see_nothing() {
  for (std::int64_t row = 0; row < ring_.q_rows(); ++row) {
    for (std::int64_t head = 0; head < ring_.layer.heads; ++head) {
      float* const out = static_cast<float*>(out_.data) + row * out_.strides[0] + head * out_.strides[1];
      std::fill_n(out, ring_.layer.value_dim, 0.0F);
      static_cast<float*>(lse_.data)[row * lse_.strides[0] + head * lse_.strides[1]] =
          -std::numeric_limits<float>::infinity();
    }
  }
}

void Forward::attend_to(const Arrived& here, std::int64_t first, std::int64_t count, const TensorView& out,
                        const TensorView& lse) {
  of_queries_.place(ring_.own_queries(), first, count);
  AttendWork work;
  AttendArgs call = args_.local;
  call.out = out;
  call.lse = lse;
  call.q = rows_of(ring_.q, first, count);
  call.k = coming_.k(here);
  call.v = coming_.v(here);
  call.weights.sinks = {};
  call.inputs = ring_.inputs_of(of_queries_, first, of_keys_);
  coming_.add_inputs(here, call.inputs);
  if (ring_.in_runs()) call.carry = ring_.carry_of(carry_.data(), first, count);
  call.work = &work;
  call.keep_going = moving_;
  (void)attend(part_layer_, call);
  work_.tiles += work.tiles;
  work_.skipped += work.skipped;
}

// The first piece makes the sum.
void Forward::compute(std::int64_t piece, const Arrived& here) {
  of_keys_.place(ring_.keys_of(here.piece->owner), here.piece->first, here.piece->count);
  if (piece == 0) return attend_to(here, 0, ring_.q_rows(), out_, lse_);
  for (std::int64_t first = 0; first < ring_.q_rows(); first += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, ring_.q_rows() - first);
    const TensorView part_out = rows_of_out(part_out_, count);
    const TensorView part_lse = rows_of_lse(part_lse_, count);
    attend_to(here, first, count, part_out, part_lse);
    const TensorView out_rows = rows_of(out_, first, count);
    const TensorView lse_rows = rows_of(lse_, first, count);
    merge({.out = out_rows,
           .lse = lse_rows,
           .parts = std::array{AttendPart{out_rows, lse_rows}, AttendPart{part_out, part_lse}}});
  }
}

// Sinks, and the caller's dtype.
void Forward::write() {
  if (args_.local.out.dtype == DType::f32 && !ring_.layer.sinks) return;
  const ConstTensorView sinks = ring_.layer.sinks ? args_.local.weights.sinks : ConstTensorView{};
  merge({.out = args_.local.out, .lse = args_.local.lse, .parts = std::array{AttendPart{out_, lse_}}, .sinks = sinks});
}

void Forward::run() {
  Failure failure;
  coming_.send();
  if (coming_.count() == 0) see_nothing();
  for (std::int64_t n = 0; n < coming_.count(); ++n) {
    const Arrived& here = coming_.take(n);
    if (!carries_.empty()) std::ranges::copy(carry_, carries_.begin() + n * std::ssize(carry_));
    failure.attempt([&] { compute(n, here); });
  }
  coming_.finish();
  failure.attempt([&] { write(); });
  failure.settle(ring_.comm, kRing);
  if (args_.local.work != nullptr) *args_.local.work = work_;
  if (args_.sent != nullptr) *args_.sent = coming_.sent;
  if (args_.carries != nullptr) *args_.carries = std::move(carries_);
}

}  // namespace

namespace mpi {

void attend_ring(MPI_Comm comm, const LayerPlan& layer, const RingArgs& args) {
  const RingCall ring = ring_call(comm, kRing, layer, args);
  std::optional<Forward> forward;
  agree(ring.comm, kRing, [&] {
    const std::int64_t digest = ring_digest(ring, args);
    forward.emplace(ring, args);
    return digest;
  });
  forward->run();
}

}  // namespace mpi
}  // namespace posenc
