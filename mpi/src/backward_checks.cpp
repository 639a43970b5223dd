#include "backward_checks.h"

#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "posenc/attend.h"
#include "posenc/named_weights.h"

namespace posenc::mpi_library {
namespace {

std::int64_t numbers_of(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t size : shape) out *= size;
  return out;
}

struct Checks : RingCall {
  const mpi::RingBackwardArgs& args;

  Checks(const RingCall& call, const mpi::RingBackwardArgs& given) : RingCall(call), args(given) {}

  std::int64_t digest() const;
  void check_made() const;
  void check_gradients() const;
  void check_memory() const;
  void probe() const;
};

void Checks::check_made() const {
  const AttendBackwardArgs& local = args.local;
  const std::array<std::int64_t, 3> shape{q_rows(), layer.heads, layer.value_dim};
  const auto check_one = [&](const char* field, const ConstTensorView& x, int of_rank) {
    check_rows(field, x, of_rank, q_rows());
    if (x.shape[1] != layer.heads || (of_rank == 3 && x.shape[2] != layer.value_dim)) {
      refuse(field, "be as attend_ring writes it", "of other heads or channels");
    }
    check_heads(where, field, x, std::span(shape).first(index(of_rank)));
    if (of_rank == 2 && x.dtype != DType::f32) refuse(field, "be f32", std::string(name(x.dtype)));
  };
  check_one("out", local.out, 3);
  check_one("d_out", local.d_out, 3);
  check_one("lse", local.lse, 2);
  if (!local.d_lse.empty()) check_one("d_lse", local.d_lse, 2);
}

void Checks::check_gradients() const {
  const AttendBackwardArgs& local = args.local;
  const auto check_written = [&](const char* field, const TensorView& x, int of_rank, std::int64_t rows,
                                 std::int64_t heads, std::int64_t channels) {
    if (x.empty()) return;
    check_rows(field, x, of_rank, rows);
    if (x.dtype != DType::f32) refuse(field, "be f32, in which ranks add", std::string(name(x.dtype)));
    if (x.data == nullptr && rows > 0) refuse(field, "point to its numbers", "null");
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
    if (one.gradient.data == nullptr) refuse("d_weights", "point to numbers", "null of " + std::string(one.name));
  }
}

// The kernels refuse what does not fit the layer, of a query and a key of zeros; and d_weights by their own views.
void Checks::probe() const {
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

void Checks::check_memory() const {
  const AttendBackwardArgs& local = args.local;
  std::vector<Named> written{
      {"d_q", local.d_q}, {"d_k", local.d_k}, {"d_v", local.d_v}, {"d_log_forget", local.d_log_forget}};
  for (const NamedGradient& one : local.d_weights) written.emplace_back("d_weights", one.gradient);
  check_apart(where, written,
              std::array{Named{"q", q}, Named{"k", k}, Named{"v", v}, Named{"log_forget", inputs.log_forget},
                         Named{"out", local.out}, Named{"lse", local.lse}, Named{"d_out", local.d_out},
                         Named{"d_lse", local.d_lse}});
}

std::int64_t Checks::digest() const {
  const AttendBackwardArgs& local = args.local;
  Digest out(where);
  check(out);
  if (!local.pages.block_table.empty() || !local.carry.empty() || !local.d_carry.empty()) {
    refuse("local", "have neither pages nor carry", "given");
  }
  if (local.keep_going) refuse("local.keep_going", "be omitted, since other ranks would wait", "given");
  check_made();
  check_gradients();
  check_memory();
  probe();
  out.add_number((local.d_k.empty() ? 0 : 1) + (local.d_v.empty() ? 0 : 2) + (local.d_log_forget.empty() ? 0 : 4));
  return out.value();
}

}  // namespace

Learned::Learned(const RingCall& call, std::span<const NamedGradient> asked) {
  for (const NamedGradient& one : asked) {
    shapes.push_back(gradient_shape(call.layer, call.weights, one.name));
    numbers.emplace_back(index(numbers_of(shapes.back())));
  }
  for (std::size_t n = 0; n < asked.size(); ++n) {
    named.push_back({asked[n].name, tensor(numbers[n].data(), DType::f64, shapes[n])});
  }
}

std::int64_t backward_digest(const RingCall& call, const mpi::RingBackwardArgs& args) {
  return Checks(call, args).digest();
}

}  // namespace posenc::mpi_library
