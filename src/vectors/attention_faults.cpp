// Each fault is a function from the call to another: the layer's plan, its learned tables or its mask with one thing
// changed. A fault explains a port where the changed reference is within the port's own bound of it.
#include "vectors/attention_faults.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference_attend.h"
#include "reference/elements.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

// What a fault may change. It owns what the views of `call` would else look at.
struct FaultyCall {
  LayerPlan layer;
  LayerWeights weights;
  LayerInputs inputs;
  ConstTensorView q, k, v;
  std::vector<double> k_heads, v_heads, table, mask;
  std::vector<std::int64_t> positions;
};

struct Fault {
  PortFact fact;
  std::string found;
  std::string expected;
  std::string mend;
  std::function<void(FaultyCall&)> apply;
};

// ---- the faults of each stage ----

class Faults {
 public:
  Faults(const Vectors& vectors, const VectorCall& call) : vectors_(vectors), layer_(vectors.layer), call_(call) {
    scale();
    soft_cap();
    mask();
    sinks();
    bias();
    heads();
    others();
  }

  void rotations() {
    const bool rotates = std::ranges::any_of(layer_.rotate, [](const Rotate& r) { return r.role == RotateRole::main; });
    if (!rotates) return;
    add(PortFact::rotation, "none", "a rotation of q and k", "rotate q and k before their product",
        [](FaultyCall& c) { c.inputs.q_rotated = c.inputs.k_rotated = true; });
    add_rope(PortFact::pairing, "the other pairing", "the plan's", "pair the channels as the plan says",
             [](Rope& r) { r.pairing = r.pairing == Pairing::half ? Pairing::interleaved : Pairing::half; });
    add_rope(PortFact::scaling, "no scaling rule", "the plan's rule", "apply the scaling rule to inv_freq",
             [](Rope& r) { r.scaling = {}; });
    for (const Stack& stack : vectors_.plan.stacks) {
      for (const LayerPlan& other : stack.layers) add_other_rotation(other);
    }
  }

  std::vector<Fault> take() { return std::move(faults_); }

 private:
  using Apply = std::function<void(FaultyCall&)>;

  void add(PortFact fact, std::string found, std::string expected, std::string mend, Apply apply) {
    faults_.push_back({fact, std::move(found), std::move(expected), std::move(mend), std::move(apply)});
  }
  void add_rope(PortFact fact, std::string found, std::string expected, std::string mend,
                const std::function<void(Rope&)>& change) {
    add(fact, std::move(found), std::move(expected), std::move(mend), [change](FaultyCall& c) {
      for (Rotate& rotate : c.layer.rotate) {
        if (rotate.role == RotateRole::main)
          change(std::visit([](auto& x) -> Rope& { return rope_of(x); }, rotate.scheme));
      }
    });
  }
  static Rope& rope_of(Rope& x) { return x; }
  static Rope& rope_of(XPos& x) { return x.rope; }

  void add_other_rotation(const LayerPlan& other) {
    const bool fits = other.head_dim == layer_.head_dim && other.rotate != layer_.rotate && !other.rotate.empty();
    const bool is_known = std::ranges::find(tried_rotations_, other.rotate) != tried_rotations_.end();
    if (!fits || is_known) return;
    tried_rotations_.push_back(other.rotate);
    const std::int64_t heads = layer_.heads;
    std::vector<Rotate> theirs = other.rotate;
    for (Rotate& rotate : theirs) rotate.heads = std::min(rotate.heads, heads);
    add(PortFact::base, formatted("the rotation of layer {}", other.index), "this layer's own",
        "choose the rotation by layer", [theirs](FaultyCall& c) { c.layer.rotate = theirs; });
  }

