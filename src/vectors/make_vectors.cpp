// make_vectors: the layer, its inputs, the stages by the reference, and the bounds of each.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "posenc/vectors.h"
#include "vectors/bounds.h"
#include "vectors/given_inputs.h"
#include "vectors/layer_choice.h"
#include "vectors/layer_facts.h"
#include "vectors/layer_inputs.h"
#include "vectors/stages.h"
#include "vectors/tensor_views.h"
#include "vectors/token_places.h"

namespace posenc::inline v0_2 {
namespace {

using golden::at;
using golden::Turning;

// Heads that do not rotate are the layer's, not the tensor's: there is no name for them here.
void require_whole_rotations(const LayerPlan& layer) {
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main || rotate.heads == 0 || rotate.heads >= layer.heads) continue;
    throw Error(golden::kMake, {"layer.rotate.heads", "be all heads of the layer", formatted("{}", rotate.heads)});
  }
}

// What the reference takes a few seconds for, at most; ALiBi makes the slopes of all heads for each score.
void require_little_work(const LayerPlan& layer, std::int64_t tokens) {
  constexpr std::int64_t kMostLayerHeads = 1024;
  constexpr double kMostScores = 0x1p20;
  constexpr double kMostProducts = 0x1p30;
  if (layer.heads > kMostLayerHeads) {
    throw Error(golden::kMake,
                {"layer.heads", formatted("be at most {}", kMostLayerHeads), formatted("{}", layer.heads)});
  }
  const double scores = static_cast<double>(layer.heads) * static_cast<double>(tokens * tokens);
  const double products = scores * (static_cast<double>(layer.head_dim) + static_cast<double>(layer.value_dim));
  if (scores <= kMostScores && products <= kMostProducts) return;
  throw Error(golden::kMake,
              {"tokens", formatted("be fewer, for {} heads of {} channels,", layer.heads, layer.head_dim),
               formatted("{}", tokens)});
}

// One more than the last position, as Hugging Face counts it.
std::int64_t length_of(const golden::TokenPlaces& places) {
  std::int64_t last = 0;
  for (const auto& axis : places.coordinates) {
    for (const std::int64_t place : axis) last = std::max(last, place);
  }
  return last + 1;
}

class VectorMaker {
 public:
  VectorMaker(Vectors& to, const VectorCall& call)
      : to_(to), call_(call), turnings_(golden::turnings_of(to.layer, call, call.q.shape[0])) {
    for (const golden::Rounding& rounding : golden::kRoundings) {
      to_.bounds.push_back({.dtype = rounding.dtype, .unit = rounding.unit, .bounds = {}});
    }
  }

  void rotation() {
    for (std::size_t n = 0; n < turnings_.size(); ++n) tables(turnings_[n], n == 0 ? "" : formatted("_{}", n));
    if (turnings_.empty()) return;
    if (!golden::rotates_alone(to_.layer)) {
      to_.left_out.emplace_back(
          "q_rotated, k_rotated: each key rotates in more than one way, by how far the query is from it");
      return;
    }
    rotated("q");
    rotated("k");
  }

