#include "diagnose/fitted_lists.h"

#include <cmath>
#include <functional>
#include <utility>

#include "base/formatted.h"
#include "diagnose/directed.h"
#include "diagnose/free_frequencies.h"
#include "diagnose/misread/misread_length.h"
#include "diagnose/misread/misread_yarn.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

// One table, and what is asked of it.
class Fitting {
 public:
  Fitting(const MeasuredTable& table, const Screen& screen, const ChannelPairs& pairs, const Expectation& expected,
          const std::vector<std::int32_t>& axis_of_pair)
      : table_(table),
        screen_(screen),
        pairs_(pairs),
        expected_(expected),
        axis_of_pair_(axis_of_pair),
        places_(expected.places()),
        measured_(expected.counted ? free_frequencies(table) : free_frequencies(table, places_, axis_of_pair)) {}

  const FreeFrequencies& measured() const { return measured_; }

  // At the expected positions.
  bool is_sound(const FrequencyList& list) const {
    return screen_.holds(list, places_, axis_of_pair_) &&
           suspicion(table_, {&list, &places_, &axis_of_pair_}) == Suspicion::none;
  }

  // `pattern` with another base than the plan's.
  std::optional<FrequencyList> with_fitted_base(const Rope& pattern, double planned) const {
    const auto with_base = [&](double base) { return list_of(pattern, base); };
    const auto frequencies_of = [&](double base) {
      const auto list = with_base(base);
      return list ? list->inv_freq : std::vector<double>(pairs_.pairs(), 0.0);
    };
    const auto raw = fitted_number(measured_, 2.0, 1e12, frequencies_of);
    if (!raw) return {};
    // Of the expected positions first: of others, which the base would stretch, fewer digits seem enough. A base that
    // nobody rounded has more of them than are told.
    const auto holds = [&](double value) {
      const auto list = with_base(value);
      return list && is_sound(*list);
    };
    auto base = fewest_digits(*raw, holds);
    if (!base && holds(*raw)) base = *raw;
    if (!base) {
      const double refined = refined_number(table_, places_, axis_of_pair_, *raw, frequencies_of);
      base = fewest_digits(refined, holds);
      if (!base && holds(std::nearbyint(refined))) base = std::nearbyint(refined);
    }
    if (!base && axis_of_pair_.empty()) {
      base = fewest_digits(*raw, [&](double value) {
        const auto list = with_base(value);
        return list && screen_.decodes(*list, expected_.axes.front());
      });
    }
    if (!base || *base == planned) return {};
    auto list = with_base(*base);
    if (list) list->changes = {base_change(*base, planned)};
    return list;
  }

  // base^(-2p/width), width a multiple of a head where one holds, else of 2: the hidden size in the place of the
  // head's. Of a rope without a rule and with one axis.
  std::optional<FrequencyList> with_fitted_width(const Rope& rope) const {
    if (!expected_.rope || !std::holds_alternative<std::monostate>(rope.scaling) || !rope.axes.of_pair.empty())
      return {};
    constexpr double kWidest = 1 << 20;
    const auto frequencies_of = [&](double width) { return over_pairs(exponents_over(rope, width), rope, pairs_); };
    const auto raw = fitted_number(measured_, 2.0, kWidest, frequencies_of);
    if (!raw) return {};
    for (const std::int64_t unit : {rope.head_dim, std::int64_t{64}, std::int64_t{2}}) {
      const std::int64_t width = unit * std::llround(*raw / static_cast<double>(unit));
      if (width < 2 || width == rope.dim) continue;
      FrequencyList list{.inv_freq = frequencies_of(static_cast<double>(width)),
                         .changes = {width_change(rope, width)}};
      if (is_sound(list)) return list;
    }
    return {};
  }

  // The rule at the length that measured frequencies say, a round one where one holds. Of dynamic NTK, beyond the
  // length that was trained: up to there it is none.
  std::optional<FrequencyList> with_fitted_length(const Rope& rope) const {
    const auto* const rule = std::get_if<DynamicScaling>(&rope.scaling);
    if (rule == nullptr) return {};
    constexpr double kLongest = 0x1p32;
    const auto trained = static_cast<double>(rule->max_position_embeddings);
    const auto at = [&](std::int64_t length) { return frequency_list(rope, length, pairs_, {}); };
    const auto raw = fitted_number(measured_, trained, kLongest, [&](double length) {
      const auto list = at(std::llround(length));
      return list ? list->inv_freq : std::vector<double>(pairs_.pairs(), 0.0);
    });
    if (!raw) return {};
    for (const std::int64_t unit : {4096, 1024, 256, 64, 10, 1}) {
      const std::int64_t length = unit * std::llround(*raw / static_cast<double>(unit));
      if (length <= rule->max_position_embeddings || length == expected_.length) continue;
      auto list = at(length);
      if (!list || !is_sound(*list)) continue;
      list->changes = {length_change(length, expected_.length)};
      return list;
    }
    return {};
  }

 private:
  std::optional<FrequencyList> list_of(const Rope& pattern, double base) const {
    Rope other = pattern;
    other.base = base;
    return frequency_list(other, expected_.length, pairs_, {});
  }

  const MeasuredTable& table_;
  const Screen& screen_;
  const ChannelPairs& pairs_;
  const Expectation& expected_;
  const std::vector<std::int32_t>& axis_of_pair_;
  Places places_;
  FreeFrequencies measured_;
};

}  // namespace

FrequencyList refitted(const MeasuredTable& table, const ChannelPairs& pairs, const FrequencyList& list,
                       const Places& places, const std::vector<std::int32_t>& axis_of_pair) {
  if (!list.fitted || !list.rope) return list;
  const auto with_base = [&](double base) {
    Rope rope = *list.rope;
    rope.base = base;
    return frequency_list(rope, list.length, pairs, list.changes);
  };
  const auto frequencies_of = [&](double base) {
    const auto other = with_base(base);
    return other ? other->inv_freq : std::vector<double>(pairs.pairs(), 0.0);
  };
  auto out = with_base(refined_number(table, places, axis_of_pair, list.rope->base, frequencies_of));
  if (!out) return list;
  out->fitted = true;
  return *out;
}

std::vector<FrequencyList> fitted_lists(const MeasuredTable& table, const Screen& screen, const Rope& rope,
                                        const ChannelPairs& pairs, const Expectation& expected,
                                        const std::vector<std::int32_t>& axis_of_pair) {
  std::vector<FrequencyList> out;
  const Fitting fitting(table, screen, pairs, expected, axis_of_pair);
  const auto add = [&](std::optional<FrequencyList> list) {
    if (!list) return;
    list->fitted = true;
    out.push_back(std::move(*list));
  };
  if (auto at_length = fitting.with_fitted_length(rope)) {
    // Any base and a length make the same numbers as another base and another length.
    add(std::move(at_length));
    return out;
  }
  add(fitting.with_fitted_base(rope, rope.base));
  if (std::holds_alternative<std::monostate>(rope.scaling)) {
    add(fitting.with_fitted_width(rope));
    return out;
  }
  Rope plain = rope;
  plain.scaling = std::monostate{};
  auto dropped = fitting.with_fitted_base(plain, rope.base);
  if (dropped) {
    dropped->changes.push_back(scaling_change(plain.scaling, rope.scaling));
    dropped->changes.back().found = "none: the rule was dropped";
  }
  add(std::move(dropped));
  if (const auto plan = frequency_list(rope, expected.length, pairs, {})) {
    for (FrequencyList& list : fitted_yarn(fitting.measured(), *plan, rope, pairs)) {
      if (!fitting.is_sound(list)) continue;
      add(std::move(list));
      break;
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
