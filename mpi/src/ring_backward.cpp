// attend_ring_backward: keys come as they came forward; what a rank makes of gradients of another's keys goes back to
// it while the next piece is computed, and is added in the order of the turns.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.h"
#include "backward_checks.h"
#include "posenc/mpi.h"
#include "returning.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kBackward = "mpi::attend_ring_backward";

void add(std::vector<double>& to, const std::vector<double>& more) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
}

void add(float* to, std::span<const float> more) {
  for (std::size_t n = 0; n < more.size(); ++n) to[n] += more[n];
}

// From the front to the back of a dense list, as the view has them.
void write(const TensorView& to, const std::vector<double>& from) {
  std::array<std::int64_t, kMaxRank> place{};
  for (const double number : from) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < to.rank; ++axis) offset += place[index(axis)] * to.strides[index(axis)];
    if (to.dtype == DType::f64) {
      static_cast<double*>(to.data)[offset] = number;
    } else {
      static_cast<float*>(to.data)[offset] = static_cast<float>(number);
    }
    for (int axis = to.rank; axis-- > 0;) {
      if (++place[index(axis)] < to.shape[index(axis)]) break;
      place[index(axis)] = 0;
    }
  }
}

// The pass itself. Made where ranks still agree on the call, since it takes the memory that this needs.
class Backward {
 public:
  Backward(const RingCall& ring, const mpi::RingBackwardArgs& args);
  void run();

 private:
  std::vector<GradientRows> of_own_keys() const;
  void compute(std::int64_t piece, const Arrived& here);
  void attend_back(std::int64_t piece, const Arrived& here, std::int64_t first, std::int64_t count,
                   const TensorView& d_q, const OfKeys& to);

  const RingCall& ring_;
  const mpi::RingBackwardArgs& args_;
  Schedule schedule_;
  Keys coming_;
  Returning returning_;
  Learned sums_, of_part_;
  std::int64_t at_a_time_;
  std::vector<float> d_q_, d_carry_;
  RowInputs of_queries_, of_keys_;
  std::function<bool()> moving_;
};

Backward::Backward(const RingCall& ring, const mpi::RingBackwardArgs& args)
    : ring_(ring),
      args_(args),
      schedule_(ring, true),
      coming_(ring, schedule_),
      returning_(ring, schedule_, of_own_keys()),
      sums_(ring, args.local.d_weights),
      of_part_(ring, args.local.d_weights),
      at_a_time_(ring.rows_at_a_time()),
      d_carry_(index(ring.carry_size())),
      moving_(coming_.moving([this] { returning_.advance(); })) {
  const std::int64_t of_runs = coming_.count() * ring.carry_size();
  if (ring.in_runs() && std::ssize(args.carries) != of_runs) {
    ring.refuse("carries", "be the " + std::to_string(of_runs) + " numbers that attend_ring wrote",
                std::to_string(args.carries.size()));
  }
  if (!args.local.d_q.empty() && coming_.count() > 1) {
    d_q_.resize(index(at_a_time_ * ring.layer.heads * ring.layer.head_dim));
  }
}

// Of those that are asked for.
std::vector<GradientRows> Backward::of_own_keys() const {
  std::vector<GradientRows> out;
  const auto add_one = [&](const TensorView& x, std::int64_t width) {
    if (!x.empty()) out.push_back({static_cast<float*>(x.data), width});
  };
  add_one(args_.local.d_k, ring_.layer.kv_heads * ring_.layer.head_dim);
  add_one(args_.local.d_v, ring_.layer.kv_heads * ring_.layer.value_dim);
  add_one(args_.local.d_log_forget, ring_.layer.heads);
  return out;
}

