// attend_ring_backward: keys come as they came forward; what a rank makes of gradients of another's keys goes back to
// it while the next piece is computed, and is added in the order of the turns.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.h"
#include "posenc/mpi.h"
#include "posenc/named_weights.h"
#include "returning.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kBackward = "mpi::attend_ring_backward";

std::int64_t numbers_of(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t size : shape) out *= size;
  return out;
}

void add(std::vector<double>& to, const std::vector<double>& more) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
}

void add(float* to, const std::vector<float>& more) {
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

// Of d_weights: one list of numbers each.
struct Learned {
  std::vector<std::vector<std::int64_t>> shapes{};
  std::vector<std::vector<double>> numbers{};
  std::vector<NamedGradient> named{};

  Learned(const RingCall& call, std::span<const NamedGradient> asked) {
    for (const NamedGradient& one : asked) {
      shapes.push_back(gradient_shape(call.layer, call.weights, one.name));
      numbers.emplace_back(index(numbers_of(shapes.back())));
    }
    for (std::size_t n = 0; n < asked.size(); ++n) {
      named.push_back({asked[n].name, tensor(numbers[n].data(), DType::f64, shapes[n])});
    }
  }
  Learned(const Learned&) = delete;
  Learned& operator=(const Learned&) = delete;
};

struct Backward : RingCall {
  const mpi::RingBackwardArgs& args;

  Backward(const RingCall& call, const mpi::RingBackwardArgs& given) : RingCall(call), args(given) {}

  std::int64_t checked_digest() const;
  void check_gradients() const;
  void probe() const;
  void run() const;

  // Of those that are asked for.
  std::vector<GradientRows> own() const;
  AttendBackwardArgs part(OfKeys& to, std::int64_t rows) const;
};

std::vector<GradientRows> Backward::own() const {
  std::vector<GradientRows> out;
  const auto add_one = [&](const TensorView& x, std::int64_t width) {
    if (!x.empty()) out.push_back({static_cast<float*>(x.data), width});
  };
  add_one(args.local.d_k, layer.kv_heads * layer.head_dim);
  add_one(args.local.d_v, layer.kv_heads * layer.value_dim);
  add_one(args.local.d_log_forget, layer.heads);
  return out;
}

AttendBackwardArgs Backward::part(OfKeys& to, std::int64_t rows) const {
  AttendBackwardArgs out = args.local;
  std::size_t next = 0;
  if (!out.d_k.empty()) out.d_k = tensor(to.tensors[next++].data(), {rows, layer.kv_heads, layer.head_dim});
  if (!out.d_v.empty()) out.d_v = tensor(to.tensors[next++].data(), {rows, layer.kv_heads, layer.value_dim});
  if (!out.d_log_forget.empty()) out.d_log_forget = tensor(to.tensors[next++].data(), {rows, layer.heads});
  return out;
}

void Backward::check_gradients() const {
  const AttendBackwardArgs& local = args.local;
  const auto check_written = [&](const char* field, const TensorView& x, int of_rank, std::int64_t rows,
                                 std::int64_t heads, std::int64_t channels) {
    if (x.empty()) return;
    check_rows(field, x, of_rank, rows);
    if (x.dtype != DType::f32) refuse(field, "be f32, in which ranks add", std::string(name(x.dtype)));
    if (x.shape[1] != heads || (of_rank == 3 && x.shape[2] != channels)) {
      refuse(field, "have " + std::to_string(heads) + " heads of " + std::to_string(channels) + " channels",
             std::to_string(x.shape[1]) + " of " + std::to_string(of_rank == 3 ? x.shape[2] : 1));
    }
  };
  check_written("d_q", local.d_q, 3, q_rows(), layer.heads, layer.head_dim);
  check_written("d_k", local.d_k, 3, k_rows(), layer.kv_heads, layer.head_dim);
  check_written("d_v", local.d_v, 3, k_rows(), layer.kv_heads, layer.value_dim);
  check_written("d_log_forget", local.d_log_forget, 2, k_rows(), layer.heads, 1);
  if (!local.d_log_forget.empty() && inputs.log_forget.empty()) refuse("d_log_forget", "be of log_forget", "of none");
  if (!local.d_bias.empty() || !local.d_row_gate.empty()) {
    refuse("local", "ask for no d_bias or d_row_gate, which a ring has no inputs of", "given");
  }
  const auto* const values = std::get_if<RotatedValues>(&layer.value);
  const bool turns_back = values != nullptr && values->inverse_on_output;
  for (const NamedGradient& one : local.d_weights) {
    // A share of it is of outputs alone, which each part would count.
    if (turns_back && one.name.ends_with("inv_freq")) {
      refuse("d_weights", "leave out inv_freq, of a layer whose outputs are rotated back", std::string(one.name));
    }
    if (one.gradient.dtype != DType::f32 && one.gradient.dtype != DType::f64) {
      refuse("d_weights", "be f32 or f64", std::string(one.name));
    }
  }
}

// The kernels refuse what does not fit the layer, of a query and a key of zeros; and d_weights by their own views.
void Backward::probe() const {
  Probe zeros(*this);
  const TensorView out = tensor(zeros.out.data(), {1, layer.heads, layer.value_dim});
  const TensorView lse = tensor(zeros.lse.data(), {1, layer.heads});
  const Learned learned(*this, args.local.d_weights);
  for (std::size_t n = 0; n < learned.shapes.size(); ++n) {
    const TensorView& given = args.local.d_weights[n].gradient;
    const std::vector<std::int64_t> is(given.shape.begin(), given.shape.begin() + given.rank);
    if (is != learned.shapes[n]) {
      refuse("d_weights", "have the shape of what it is the gradient of", std::string(learned.named[n].name));
    }
  }
  (void)attend(layer, {.out = out,
                       .q = zeros.q,
                       .k = zeros.k,
                       .v = zeros.v,
                       .weights = weights,
                       .inputs = zeros.inputs,
                       .lse = lse,
                       .parallel = {.threads = 1}});
  (void)attend_backward(layer, {.q = zeros.q,
                                .k = zeros.k,
                                .v = zeros.v,
                                .weights = weights,
                                .inputs = zeros.inputs,
                                .out = out,
                                .lse = lse,
                                .d_out = out,
                                .d_weights = learned.named,
                                .parallel = {.threads = 1}});
}

std::int64_t Backward::checked_digest() const {
  const AttendBackwardArgs& local = args.local;
  Digest digest;
  check(digest);
  if (!local.pages.block_table.empty() || !local.carry.empty() || !local.d_carry.empty()) {
    refuse("local", "have neither pages nor carry", "given");
  }
  if (local.keep_going) refuse("local.keep_going", "be omitted, since other ranks would wait", "given");
  const auto check_made = [&](const char* field, const ConstTensorView& x, int of_rank) {
    check_rows(field, x, of_rank, q_rows());
    if (x.shape[1] != layer.heads || (of_rank == 3 && x.shape[2] != layer.value_dim)) {
      refuse(field, "be as attend_ring writes it", "of other heads or channels");
    }
  };
  check_made("out", local.out, 3);
  check_made("d_out", local.d_out, 3);
  check_made("lse", local.lse, 2);
  if (!local.d_lse.empty()) check_made("d_lse", local.d_lse, 2);
  check_gradients();
  probe();
  const Schedule schedule(*this, true);
  const auto of_runs = std::ssize(schedule.of_rank(rank)) * carry_size();
  if (in_runs() && std::ssize(args.carries) != of_runs) {
    refuse("carries", "be the " + std::to_string(of_runs) + " numbers that attend_ring wrote",
           std::to_string(args.carries.size()));
  }
  digest.add_number((local.d_k.empty() ? 0 : 1) + (local.d_v.empty() ? 0 : 2) + (local.d_log_forget.empty() ? 0 : 4));
  return digest.value();
}

void Backward::run() const {
  const Schedule schedule(*this, true);
  Keys coming(*this, schedule);
  const std::vector<GradientRows> of_own = own();
  for (const GradientRows& one : of_own) std::fill_n(one.data, k_rows() * one.width, 0.0F);
  Returning returning(*this, schedule, of_own);
  Learned sums(*this, args.local.d_weights);
  Learned of_part(*this, args.local.d_weights);
  std::vector<float> d_q(index(args.local.d_q.empty() ? 0 : q_rows() * layer.heads * layer.head_dim));
  std::vector<float> sum_q(d_q.size());
  const std::int64_t of_carry = carry_size();
  std::vector<float> d_carry(index(of_carry));
  Failure failure;
  std::int64_t done = 0;

  const auto compute = [&](const Arrived& here, OfKeys& to) {
    AttendBackwardArgs call = part(to, here.piece->count());
    call.k = coming.k(here);
    call.v = coming.v(here);
    call.inputs = coming.inputs(here);
    if (!call.d_q.empty()) call.d_q = tensor(d_q.data(), {q_rows(), layer.heads, layer.head_dim});
    call.d_weights = of_part.named;
    if (in_runs()) {
      // Forward they came in the other order.
      const float* const before = args.carries.data() + (coming.count() - 1 - done) * of_carry;
      call.carry = tensor(before, DType::f32, carry_shape());
      call.d_carry = tensor(d_carry.data(), DType::f32, carry_shape());
    }
    call.keep_going = coming.moving([&] { returning.advance(); });
    (void)attend_backward(layer, call);
    add(sum_q.data(), d_q);
    for (std::size_t n = 0; n < sums.numbers.size(); ++n) {
      if (sums.named[n].name == "sinks" && done > 0) continue;  // they count once
      add(sums.numbers[n], of_part.numbers[n]);
    }
  };

  for (; done < coming.count(); ++done) {
    const Arrived& here = coming.take(done);
    OfKeys made = returning.room(*here.piece);
    failure.attempt([&] { compute(here, made); });
    returning.give(*here.piece, std::move(made));
  }
  returning.finish();
  coming.finish();
  failure.settle(*this);
  if (!args.local.d_q.empty()) std::ranges::copy(sum_q, static_cast<float*>(args.local.d_q.data));
  for (std::size_t n = 0; n < sums.numbers.size(); ++n) write(args.local.d_weights[n].gradient, sums.numbers[n]);
  if (args.sent != nullptr) *args.sent = coming.sent + returning.sent;
}

}  // namespace

namespace mpi {

void attend_ring_backward(MPI_Comm comm, const LayerPlan& layer, const RingBackwardArgs& args) {
  const Backward backward(ring_call(comm, kBackward, layer, args), args);
  agree(comm, kBackward, [&] { return backward.checked_digest(); });
  backward.run();
}

}  // namespace mpi
}  // namespace posenc