  void scale() {
    const double plan = layer_.softmax_scale;
    const auto add_scale = [&](double found, const std::string& words) {
      const bool is_tried =
          std::ranges::any_of(tried_scales_, [&](double x) { return std::abs(x / found - 1) < 1e-9; });
      if (is_tried || !(found > 0) || !std::isfinite(found)) return;
      tried_scales_.push_back(found);
      add(PortFact::scale, formatted("{:.6g}, {}", found, words), formatted("{:.6g}", plan),
          formatted("multiply q.k by {:.6g}", plan), [found](FaultyCall& c) { c.layer.softmax_scale = found; });
    };
    tried_scales_.push_back(plan);
    const auto width = static_cast<double>(layer_.head_dim);
    add_scale(1.0, "no scale");
    add_scale(1 / std::sqrt(width), "1/sqrt(head_dim)");
    add_scale(1 / std::sqrt(static_cast<double>(layer_.value_dim)), "1/sqrt(value_dim)");
    add_scale(1 / width, "1/head_dim");
    add_scale(plan * plan, "the scale twice");
    add_scale(std::sqrt(plan), "its square root");
    for (const Rotate& rotate : layer_.rotate) {
      const Rope& one = rope(rotate);
      const double multiplier = softmax_multiplier(one.scaling);
      add_scale(plan / multiplier, "without the scaling rule's multiplier");
      add_scale(plan * multiplier, "with the scaling rule's multiplier once more");
      add_scale(1 / std::sqrt(static_cast<double>(one.dim)), "1/sqrt of the rotated channels");
      add_scale(1 / std::sqrt(width - static_cast<double>(one.dim)), "1/sqrt of the channels that do not rotate");
    }
  }

  void soft_cap() {
    if (!layer_.soft_cap) return;
    const std::string plan = formatted("{} tanh(score / {})", layer_.soft_cap->cap, layer_.soft_cap->cap);
    add(PortFact::soft_cap, "none", plan, "apply the soft cap before the mask and the softmax",
        [](FaultyCall& c) { c.layer.soft_cap.reset(); });
    add(PortFact::soft_cap, "tanh without the factor before it", plan, "multiply the tanh by the cap",
        [](FaultyCall& c) {
          // cap tanh(x) / cap: the scores are the cap's fraction; what is left out is the outer factor.
          c.layer.softmax_scale /= c.layer.soft_cap->cap;
          c.layer.soft_cap->cap = 1.0;
        });
    if (layer_.score.empty()) return;
    add(PortFact::soft_cap, "on the other side of the bias", plan, "mind the order of soft cap and bias",
        [](FaultyCall& c) {
          const bool before = c.layer.soft_cap->order == SoftCap::Order::before_bias;
          c.layer.soft_cap->order = before ? SoftCap::Order::after_bias : SoftCap::Order::before_bias;
        });
  }

