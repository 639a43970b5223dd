// attend_backward(), of what attend has written: refused with nothing written, or all other memory is as it was, three
// threads give the bits of one, and each gradient is near the reference's.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "fuzz/calls/attend_call.h"
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/target.h"
#include "posenc/attend_backward.h"
#include "posenc/reference_backward.h"
#include "reference/elements.h"

namespace posenc::fuzz {
namespace {

// Of tensors of f32 that hold numbers up to 4, and sequences of up to some sixty tokens: what a wrong row, head or tile
// is far beyond. The bounds of roundings are those of the tests (tests/attend/backward).
constexpr double kNear = 1e-3;

class BackwardCall {
 public:
  BackwardCall(Arguments& arguments, Slots& slots, const AttendCall& call) {
    const AttendArgs& of = call.args;
    args = {.q = of.q,
            .k = of.k,
            .v = of.v,
            .pages = of.pages,
            .weights = of.weights,
            .inputs = of.inputs,
            .out = of.out,
            .lse = of.lse,
            .parallel = of.parallel,
            .isa = of.isa};
    args.d_out = like(arguments, slots, of.out);
    if (arguments.chance(96)) args.d_lse = like(arguments, slots, of.lse);
    if (!arguments.chance(32)) args.d_q = like(arguments, slots, of.q);
    const bool is_paged = !of.pages.block_table.empty();
    const auto of_keys = [&](const ConstTensorView& x) {
      if (!is_paged) return like(arguments, slots, x);
      return slots.take(arguments, x.dtype, {of.inputs.cu_seqlens_k.back(), x.shape[2], x.shape[3]});
    };
    if (!arguments.chance(32)) args.d_k = of_keys(of.k);
    if (!arguments.chance(32)) args.d_v = of_keys(of.v);
    if (!of.inputs.bias.empty() && arguments.chance(128)) args.d_bias = like(arguments, slots, of.inputs.bias);
    names_ = gradient_names(call.layer, of.weights);
    spoil(arguments, slots);
  }
  BackwardCall(const BackwardCall&) = delete;
  BackwardCall& operator=(const BackwardCall&) = delete;

  AttendBackwardArgs args;

  std::vector<TensorView> written() const {
    std::vector<TensorView> out;
    for (const TensorView& x : {args.d_q, args.d_k, args.d_v, args.d_bias}) {
      if (!x.empty()) out.push_back(x);
    }
    return out;
  }

 private:
  static TensorView like(Arguments& arguments, Slots& slots, const ConstTensorView& x) {
    return slots.take(arguments, x.dtype, std::span(x.shape).first(static_cast<std::size_t>(x.rank)));
  }

  void spoil(Arguments& arguments, const Slots& slots) {
    for (int n = arguments.spoils(); n > 0; --n) {
      const auto spoil_view = [&](auto& view) {
        const std::array<TensorView, 3> others{args.d_q, args.d_k, args.d_v};
        TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
        slots.spoil(arguments, changed, arguments.choice(others));
        view = changed;
      };
      switch (arguments.byte() % 9) {
        case 0: spoil_view(args.out); break;
        case 1: spoil_view(args.lse); break;
        case 2: spoil_view(args.d_out); break;
        case 3: spoil_view(args.d_lse); break;
        case 4: spoil_view(args.d_q); break;
        case 5: spoil_view(args.d_k); break;
        case 6: spoil_view(args.d_v); break;
        case 7: spoil_view(args.d_bias); break;
        default: name_wrongly(arguments); break;
      }
    }
  }

  // A name twice, or none that there is, with a tensor of no shape of its.
  void name_wrongly(Arguments& arguments) {
    std::string_view name = "no_such";
    if (!names_.empty() && !arguments.chance(64)) name = names_[arguments.byte() % names_.size()];
    named_ = {{name, args.d_q}, {name, args.d_q}};
    args.d_weights = named_;
  }

  std::vector<std::string> names_;
  std::vector<NamedGradient> named_;
};

// Formulas with bends, where a rounding decides on which side of one a score lies.
bool has_bends(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<Fire>(term) ||
           std::holds_alternative<MlpBias>(term);
  });
}