  // Throws what the reference does.
  void attention() {
    const std::int64_t tokens = call_.q.shape[0];
    const LayerPlan& layer = to_.layer;
    golden::ScoreStages stages = golden::score_stages(layer, call_);
    std::vector<double> mask;
    for (std::size_t i = 0; i < at(tokens * tokens); ++i)
      mask.push_back(std::isinf(stages.final_scores[i]) ? 0.0 : 1.0);
    const VectorTensor scores{.name = "scores",
                              .shape = {layer.heads, tokens, tokens},
                              .values = stages.final_scores,
                              .axes = "heads, queries, keys"};
    const VectorTensor out{.name = "out",
                           .shape = {tokens, layer.heads, layer.value_dim},
                           .values = stages.out,
                           .axes = "tokens, heads, value_dim"};
    for (std::size_t d = 0; d < to_.bounds.size(); ++d) {
      const golden::Rounding& rounding = golden::kRoundings[d];
      const golden::ScoreErrors of_scores = golden::score_errors(to_, call_, turnings_, stages, rounding);
      const std::vector<double> of_out = golden::out_errors(to_, call_, turnings_, stages, of_scores, rounding);
      to_.bounds[d].bounds.push_back(golden::bound_of(scores, of_scores.both(), 1, 2 * rounding.unit));
      to_.bounds[d].bounds.push_back(golden::bound_of(out, of_out, 0, rounding.unit));
    }
    to_.tensors.push_back(scores);
    to_.tensors.push_back({.name = "mask",
                           .shape = {tokens, tokens},
                           .values = std::move(mask),
                           .axes = "queries, keys",
                           .is_whole = true});
    to_.tensors.push_back(out);
  }

 private:
  template <typename Make>
  void bound(const Make& make) {
    for (std::size_t d = 0; d < to_.bounds.size(); ++d) {
      to_.bounds[d].bounds.push_back(make(golden::kRoundings[d]));
    }
  }

  // cos and sin are what the rotation makes of pairs (1, 0).
  void tables(const Turning& turning, const std::string& suffix) {
    Rope one = rope(*turning.rotate);
    const std::int64_t tokens = call_.q.shape[0];
    const std::int64_t pairs = one.pairs();
    one.head_dim = one.dim;
    one.first_channel = 0;
    one.pairing = Pairing::half;
    Rotate rotate = *turning.rotate;
    rotate.scheme = one;
    Turning alone = turning;
    alone.rotate = &rotate;
    std::vector<double> ones(at(tokens * 2 * pairs));
    for (std::size_t i = 0; i < ones.size(); ++i) ones[i] = static_cast<std::int64_t>(i) % (2 * pairs) < pairs ? 1 : 0;
    const ConstTensorView x = tensor(std::as_const(ones).data(), {tokens, 1, 2 * pairs});
    const std::vector<double> turned = golden::rotated({alone}, x, call_.inputs.length);
    VectorTensor cos{.name = "cos" + suffix, .shape = {tokens, pairs}, .axes = "tokens, pairs"};
    VectorTensor sin{.name = "sin" + suffix, .shape = {tokens, pairs}, .axes = "tokens, pairs"};
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t p = 0; p < pairs; ++p) {
        cos.values.push_back(turned[at(t * 2 * pairs + p)]);
        sin.values.push_back(turned[at(t * 2 * pairs + pairs + p)]);
      }
    }
    const VectorTensor inv_freq{
        .name = "inv_freq" + suffix, .shape = {pairs}, .values = turning.frequencies.inv_freq, .axes = "pairs"};
    bound([&](const golden::Rounding&) { return golden::frequency_bound(turning, inv_freq); });
    bound([&](const golden::Rounding& rounding) { return golden::table_bound(turning, cos, rounding); });
    bound([&](const golden::Rounding& rounding) { return golden::table_bound(turning, sin, rounding); });
    to_.attention_factor.push_back(turning.frequencies.attention_factor);
    to_.tensors.push_back(inv_freq);
    to_.tensors.push_back(std::move(cos));
    to_.tensors.push_back(std::move(sin));
  }

  void rotated(const std::string& name) {
    const VectorTensor x = *to_.find(name);
    VectorTensor out{.name = name + "_rotated", .shape = x.shape, .axes = x.axes};
    out.values = golden::rotated(turnings_, golden::view(x), call_.inputs.length);
    bound([&](const golden::Rounding& rounding) {
      return golden::bound_of(out, golden::rotation_errors(turnings_, x, rounding), 0, rounding.unit);
    });
    to_.tensors.push_back(std::move(out));
  }

  Vectors& to_;
  const VectorCall& call_;
  std::vector<Turning> turnings_;
};