  // A mask of the call's own, by the order of query and key, in place of the layer's.
  void add_mask(PortFact fact, std::string found, std::string mend,
                const std::function<bool(std::int64_t, std::int64_t, bool)>& sees) {
    const VectorTensor* plan = vectors_.find("mask");
    if (plan == nullptr) return;
    std::vector<double> made;
    const auto tokens = static_cast<std::int64_t>(call_.order.size());
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        const bool seen = plan->values[at(i * tokens + j)] != 0.0;
        made.push_back(sees(call_.order[at(i)], call_.order[at(j)], seen) ? 1.0 : 0.0);
      }
    }
    if (made == plan->values) return;
    add(fact, std::move(found), mask_words(), std::move(mend), [made, tokens](FaultyCall& c) {
      c.layer.mask = {.kind = MaskKind::bidirectional, .window = {}, .chunk = {}, .detail = {}};
      c.mask = made;
      c.inputs.prefix = 0;
      c.inputs.attn_mask = tensor(std::as_const(c.mask).data(), {tokens, tokens});
    });
  }
  std::string mask_words() const {
    std::string out(name(layer_.mask.kind));
    if (layer_.mask.window) {
      out += formatted(", window {} past and {} future", layer_.mask.window->past, layer_.mask.window->future);
    }
    if (layer_.mask.chunk) out += formatted(", chunks of {}", *layer_.mask.chunk);
    return out;
  }
  void add_window(const std::string& found, std::optional<Window> window, const std::string& mend) {
    const bool causal = layer_.mask.kind == MaskKind::causal || layer_.mask.kind == MaskKind::prefix;
    add_mask(PortFact::window, found, mend, [causal, window](std::int64_t i, std::int64_t j, bool) {
      if (causal && j > i) return false;
      return !window || (i - j <= window->past && j - i <= window->future);
    });
  }

  void mask() {
    const bool causal = layer_.mask.kind == MaskKind::causal;
    if (causal) {
      add_mask(PortFact::mask, "bidirectional", "hide the keys after the query",
               [&](std::int64_t i, std::int64_t j, bool) {
                 return !layer_.mask.window || std::abs(i - j) <= layer_.mask.window->past;
               });
      add_mask(PortFact::mask, "a query does not see its own token", "hide keys after the query, not the query's own",
               [](std::int64_t i, std::int64_t j, bool seen) { return seen && i != j; });
      add_mask(PortFact::mask, "the past is hidden and the future seen", "exchange the sides of the mask",
               [](std::int64_t i, std::int64_t j, bool) { return j >= i; });
    } else {
      add_mask(PortFact::mask, "causal", "let a query see keys on both sides",
               [](std::int64_t i, std::int64_t j, bool seen) { return seen && j <= i; });
    }
    add_mask(PortFact::mask, "inverted", "exchange 0 and 1 of the mask",
             [](std::int64_t, std::int64_t, bool seen) { return !seen; });
    add_mask(PortFact::mask, "none", "apply the layer's mask", [](std::int64_t, std::int64_t, bool) { return true; });
    if (layer_.mask.window) windows(*layer_.mask.window);
    if (layer_.mask.chunk) {
      const std::int64_t chunk = *layer_.mask.chunk;
      add_window("none: no chunks", {}, formatted("let a query see its own chunk of {} only", chunk));
      add_window(formatted("a sliding window of {} instead of chunks", chunk), Window{chunk - 1, 0},
                 "chunks begin at multiples of their size");
    }
    if (!layer_.mask.window && !layer_.mask.chunk) {
      std::vector<Window> known;
      for (const Stack& stack : vectors_.plan.stacks) {
        for (const LayerPlan& other : stack.layers) {
          const bool is_new = other.mask.window && std::ranges::find(known, *other.mask.window) == known.end();
          if (!is_new) continue;
          known.push_back(*other.mask.window);
          add_window(formatted("the window of layer {}", other.index), other.mask.window, "choose the mask by layer");
        }
      }
    }
  }
  void windows(const Window& plan) {
    add_window("none", {}, formatted("hide keys further back than {}", plan.past));
    for (const std::int64_t off : {1, -1}) {
      const Window other{plan.past + off, plan.future == 0 ? 0 : plan.future + off};
      if (other.past < 0 || other.future < 0) continue;
      add_window(formatted("{} past, off by one", other.past), other,
                 formatted("a query sees itself and {} tokens before it", plan.past));
    }
    add_window("half of it", Window{plan.past / 2, plan.future / 2}, "take the whole window on each side");
    add_window("twice of it", Window{plan.past * 2, plan.future * 2}, "take half of the window on each side");
  }

  void sinks() {
    if (!layer_.sinks) return;
    add(PortFact::sinks, "left out", "a learned logit per head in the softmax's sum",
        "add exp(sink - maximum) to the softmax's sum", [](FaultyCall& c) {
          c.layer.sinks = false;
          c.weights.sinks = {};
        });
    add(PortFact::sinks, "of the other sign", "as they are learned", "do not negate the sinks",
        [](FaultyCall& c) { negate(c.weights.sinks, c.table); });
  }

  static void negate(ConstTensorView& view, std::vector<double>& into) {
    std::int64_t count = view.rank > 0 ? 1 : 0;
    for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[static_cast<std::size_t>(axis)];
    const auto* const from = static_cast<const double*>(view.data);
    into.assign(from, from + count);
    for (double& x : into) x = -x;
    view.data = into.data();
  }

  void bias() {
    for (std::size_t n = 0; n < layer_.score.size(); ++n) {
      const bool is_alibi = std::holds_alternative<Alibi>(layer_.score[n]);
      const bool is_t5 = std::holds_alternative<T5Bias>(layer_.score[n]);
      add(is_alibi ? PortFact::slopes : PortFact::buckets, "left out", "added to the scores",
          "add the layer's bias to the scores", [n](FaultyCall& c) {
            c.layer.score.erase(c.layer.score.begin() + static_cast<std::ptrdiff_t>(n));
            if (!c.weights.score.empty()) {
              c.weights.score.erase(c.weights.score.begin() + static_cast<std::ptrdiff_t>(n));
            }
          });
      if (is_alibi) alibi(n);
      if (is_t5) t5(n);
    }
    if (layer_.score.empty() || !layer_.rotate.empty()) return;
    add(PortFact::buckets, "of the distance's other sign", "of query minus key", "take the distance as query minus key",
        [](FaultyCall& c) {
          for (std::int64_t& position : c.positions) position = -position;
          c.inputs.q_positions = std::span<const std::int64_t>(c.positions);
          c.inputs.k_positions = std::span<const std::int64_t>(c.positions);
        });
  }
  void alibi(std::size_t n) {
    const auto& plan = std::get<Alibi>(layer_.score[n]);
    const auto with = [n](auto change) {
      return [n, change](FaultyCall& c) { change(std::get<Alibi>(c.layer.score[n])); };
    };
    add(PortFact::slopes, "of the other sign", "a bias that falls with distance", "subtract slope times distance",
        with([](Alibi& x) { x.max_bias = -x.max_bias; }));
    add(PortFact::slopes, plan.geometric_slopes ? "of the next power of two" : "one geometric sequence of all heads",
        plan.geometric_slopes ? "one geometric sequence of all heads" : "of the next power of two and every other",
        "make the slopes for this number of heads", with([](Alibi& x) { x.geometric_slopes = !x.geometric_slopes; }));
    add(PortFact::slopes, plan.scaled ? "without the softmax scale" : "multiplied by the softmax scale",
        plan.scaled ? "multiplied by the softmax scale" : "without the softmax scale",
        "mind whether the bias is added before or after the scale", with([](Alibi& x) { x.scaled = !x.scaled; }));
  }
  void t5(std::size_t n) {
    const auto& plan = std::get<T5Bias>(layer_.score[n]);
    const auto with = [n](auto change) {
      return [n, change](FaultyCall& c) { change(std::get<T5Bias>(c.layer.score[n])); };
    };
    add(PortFact::buckets, plan.bidirectional ? "of one direction" : "of both directions",
        plan.bidirectional ? "of both directions" : "of one direction",
        "decoders have buckets for the past alone, encoders half for each side",
        with([](T5Bias& x) { x.bidirectional = !x.bidirectional; }));
    for (const std::int64_t other : {std::int64_t{64}, std::int64_t{128}, std::int64_t{256}, std::int64_t{512}}) {
      if (other == plan.max_distance) continue;
      add(PortFact::buckets, formatted("up to distance {}", other), formatted("up to distance {}", plan.max_distance),
          formatted("relative_attention_max_distance is {}", plan.max_distance),
          with([other](T5Bias& x) { x.max_distance = other; }));
    }
    add(PortFact::buckets, plan.scaled ? "without the softmax scale" : "multiplied by the softmax scale",
        plan.scaled ? "multiplied by the softmax scale" : "without the softmax scale",
        "mind whether the bias is added before or after the scale", with([](T5Bias& x) { x.scaled = !x.scaled; }));
  }

  // KV heads repeated as [0, 1, 0, 1] where queries 0 and 1 share head 0.
  void heads() {
    const std::int64_t group = layer_.heads / layer_.kv_heads;
    if (group == 1 || layer_.kv_heads == 1) return;
    add(PortFact::kv_heads, "query head h takes KV head h mod kv_heads", formatted("h / {}", group),
        "repeat each KV head for neighbouring query heads (repeat_interleave, not tile)", [this](FaultyCall& c) {
          tiled(c.k, c.k_heads);
          tiled(c.v, c.v_heads);
          c.layer.kv_heads = c.layer.heads;
        });
  }
  void tiled(ConstTensorView& x, std::vector<double>& into) const {
    const std::int64_t kv = layer_.kv_heads;
    const auto* const from = static_cast<const double*>(x.data);
    into.clear();
    for (std::int64_t t = 0; t < x.shape[0]; ++t) {
      for (std::int64_t h = 0; h < layer_.heads; ++h) {
        const double* const row = from + (t * kv + h % kv) * x.shape[2];
        into.insert(into.end(), row, row + x.shape[2]);
      }
    }
    x = tensor(std::as_const(into).data(), {x.shape[0], layer_.heads, x.shape[2]});
  }

  void others() {
    const bool may_rotate = layer_.head_dim == layer_.value_dim && !layer_.rotate.empty();
    if (may_rotate && std::holds_alternative<std::monostate>(layer_.value)) {
      add(PortFact::value, "rotated as keys are", "not rotated", "rotate q and k only",
          [](FaultyCall& c) { c.layer.value = RotatedValues{}; });
    }
    if (!std::holds_alternative<std::monostate>(layer_.value)) {
      add(PortFact::value, "as they are", "with the layer's positions", "apply the layer's value scheme",
          [](FaultyCall& c) {
            c.layer.value = {};
            c.weights.value = {};
          });
    }
    if (!std::holds_alternative<std::monostate>(layer_.query_scale)) {
      add(PortFact::scale, "no scale by position", "queries scaled by their position",
          "multiply each query by its temperature", [](FaultyCall& c) { c.layer.query_scale = {}; });
    }
    if (!std::holds_alternative<std::monostate>(layer_.regions)) {
      add(PortFact::positions, "the same for near and far keys", "by how far the key is", "apply the layer's regions",
          [](FaultyCall& c) { c.layer.regions = {}; });
    }
  }

  const Vectors& vectors_;
  const LayerPlan& layer_;
  const VectorCall& call_;
  std::vector<Fault> faults_;
  std::vector<double> tried_scales_;
  std::vector<std::vector<Rotate>> tried_rotations_;
};