bool is_compared(const AttendCall& call, const BackwardCall& back, const Slots& slots) {
  const AttendBackwardArgs& args = back.args;
  const auto is_f32 = [](const ConstTensorView& x) { return x.empty() || x.dtype == DType::f32; };
  if (!std::ranges::all_of(std::array<ConstTensorView, 6>{args.q, args.k, args.v, args.out, args.d_out, args.d_lse},
                           is_f32)) {
    return false;
  }
  return slots.are_calm() && call.has_sound_weights() && call.args.angles == Angles::exact &&
         call.args.products == Products::f32 && call.args.carry.empty() && !has_bends(call.layer);
}

// Scores and what they are scaled by: a gradient's roundings grow with both.
bool are_small(test::SchemeCall& call) {
  constexpr double kMostScore = 100.0;
  constexpr double kMostScale = 2.0;
  if (std::abs(call.layer.softmax_scale) > kMostScale) return false;
  const std::vector<double> lse = call.by_formulas().lse;
  return std::ranges::all_of(lse, [](double one) { return !(std::abs(one) > kMostScore) || one == -INFINITY; });
}

test::Tensor numbers_of(const ConstTensorView& x) {
  test::Tensor out{{}, {x.shape.begin(), x.shape.begin() + x.rank}};
  for_offsets(x, [&](std::int64_t offset) { out.values.push_back(reference::read(x, offset)); });
  return out;
}

void must_be_near(const ConstTensorView& x, const test::Tensor& wanted, const char* what) {
  double largest = 1.0;
  for (const double one : wanted.values) {
    if (!std::isfinite(one)) return;
    largest = std::max(largest, std::abs(one));
  }
  std::size_t n = 0;
  for_offsets(x, [&](std::int64_t offset) {
    must(std::abs(reference::read(x, offset) - wanted.values[n++]) <= kNear * largest, what);
  });
}

void must_be_the_reference(AttendCall& call, const BackwardCall& back, const Slots& slots) {
  const AttendBackwardArgs& args = back.args;
  test::SchemeCall& same = call.in_double(slots);
  const test::Tensor d_out = numbers_of(args.d_out);
  const test::Tensor d_lse = args.d_lse.empty() ? test::Tensor{} : numbers_of(args.d_lse);
  const auto zeros_like = [](const test::Tensor& x) {
    return test::Tensor{std::vector<double>(x.values.size()), x.shape};
  };
  test::Tensor d_q = zeros_like(same.q);
  test::Tensor d_k = zeros_like(same.k);
  test::Tensor d_v = zeros_like(same.v);
  reference::AttendBackwardArgs wanted{
      .q = same.q, .k = same.k, .v = same.v, .weights = same.weights, .inputs = same.inputs, .d_out = d_out};
  if (!args.d_lse.empty()) wanted.d_lse = d_lse;
  wanted.d_q = d_q.writable();
  wanted.d_k = d_k.writable();
  wanted.d_v = d_v.writable();
  // What the kernels take, the reference takes.
  must(reference::attend_backward(same.layer, wanted), "a call that nobody cancels comes to its end");
  if (!is_compared(call, back, slots) || !are_small(same)) return;
  if (!args.d_q.empty()) must_be_near(args.d_q, d_q, "d_q is near the reference's");
  if (!args.d_k.empty()) must_be_near(args.d_k, d_k, "d_k is near the reference's");
  if (!args.d_v.empty()) must_be_near(args.d_v, d_v, "d_v is near the reference's");
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  AttendCall call(arguments, slots);
  if (call.args.lse.empty()) return;
  slots.remember();
  if (outcome_of(slots, [&] { return attend(call.layer, call.args); }) != Outcome::done) return;
  const BackwardCall back(arguments, slots, call);
  slots.remember();
  if (outcome_of(slots, [&] { return attend_backward(call.layer, back.args); }) != Outcome::done) return;
  must(slots.are_untouched_but(back.written()), "nothing beside the elements of gradients is written");
  const AttendBackwardArgs& args = back.args;
  must_be_apart(back.written(), std::array{args.q, args.k, args.v, args.out, args.lse, args.d_out, args.d_lse});
  must_be_the_reference(call, back, slots);
  const auto before = bytes_in_each(back.written());
  slots.restore();
  AttendBackwardArgs again = args;
  again.parallel = {.executor = backwards()};
  again.keep_going = [] { return true; };
  must(attend_backward(call.layer, again), "a call that is let go on comes to its end");
  must(bytes_in_each(back.written()) == before, "three threads give the bits of one");
}

}  // namespace posenc::fuzz