void leave_out_norm(Vectors& to) {
  to.left_out.emplace_back(
      "scores, mask, out: a norm follows the rotation, and its weights are the checkpoint's; hold the port's "
      "q_rotated and k_rotated before that norm");
}

// What is chosen of the plan, before there are inputs.
Vectors begun(const Plan& plan, const VectorOptions& options, const golden::LayerChoice& choice, LayerPlan layer) {
  const LayerPlan& whole = plan.stacks[choice.stack].layers[choice.place];
  if (options.length && *options.length < 1) {
    throw Error(golden::kMake, {"length", "be at least 1", formatted("{}", *options.length)});
  }
  Vectors out{.plan = plan,
              .options = options,
              .stack = plan.stacks[choice.stack].name,
              .layer = std::move(layer),
              .plan_heads = whole.heads,
              .plan_kv_heads = whole.kv_heads,
              .attention_factor = {},
              .facts = {},
              .left_out = {},
              .sources = golden::sources_of(plan, choice),
              .tensors = {},
              .bounds = {}};
  out.options.stack = out.stack;
  out.options.layer = out.layer.index;
  return out;
}

// Of vectors that have their inputs, the stages.
void add_stages(Vectors& out, bool has_values) {
  // What it gathers outlives the views: tensors are only added, at the end.
  const Vectors inputs = out;
  const VectorCall call(inputs);
  VectorMaker make(out, call);
  make.rotation();
  if (!has_values) {
    out.left_out.emplace_back("scores, mask, out: no values are given");
    return;
  }
  const bool norm_follows = out.layer.qk_norm && out.layer.qk_norm->order == QkNorm::Order::after;
  if (norm_follows && !out.layer.rotate.empty()) {
    leave_out_norm(out);
  } else if (out.attention_factor.empty()) {
    make.attention();
  } else {
    try {
      make.attention();
    } catch (const Error& error) {  // the rotation alone is worth having
      out.left_out.push_back(formatted("scores, mask, out: {}", error.what()));
    }
  }
}

}  // namespace

Vectors make_vectors(const Plan& plan, const VectorOptions& options) {
  const golden::LayerChoice choice = golden::choose_layer(plan, options);
  const LayerPlan& whole = plan.stacks[choice.stack].layers[choice.place];
  require_whole_rotations(whole);
  Vectors out = begun(plan, options, choice, golden::with_fewer_heads(whole));
  const golden::TokenPlaces places = golden::token_places(out.layer, options);
  require_little_work(out.layer, places.tokens());
  out.options.tokens = places.tokens();
  out.options.length = options.length ? options.length : plan.length ? plan.length : length_of(places);
  out.tensors = golden::layer_inputs(out.layer, places);
  out.facts = golden::facts_of(plan, out);
  add_stages(out, true);
  return out;
}

Vectors make_vectors(const Plan& plan, const VectorOptions& options, const VectorInputs& inputs) {
  const golden::LayerChoice choice = golden::choose_layer(plan, options);
  const LayerPlan& whole = plan.stacks[choice.stack].layers[choice.place];
  require_whole_rotations(whole);
  Vectors out = begun(plan, options, choice, golden::layer_of_inputs(whole, inputs));
  const bool has_values = !inputs.v.empty();
  const std::int64_t tokens = golden::tokens_of(inputs);
  if (has_values) require_little_work(out.layer, tokens);
  out.tensors = golden::given_inputs(out.layer, options, inputs);
  out.options.tokens = tokens;
  const std::vector<double>& positions = out.find("positions")->values;
  const double last = positions.empty() ? 0.0 : *std::ranges::max_element(positions);
  out.options.length = options.length ? options.length : plan.length;
  if (!out.options.length) out.options.length = static_cast<std::int64_t>(std::max(0.0, last)) + 1;
  out.facts = golden::facts_of(plan, out);
  add_stages(out, has_values);
  return out;
}

}  // namespace posenc::inline v0_2