// Root mean square of the finite ones.
double size_of_scores(const std::vector<double>& scores) {
  double squares = 0.0;
  double count = 0.0;
  for (const double x : scores) {
    if (!std::isfinite(x)) continue;
    squares += x * x;
    count += 1;
  }
  return count > 0 ? std::sqrt(squares / count) : 0.0;
}

// Scores or out of the changed layer, and by how much larger its scores are: so are their roundings.
struct Made {
  VectorTensor tensor;
  double larger = 1.0;
};

// What the reference makes of it, as `tensor_wanted` has it. Nothing where it refuses the changed layer.
std::optional<Made> made_by(const Fault& fault, const Vectors& vectors, const VectorCall& call,
                            const VectorTensor& tensor_wanted) {
  FaultyCall c{.layer = vectors.layer,
               .weights = call.weights,
               .inputs = call.inputs,
               .q = call.q,
               .k = call.k,
               .v = call.v,
               .k_heads = {},
               .v_heads = {},
               .table = {},
               .mask = {},
               .positions = call.positions};
  try {
    fault.apply(c);
    const std::int64_t tokens = c.q.shape[0];
    std::vector<double> out(at(tokens * c.layer.heads * c.layer.value_dim));
    std::vector<double> scores(at(c.layer.heads * tokens * tokens));
    const bool is_capped = c.layer.soft_cap && c.layer.soft_cap->order == SoftCap::Order::after_bias;
    const bool done = reference::attend(
        c.layer, {.out = tensor(out.data(), {tokens, c.layer.heads, c.layer.value_dim}),
                  .q = c.q,
                  .k = c.k,
                  .v = c.v,
                  .weights = c.weights,
                  .inputs = c.inputs,
                  .scores = tensor(scores.data(), {c.layer.heads, tokens, tokens}),
                  .stage = is_capped ? reference::ScoreStage::capped : reference::ScoreStage::biased});
    if (!done) return {};
    const VectorTensor* right = vectors.find("scores");
    const double usual = right == nullptr ? 0.0 : size_of_scores(right->values);
    Made made{tensor_wanted, usual > 0 ? std::max(1.0, size_of_scores(scores) / usual) : 1.0};
    made.tensor.values = tensor_wanted.name == "scores" ? std::move(scores) : std::move(out);
    return made;
  } catch (const Error&) {
    return {};
  }
}

