// merge(): refused with nothing written, or each output is the mean of the parts, weighed by the shares that their lse
// give them, all other memory is as it was, and parts may be where the result goes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/target.h"
#include "posenc/attend.h"
#include "reference/elements.h"
#include "support/tolerances.h"

namespace posenc::fuzz {
namespace {

constexpr std::array kDTypes{DType::f32, DType::bf16, DType::f16};
constexpr double kLargest = 60000.0;  // that f16 holds
constexpr double kNone = -std::numeric_limits<double>::infinity();

class MergeCall {
 public:
  MergeCall(Arguments& arguments, Slots& slots) {
    const std::int64_t batch = arguments.chance(96) ? arguments.whole(1, 3) : 0;
    const std::int64_t tokens = arguments.whole(0, 9);
    const std::int64_t heads = arguments.whole(1, 4);
    std::vector<std::int64_t> shape{tokens, heads, arguments.whole(1, 18)};
    if (batch > 0) shape = {batch, heads, tokens, shape.back()};
    const std::span<const std::int64_t> numbers(shape.data(), shape.size() - 1);
    args.out = slots.take(arguments, arguments.choice(kDTypes), shape);
    if (arguments.chance(128)) args.lse = slots.take(arguments, DType::f32, numbers);
    for (std::int64_t parts = arguments.whole(1, 4); parts > 0; --parts) {
      parts_.push_back({.out = slots.take(arguments, arguments.choice(kDTypes), shape),
                        .lse = slots.take(arguments, DType::f32, numbers)});
    }
    if (arguments.chance(64)) parts_.front().out = args.out;
    if (arguments.chance(64) && !args.lse.empty()) parts_.back().lse = args.lse;
    if (arguments.chance(96)) args.sinks = slots.take(arguments, arguments.choice(kDTypes), {heads});
    for (int n = arguments.spoils(); n > 0; --n) spoil(arguments, slots);
    args.parts = parts_;
  }
  MergeCall(const MergeCall&) = delete;
  MergeCall& operator=(const MergeCall&) = delete;

  MergeArgs args;

  std::vector<TensorView> written() const {
    std::vector<TensorView> out{args.out};
    if (!args.lse.empty()) out.push_back(args.lse);
    return out;
  }
  std::vector<ConstTensorView> read() const {
    std::vector<ConstTensorView> out{args.sinks};
    for (const AttendPart& part : parts_) out.insert(out.end(), {part.out, part.lse});
    return out;
  }

 private:
  void spoil(Arguments& arguments, const Slots& slots) {
    const auto spoil_view = [&](auto& view) {
      const std::array<TensorView, 2> others{args.out, args.lse};
      TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
      slots.spoil(arguments, changed, arguments.choice(others));
      view = changed;
    };
    switch (arguments.byte() % 6) {
      case 0: return spoil_view(args.out);
      case 1: return spoil_view(args.lse);
      case 2: return spoil_view(args.sinks);
      case 3: return parts_.clear();
      case 4:
        if (!parts_.empty()) spoil_view(parts_.back().out);
        return;
      default:
        if (!parts_.empty()) spoil_view(parts_.front().lse);
        return;
    }
  }

  std::vector<AttendPart> parts_;
};

std::vector<double> numbers_of(const ConstTensorView& x) {
  std::vector<double> out;
  for_offsets(x, [&](std::int64_t offset) { out.push_back(reference::read(x, offset)); });
  return out;
}

// Shares in double are as good as exact beside floats: each is rounded to float once, and so is its product; sums of
// the parts' products round once a part, all of numbers up to `largest`. What vanishes is off by 2^-150 each time.
double merged_bound(double parts, double largest) {
  return (2 + parts) * parts * (test::kFloatRounding * largest + 0x1p-150);
}

void must_be_merged(const MergeCall& call, const Slots& slots) {
  const MergeArgs& args = call.args;
  std::vector<std::vector<double>> outs;
  std::vector<std::vector<double>> lses;
  for (const AttendPart& part : args.parts) {
    outs.push_back(numbers_of(slots.remembered(part.out)));
    lses.push_back(numbers_of(slots.remembered(part.lse)));
  }
  const std::vector<double> sinks = numbers_of(slots.remembered(args.sinks));
  const std::vector<double> is = numbers_of(args.out);
  const std::vector<double> lse = numbers_of(args.lse);
  const auto width = static_cast<std::size_t>(args.out.shape[static_cast<std::size_t>(args.out.rank - 1)]);
  const auto heads = static_cast<std::size_t>(args.out.shape[1]);
  for (std::size_t row = 0; row < lses.front().size(); ++row) {
    double most = kNone;
    for (const std::vector<double>& part : lses) most = std::max(most, part[row]);
    double sum = 0.0;
    for (const std::vector<double>& part : lses) sum += std::exp(part[row] - most);
    const std::size_t head =
        args.out.rank == 4 ? row / static_cast<std::size_t>(args.out.shape[2]) % heads : row % heads;
    const double all = sinks.empty() ? sum : sum + std::exp(sinks[head] - most);
    for (std::size_t c = 0; c < width; ++c) {
      double wanted = 0.0;
      double largest = 0.0;
      for (std::size_t p = 0; p < outs.size(); ++p) {
        wanted += std::exp(lses[p][row] - most) / all * outs[p][row * width + c];
        largest = std::max(largest, std::abs(outs[p][row * width + c]));
      }
      if (!(largest < kLargest) || !std::isfinite(wanted)) continue;  // bytes that hold another dtype
      const double bound = merged_bound(static_cast<double>(outs.size()), largest);
      must(std::abs(is[row * width + c] - wanted) <= test::stored_error(args.out.dtype, wanted, bound),
           "a merged output is the mean of the parts");
    }
    if (lse.empty()) continue;
    const double wanted = most + std::log(sum);
    if (std::isfinite(wanted))
      must(std::abs(lse[row] - wanted) <= 2 * test::kFloatRounding * std::abs(wanted),
           "a merged lse is that of all keys");
  }
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const MergeCall call(arguments, slots);
  slots.remember();
  const auto merged = [&] {
    merge(call.args);
    return true;
  };
  if (outcome_of(slots, merged) != Outcome::done) return;
  must(slots.are_untouched_but(call.written()), "nothing beside the elements of out and lse is written");
  must_be_apart(call.written(), call.read());
  if (slots.are_calm() && call.args.out.data != nullptr) must_be_merged(call, slots);
}

}  // namespace posenc::fuzz
