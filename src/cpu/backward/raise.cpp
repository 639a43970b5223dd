// Which gradients a call asks for, and the walk over the schemes that have them.
#include "cpu/backward/raise.h"

#include <algorithm>
#include <array>
#include <variant>

#include "cpu/backward/bias_gradients.h"
#include "cpu/lower/weight_reader.h"
#include "math/learned_tensors.h"

namespace posenc::cpu {
namespace {

const NamedGradient* find(std::span<const NamedGradient> all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &NamedGradient::name);
  return found == all.end() || found->gradient.empty() ? nullptr : &*found;
}

// All elements of the tensor, the last axis fastest.
void write_all(const TensorView& x, std::span<const double> gradients) {
  clear(x);
  std::array<std::int64_t, kMaxRank> place{};
  for (const double gradient : gradients) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < x.rank; ++axis) offset += place[index(axis)] * x.strides[index(axis)];
    add_to(x, offset, gradient);
    for (int axis = x.rank; axis-- > 0;) {
      if (++place[index(axis)] < x.shape[index(axis)]) break;
      place[index(axis)] = 0;
    }
  }
}

std::string prefix_of_scheme(const BackwardCall& backward, std::size_t t) {
  return math::prefix_of(t, backward.call.layer.score.size());
}

// Of those of the layer that begin so, and are no rotation's.
bool asks_for_any(const BackwardCall& backward, const std::string& prefix) {
  constexpr std::string_view kRotation = "inv_freq";
  return std::ranges::any_of(backward.args.d_weights, [&](const NamedGradient& one) {
    return one.name.starts_with(prefix) && !one.name.ends_with(kRotation) && one.name != "sinks" &&
           one.name != "value_table" && !one.gradient.empty();
  });
}

// The names of the rotations that a call has, in its order.
std::vector<std::string> names_of_rotations(const LayerPlan& layer) {
  std::vector<std::string> out;
  for (std::size_t n = 0; n < layer.rotate.size(); ++n) {
    if (layer.rotate[n].role != RotateRole::main) continue;
    out.push_back(math::prefix_of(n, math::main_rotations(layer)) + "inv_freq");
  }
  return out;
}

}  // namespace

bool Raising::is_asked(const std::string& name) const { return !asked(name).empty(); }

TensorView Raising::asked(const std::string& name) const {
  const NamedGradient* const to = find(backward.args.d_weights, prefix + name);
  return to == nullptr ? TensorView{} : to->gradient;
}

void Raising::write(const std::string& name, std::span<const double> gradients) const {
  const TensorView to = asked(name);
  if (!to.empty()) write_all(to, gradients);
}

bool asks_for_frequencies(const LayerPlan& layer, std::span<const NamedGradient> asked) {
  return std::ranges::any_of(names_of_rotations(layer),
                             [&](const std::string& name) { return find(asked, name) != nullptr; });
}

void write_frequencies(const LayerPlan& layer, std::span<const NamedGradient> asked, const FrequencySums& sums) {
  const std::vector<std::string> names = names_of_rotations(layer);
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (const NamedGradient* const to = find(asked, names[n])) write_all(to->gradient, sums[n]);
  }
}

void mark_wanted(BackwardCall& backward) {
  const math::Lowered& lowered = backward.call.lowered;
  backward.wants.assign(lowered.terms.size(), 0);
  for (std::size_t t = 0; t < lowered.first_term.size(); ++t) {
    const std::size_t end = t + 1 < lowered.first_term.size() ? lowered.first_term[t + 1] : lowered.terms.size();
    const bool is_gate = std::holds_alternative<ForgetGate>(backward.call.layer.score[t]);
    const bool is_wanted = is_gate ? !backward.args.d_log_forget.empty() || !backward.args.d_carry.empty()
                                   : asks_for_any(backward, prefix_of_scheme(backward, t));
    for (std::size_t n = lowered.first_term[t]; n < end; ++n) backward.wants[n] = is_wanted ? 1 : 0;
  }
  backward.wants_values = find(backward.args.d_weights, "value_table") != nullptr;
  backward.wants_frequencies = asks_for_frequencies(backward.call.layer, backward.args.d_weights);
}

void raise(const BackwardCall& backward) {
  static const ScoreWeights none;
  const LayerPlan& layer = backward.call.layer;
  for (std::size_t t = 0; t < layer.score.size(); ++t) {
    const std::vector<ScoreWeights>& all = backward.args.weights.score;
    const Raising raising{backward, t, prefix_of_scheme(backward, t)};
    std::visit([&](const auto& scheme) { raise_term(scheme, all.empty() ? none : all[t], raising); }, layer.score[t]);
  }
  const Raising of_layer{backward, 0, ""};
  std::visit([&](const auto& scheme) { raise_values(scheme, of_layer); }, layer.value);
  of_layer.write("sinks", backward.of_sinks);
  write_frequencies(layer, backward.args.d_weights, summed(backward.of_frequencies));
}

}  // namespace posenc::cpu