// The mask that scores of the faulty port have.
VectorTensor mask_of(const VectorTensor& scores) {
  const std::int64_t tokens = scores.shape[1];
  VectorTensor out{.name = "mask", .shape = {tokens, tokens}};
  for (std::size_t i = 0; i < at(tokens * tokens); ++i) out.values.push_back(std::isinf(scores.values[i]) ? 0.0 : 1.0);
  return out;
}

bool differs(const VectorTensor& a, const VectorTensor& b, const VectorBound& bound) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::isinf(a.values[i]) != std::isinf(b.values[i])) return true;
    if (std::isinf(a.values[i])) continue;
    const double least = bound.relative * std::abs(b.values[i]);
    if (std::abs(a.values[i] - b.values[i]) > least) return true;
  }
  return false;
}

// What is left of the port, root mean square over root mean square.
double unexplained_of(const VectorTensor& made, const ConstTensorView& port) {
  double left = 0.0;
  double all = 0.0;
  std::vector<std::int64_t> place(made.shape.size());
  for (const double x : made.values) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * port.strides[axis];
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < made.shape[axis]) break;
      place[axis] = 0;
    }
    if (!std::isfinite(x)) continue;
    const double got = reference::read(port, offset);
    left += (got - x) * (got - x);
    all += got * got;
  }
  return all > 0 ? std::sqrt(left / all) : 0.0;
}

}  // namespace