void Backward::attend_back(std::int64_t piece, const Arrived& here, std::int64_t first, std::int64_t count,
                           const TensorView& d_q, const OfKeys& to) {
  const LayerPlan& layer = ring_.layer;
  const std::int64_t keys = here.piece->count;
  of_queries_.place(ring_.own_queries(), first, count);
  AttendBackwardArgs call = args_.local;
  call.q = rows_of(ring_.q, first, count);
  call.k = coming_.k(here);
  call.v = coming_.v(here);
  call.inputs = ring_.inputs_of(of_queries_, first, of_keys_);
  coming_.add_inputs(here, call.inputs);
  for (ConstTensorView* const x : {&call.out, &call.lse, &call.d_out, &call.d_lse}) *x = rows_of(*x, first, count);
  call.d_q = d_q;
  std::size_t next = 0;
  if (!call.d_k.empty()) call.d_k = tensor(to[next++], {keys, layer.kv_heads, layer.head_dim});
  if (!call.d_v.empty()) call.d_v = tensor(to[next++], {keys, layer.kv_heads, layer.value_dim});
  if (!call.d_log_forget.empty()) call.d_log_forget = tensor(to[next++], {keys, layer.heads});
  call.d_weights = of_part_.named;
  if (ring_.in_runs()) {
    // Forward they came in the other order.
    const float* const before = args_.carries.data() + (coming_.count() - 1 - piece) * ring_.carry_size();
    call.carry = ring_.carry_of(before, first, count);
    call.d_carry = ring_.carry_of(d_carry_.data(), first, count);
  }
  call.keep_going = moving_;
  (void)attend_backward(layer, call);
  for (std::size_t n = 0; n < sums_.numbers.size(); ++n) {
    if (sums_.named[n].name == "sinks" && piece > 0) continue;  // they count once
    add(sums_.numbers[n], of_part_.numbers[n]);
  }
}

// The first piece makes d_q, to which the others add.
void Backward::compute(std::int64_t piece, const Arrived& here) {
  const OfKeys to = returning_.room(*here.piece);
  const TensorView& d_q = args_.local.d_q;
  of_keys_.place(ring_.keys_of(here.piece->owner), here.piece->first, here.piece->count);
  if (piece == 0) return attend_back(piece, here, 0, ring_.q_rows(), d_q, to);
  for (std::int64_t first = 0; first < ring_.q_rows(); first += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, ring_.q_rows() - first);
    const std::int64_t width = ring_.layer.heads * ring_.layer.head_dim;
    const TensorView part = d_q.empty() ? d_q : tensor(d_q_.data(), {count, ring_.layer.heads, ring_.layer.head_dim});
    const bool is_first = first == 0;
    attend_back(piece, here, first, count, part, is_first ? to : returning_.more());
    if (!is_first) returning_.add_more(to, here.piece->count);
    if (!d_q.empty()) add(static_cast<float*>(d_q.data) + first * width, std::span(d_q_).first(index(count * width)));
  }
}

void Backward::run() {
  Failure failure;
  coming_.send();
  returning_.start();
  if (!args_.local.d_q.empty() && coming_.count() == 0) {
    std::fill_n(static_cast<float*>(args_.local.d_q.data), ring_.q_rows() * ring_.layer.heads * ring_.layer.head_dim,
                0.0F);
  }
  for (std::int64_t n = 0; n < coming_.count(); ++n) {
    const Arrived& here = coming_.take(n);
    failure.attempt([&] { compute(n, here); });
    returning_.give(*here.piece);
  }
  returning_.finish();
  coming_.finish();
  failure.settle(ring_.comm, kBackward);
  for (std::size_t n = 0; n < sums_.numbers.size(); ++n) write(args_.local.d_weights[n].gradient, sums_.numbers[n]);
  if (args_.sent != nullptr) *args_.sent = coming_.sent + returning_.sent;
}

}  // namespace

namespace mpi {

void attend_ring_backward(MPI_Comm comm, const LayerPlan& layer, const RingBackwardArgs& args) {
  const RingCall ring = ring_call(comm, kBackward, layer, args);
  std::optional<Backward> backward;
  agree(ring.comm, kBackward, [&] {
    const std::int64_t digest = backward_digest(ring, args);
    backward.emplace(ring, args);
    return digest;
  });
  backward->run();
}

}  // namespace mpi
}  // namespace posenc
