// How many numbers each primitive has of a head, and their sums over tasks.
#include "cpu/backward/term_sums.h"

#include <algorithm>
#include <variant>

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

struct SizeOfTerm {
  const AttendCall& call;
  std::size_t t;

  std::int64_t channels() const { return whole(call.layer.head_dim, call.attention.register_lanes); }
  TermSize operator()(const math::DistanceBias& term) const { return {.floats = term.count}; }
  TermSize operator()(const math::LinearDistance&) const { return {.doubles = 1}; }
  TermSize operator()(const math::Knots& term) const {
    return {.doubles = 2 * (std::ssize(term.edges) + 1) + std::ssize(term.numerators)};
  }
  TermSize operator()(const math::Column&) const { return {}; }
  TermSize operator()(const math::QueryDistance& term) const {
    return {.floats = (term.vectors.count + term.given.count) * channels()};
  }
  TermSize operator()(const math::KeyDistance& term) const { return {.floats = term.vectors.count * channels()}; }
  TermSize operator()(const math::SineDistance& term) const {
    if (!call.projects_queries(t)) return {.floats = (term.high - term.low + 2) * channels()};
    const std::int64_t width = whole(call.vectors(t).sines->width(), call.attention.register_lanes);
    return {.floats = call.layer.head_dim * width + channels()};
  }
  TermSize operator()(const math::KeyVector&) const { return {.floats = channels()}; }
  TermSize operator()(const math::Label&) const { return {.floats = 2 * channels(), .doubles = 2}; }
  TermSize operator()(const math::Running& term) const { return {.floats = term.count * channels()}; }
};

}  // namespace

TermSize size_of_term(const AttendCall& call, std::size_t t) {
  return std::visit(SizeOfTerm{call, t}, call.lowered.terms[t]);
}

TermSize size_of_values(const AttendCall& call) {
  const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values);
  if (values == nullptr) return {};
  return {.floats = values->count * whole(call.layer.value_dim, call.attention.register_lanes)};
}

void TermSums::clear() {
  std::ranges::fill(floats, 0.0F);
  std::ranges::fill(doubles, 0.0);
}

void TermSums::add(const TermSums& from, std::int64_t first) {
  float* const to = floats_of(first);
  for (std::size_t n = 0; n < from.floats.size(); ++n) to[n] += from.floats[n];
  double* const to_doubles = doubles_of(first);
  for (std::size_t n = 0; n < from.doubles.size(); ++n) to_doubles[n] += from.doubles[n];
}

}  // namespace posenc::cpu