std::vector<PortFinding> attention_faults(const Vectors& vectors, const VectorBounds& bounds, const std::string& tensor,
                                          const ConstTensorView& port, bool rotation_is_known) {
  const VectorTensor* expected = vectors.find(tensor);
  const auto bound = std::ranges::find(bounds.bounds, tensor, &VectorBound::tensor);
  if (expected == nullptr || bound == bounds.bounds.end()) return {};
  const VectorCall call(vectors);
  Faults all(vectors, call);
  if (!rotation_is_known) all.rotations();
  std::vector<PortFinding> out;
  for (const Fault& fault : all.take()) {
    const std::optional<Made> changed = made_by(fault, vectors, call, *expected);
    if (!changed || !differs(changed->tensor, *expected, *bound)) continue;
    const VectorTensor* const made = &changed->tensor;
    VectorBound wider = *bound;
    for (double& absolute : wider.absolute) absolute *= changed->larger;
    const VectorTensor mask = tensor == "scores" ? mask_of(*made) : VectorTensor{.name = ""};
    const CheckedTensor held =
        hold({.expected = *made, .bound = wider, .mask = tensor == "scores" ? &mask : nullptr}, port);
    if (!held.passes) continue;
    out.push_back({.fact = fault.fact,
                   .found = fault.found,
                   .expected = fault.expected,
                   .unexplained = unexplained_of(*made, port),
                   .tokens = vectors.options.tokens.value_or(0),
                   .channels = tensor == "out" ? vectors.layer.value_dim : 0,
                   .mend = fault.mend});
  }
  // All that explain it were equally probable before.
  for (PortFinding& finding : out) finding.confidence = 1.0 / static_cast<double>(out.size());
  return out;
}

}  // namespace posenc::inline v0_2::golden
