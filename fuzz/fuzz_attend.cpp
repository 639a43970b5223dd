// attend() and prepare_layer(): refused with nothing written, or each output and lse is what the reference says, all
// other memory is as it was, and the bits are the same from a prepared layer, by several threads, with the caller's
// scratch.
#include <algorithm>
#include <cmath>

#include "attend/fused/fused_bounds.h"
#include "fuzz/calls/attend_call.h"
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/target.h"
#include "posenc/prepared_layer.h"
#include "reference/elements.h"
#include "support/tolerances.h"

namespace posenc::fuzz {
namespace {

// Bounds of outputs are of first order in the errors of scores (same_output in tolerances.h).
constexpr double kLargestScoreError = 0.02;

// What a bias of the caller's adds: up to 4, at most as many roundings as a score has on its way, which are one of a
// term each beside head_dim (up to 20) and 16 of a rotation. Values are at most 4, what terms add to them 6.
struct Added {
  double score = 0.0;
  double half_range = 10.0;
};
Added added_by(const LayerInputs& inputs) {
  if (inputs.bias.empty()) return {};
  return {.score = test::fused_score(4.0, 64.0)};
}

// Gates are summed along ascending orders only (docs/schemes/cope.md).
bool is_compared(const AttendCall& call) {
  const auto sums_gates = [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); };
  const LayerInputs& in = call.args.inputs;
  if (!in.q_order.empty() || !in.k_order.empty()) {
    if (std::ranges::any_of(call.layer.score, sums_gates)) return false;
  }
  return call.has_sound_weights() && call.args.angles == Angles::exact && call.args.carry.empty();
}

// A view may have bytes of another dtype for elements, whose products are beyond any float.
bool are_small(const test::Tensor& x) {
  return std::ranges::none_of(x.values, [](double one) { return std::abs(one) > 0x1p20; });
}

void must_be_near(const ConstTensorView& x, const std::vector<double>& wanted, const std::vector<double>& bounds,
                  const char* what) {
  std::size_t n = 0;
  for_offsets(x, [&](std::int64_t offset) {
    const double is = reference::read(x, offset);
    // What is NaN by the formulas has no bound: a view may have other bytes of its slot for elements, which are NaN.
    const bool has_bound = is != wanted[n] && !std::isnan(wanted[n]) && std::isfinite(bounds[n]);
    if (has_bound) must(std::abs(is - wanted[n]) <= bounds[n], what);
    ++n;
  });
}

void must_be_attended(const AttendCall& call, test::SchemeCall& same, const Slots& slots) {
  const test::SchemeCall::Result wanted = same.by_formulas();  // what the kernels take, the reference takes
  if (!slots.are_calm() || !is_compared(call)) return;
  if (!are_small(same.q) || !are_small(same.k) || !are_small(same.v)) return;
  // Of no keys all is 0 and -inf, to the bit.
  test::SchemeCall::Result bounds{std::vector<double>(wanted.out.size()), std::vector<double>(wanted.lse.size())};
  if (same.sizes.keys > 0) bounds = test::fused_bounds(same, wanted, DType::f32, call.args.products);
  // Codes are multiplied before their scales, and zeros are summed apart: the number that the reference takes is
  // rounded once, the product with the scale once, and the parts of an asymmetric number are up to 3 times as large as
  // it.
  const double of_codes = call.has_codes() ? 4.0 : 1.0;
  for (double& bound : bounds.lse) bound *= of_codes;
  for (double& bound : bounds.out) bound *= of_codes;
  const Added added = added_by(call.args.inputs);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  for (std::size_t row = 0; row < bounds.lse.size(); ++row) {
    bounds.lse[row] += added.score;
    const bool is_first_order = bounds.lse[row] < kLargestScoreError;
    for (std::size_t n = row * width; n < (row + 1) * width; ++n) {
      const double bound = bounds.out[n] + 1.05 * added.score * added.half_range;
      bounds.out[n] = is_first_order ? test::stored_error(call.args.out.dtype, wanted.out[n], bound) : INFINITY;
    }
    if (!is_first_order) bounds.lse[row] = INFINITY;
  }
  must_be_near(call.args.out, wanted.out, bounds.out, "an output is what the reference says");
  if (!call.args.lse.empty()) must_be_near(call.args.lse, wanted.lse, bounds.lse, "lse is what the reference says");
}

// The same call in another way, which must have the same bits.
void must_repeat(const AttendCall& call, const Slots& slots, std::uint8_t way) {
  const auto before = bytes_in_each(call.written());
  slots.restore();
  AttendArgs args = call.args;
  std::vector<std::byte> scratch;
  switch (way % 3) {
    case 0: args.parallel = {.executor = backwards()}; break;
    case 1:
      scratch.resize(static_cast<std::size_t>(attend_scratch_bytes(call.layer, args)));
      args.scratch = scratch;
      args.keep_going = [] { return true; };
      break;
    default: break;
  }
  if (way % 3 == 2) {
    const PreparedLayer prepared =
        prepare_layer(call.layer, args.weights, {.max_distance = way, .parallel = args.parallel, .isa = args.isa});
    args.weights = {};
    must(attend(prepared, args), "a call that is let go on comes to its end");
  } else {
    must(attend(call.layer, args), "a call that is let go on comes to its end");
  }
  must(bytes_in_each(call.written()) == before, "threads, scratch and a prepared layer change no bit");
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const std::uint8_t way = arguments.byte();
  AttendCall call(arguments, slots, Stored::or_codes);
  slots.remember();
  if (outcome_of(slots, [&] { return attend(call.layer, call.args); }) != Outcome::done) return;
  must(slots.are_untouched_but(call.written()), "nothing beside the elements of outputs is written");
  must_be_apart(call.written(), call.read());
  test::SchemeCall& same = call.in_double(slots);
  must_be_attended(call, same, slots);
  // Where masked values are NaN or infinite, KV heads that share a pass are added up key by key, all of them: which
  // heads share one beside few queries hangs on the threads.
  if (std::ranges::all_of(same.v.values, [](double x) { return std::isfinite(x); })) must_repeat(call, slots, way);
}

}  // namespace posenc::fuzz
