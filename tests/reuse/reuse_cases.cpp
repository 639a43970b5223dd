#include "reuse/reuse_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "posenc/error.h"

namespace posenc::test {
namespace {

constexpr std::int64_t kShort = 16;  // the length up to which the rules of these cases are as trained

Text text_of(std::vector<std::int64_t> tokens, std::int64_t start, std::int64_t length) {
  std::vector<std::int64_t> places(tokens.size());
  std::iota(places.begin(), places.end(), start);
  return {std::move(tokens), std::move(places), length};
}

bool by_each_length(const Plan& plan) {
  return std::ranges::any_of(plan.stacks.front().layers, [](const LayerPlan& layer) {
    return std::ranges::any_of(
        layer.rotate, [](const Rotate& one) { return std::holds_alternative<DynamicScaling>(rope(one).scaling); });
  });
}

// The other model of `share`, as reuse_verdict has it.
Plan with_doubled_bases(Plan plan) {
  for (LayerPlan& layer : plan.stacks.front().layers) {
    for (Rotate& one : layer.rotate) {
      Rope& changed =
          std::holds_alternative<Rope>(one.scheme) ? std::get<Rope>(one.scheme) : std::get<XPos>(one.scheme).rope;
      changed.base *= 2;
    }
  }
  return plan;
}

ReuseCase twice(std::string name, const LayerPlan& layer) {
  return {.name = std::move(name), .plan = plan_of({layer, layer})};
}

LayerPlan rotating(const Scaling& scaling = {}) {
  Rope rope = half_rope();
  rope.scaling = scaling;
  return with_rotation(rope);
}

LayerPlan normed(QkNorm norm) {
  LayerPlan out = rotating();
  out.qk_norm = norm;
  return out;
}

void add_norms(std::vector<ReuseCase>& to) {
  using Kind = QkNorm::Kind;
  using Order = QkNorm::Order;
  for (const auto& [name, norm] : {
           std::pair("QK norm before", QkNorm{.kind = Kind::rms, .order = Order::before}),
           std::pair("QK norm after, without weights",
                     QkNorm{.kind = Kind::rms, .order = Order::after, .weighted = false}),
           std::pair("L2 norm after", QkNorm{.kind = Kind::l2, .order = Order::after, .weighted = false}),
           std::pair("QK norm after, with weights", QkNorm{.kind = Kind::rms, .order = Order::after}),
           std::pair("layer norm after", QkNorm{.kind = Kind::layer, .order = Order::after, .weighted = false}),
       }) {
    to.push_back(twice(name, normed(norm)));
  }
}

void add_places(std::vector<ReuseCase>& to) {
  const std::vector<std::pair<std::string, InputScheme>> inputs{{"learned rows", LearnedInput{.positions = 4096}},
                                                                {"sinusoids", SinusoidalInput{}},
                                                                {"integers", IntegerInput{.normalised = true}},
                                                                {"binary", BinaryInput{}}};
  for (const auto& [name, scheme] : inputs) {
    ReuseCase& one = to.emplace_back(twice(name, rotating()));
    one.plan.stacks.front().input = {scheme};
  }
  for (const AddedTo place : {AddedTo::queries_and_keys, AddedTo::hidden_states}) {
    LayerPlan layer = plain_layer();
    layer.added = {{.to = place, .scheme = SinusoidalInput{}}};
    to.push_back(twice("added to " + std::string(name(place)), layer));
  }
  LayerPlan before = plain_layer();
  before.rotate = {{.role = RotateRole::before_projection, .scheme = half_rope()}};
  to.push_back(twice("rotated before the projection", before));
}

void add_rules(std::vector<ReuseCase>& to) {
  LongRopeScaling lists{.original_max_position_embeddings = kShort, .factor = 4.0};
  for (int p = 0; p < 4; ++p) {
    lists.short_factor.push_back(1.0 + 0.1 * p);
    lists.long_factor.push_back(2.0 + p);
  }
  to.push_back(twice("LongRoPE", rotating(lists)));
  to.push_back(twice("Qwen 1's NTK", rotating(QwenNtkScaling{.seq_length = kShort})));
}

void add_masks(std::vector<ReuseCase>& to) {
  LayerPlan sliding = rotating();
  sliding.mask.window = Window{.past = 3};
  to.push_back(twice("sliding", sliding));
  LayerPlan chunked = rotating();
  chunked.mask.chunk = 5;
  to.push_back(twice("chunks", chunked));
  LayerPlan bidirectional = rotating();
  bidirectional.mask.kind = MaskKind::bidirectional;
  to.push_back(twice("bidirectional", bidirectional));
  to.push_back({.name = "RoPE, then none", .plan = plan_of({rotating(), plain_layer()})});
  LayerPlan tempered = plain_layer();
  tempered.query_scale = Llama4Temperature{.attn_scale = 0.5, .floor_scale = 4.0};
  to.push_back({.name = "temperature, then RoPE", .plan = plan_of({tempered, rotating()})});
  LayerPlan logits = plain_layer();
  logits.score = {DistanceLogits{.extent = 6, .channels = 3}};
  to.push_back(twice("logits by distance", logits));
}

// Terms of content read keys as they are given: rotated, these are others.
bool is_of_content(const ScoreTerm& term) {
  return std::holds_alternative<ShawKeys>(term) || std::holds_alternative<TransformerXl>(term) ||
         std::holds_alternative<XlNet>(term) || std::holds_alternative<Deberta>(term);
}

// The same beside a rotation.
void add_rotating(const SchemeCase& scheme, std::vector<ReuseCase>& to) {
  if (!scheme.layer.rotate.empty() || std::ranges::none_of(scheme.layer.score, is_of_content)) return;
  LayerPlan layer = scheme.layer;
  layer.rotate = rotating().rotate;
  to.push_back(twice("RoPE beside " + scheme.name, layer));
  to.back().weights = scheme.weights;
}

}  // namespace

Plan plan_of(std::vector<LayerPlan> layers) {
  for (std::size_t l = 0; l < layers.size(); ++l) layers[l].index = static_cast<std::int64_t>(l);
  Plan out{.known = true};
  out.stacks = {{.name = "decoder", .input = {}, .layers = std::move(layers), .fed_by = FedBy::tokens}};
  return out;
}

std::vector<ReuseCase> reuse_cases() {
  std::vector<ReuseCase> out;
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.batches_only) continue;
    ReuseCase& one = out.emplace_back(twice(scheme.name, scheme.layer));
    one.weights = scheme.weights;
    one.side = scheme.side;
    add_rotating(scheme, out);
  }
  add_norms(out);
  add_places(out);
  add_rules(out);
  add_masks(out);
  return out;
}

Operations::Operations(const SmallModel& model, std::int64_t by, std::int64_t length)
    : model_(model), by_(by), length_(length) {
  std::vector<std::int64_t> a(kTokens);
  std::vector<std::int64_t> b(kTokens);
  for (std::size_t t = 0; t < a.size(); ++t) {
    a[t] = static_cast<std::int64_t>(t * 7 % 31);
    b[t] = 32 + static_cast<std::int64_t>(t * 5 % 31);
  }
  texts_ = {text_of(a, 0, length), text_of(b, 3, length), text_of(a, 0, kShort)};
  for (const Text& text : texts_) runs_.push_back(model.run(text));
}

Operated Operations::operated(CacheOperation operation) const {
  Operated out;
  std::int64_t start = 0;
  const auto take = [&](std::int64_t source, std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      out.source.push_back(source);
      out.row.push_back(row);
    }
  };
  switch (operation) {
    case CacheOperation::shift:
      take(0, 0, kTokens);
      start = by_;
      break;
    case CacheOperation::front_trim: take(0, 4, kTokens); break;
    case CacheOperation::splice:
      take(0, 0, 5);
      take(1, 3, 8);
      break;
    case CacheOperation::reorder:
      take(0, 4, 8);
      take(0, 0, 4);
      take(0, 8, kTokens);
      break;
    case CacheOperation::merge:
      take(0, 0, 6);
      take(1, 0, 6);
      break;
    case CacheOperation::evict:
      take(0, 0, 4);
      take(0, 7, kTokens);
      break;
    case CacheOperation::sinks:
      take(0, 0, 2);
      take(0, 8, kTokens);
      break;
    case CacheOperation::switch_rule: take(2, 0, kTokens); break;
    case CacheOperation::share: take(0, 0, kTokens); break;
  }
  std::vector<std::int64_t> tokens;
  for (std::size_t t = 0; t < out.row.size(); ++t) {
    tokens.push_back(texts_[static_cast<std::size_t>(out.source[t])].tokens[static_cast<std::size_t>(out.row[t])]);
  }
  out.text = text_of(tokens, start, by_each_length(model_.plan()) ? length_ + start : length_);
  return out;
}

LayerTokens Operations::cached(const Operated& to, std::size_t layer, StoredKeys keys, const Plan& reader) const {
  const LayerPlan& own = model_.layer(layer);
  const LayerPlan& reads = reader.stacks.front().layers[layer];
  std::vector<LayerTokens> stored;
  for (std::size_t s = 0; s < texts_.size(); ++s) {
    stored.push_back(runs_[s][layer]);
    if (keys == StoredKeys::rotated || norm_follows(own)) {
      // Unrotated, a norm that follows is taken before: the places are then all 0.
      Text at = texts_[s];
      if (keys == StoredKeys::unrotated) std::ranges::fill(at.places, 0);
      stored.back().k = model_.rotated(own, layer, stored.back().k, at);
    }
  }
  std::vector<const LayerTokens*> from;
  Text was = to.text;
  for (std::size_t t = 0; t < to.row.size(); ++t) {
    const auto source = static_cast<std::size_t>(to.source[t]);
    from.push_back(&stored[source]);
    was.places[t] = texts_[source].places[static_cast<std::size_t>(to.row[t])];
    was.length = texts_[source].length;
  }
  LayerTokens out = picked(from, to.row);
  if (keys == StoredKeys::rotated) out.k = moved(own, out.k, was, to.text, reads);
  if (keys == StoredKeys::unrotated && norm_follows(own)) out.k = moved(plain_layer(), out.k, was, to.text, reads);
  return out;
}

const Operations::Anew& Operations::anew(CacheOperation operation) const {
  const auto found = anew_.find(operation);
  if (found != anew_.end()) return found->second;
  Anew made{.to = operated(operation),
            .reader = operation == CacheOperation::share ? with_doubled_bases(model_.plan()) : model_.plan(),
            .tokens = {},
            .outputs = {}};
  made.tokens = model_.run(made.to.text, &made.reader);
  for (std::size_t layer = 0; layer < made.tokens.size(); ++layer) {
    const LayerPlan& reads = made.reader.stacks.front().layers[layer];
    const bool follows = norm_follows(reads);
    LayerTokens keys = made.tokens[layer];
    if (follows) keys.k = model_.rotated(reads, layer, keys.k, made.to.text);
    made.outputs.push_back(model_.attended(reads, layer, made.tokens[layer], keys, made.to.text, follows));
  }
  return anew_.emplace(operation, std::move(made)).first->second;
}

double Operations::difference(CacheOperation operation, std::size_t layer, StoredKeys keys, std::int64_t first,
                              std::int64_t end) const {
  const auto& [to, reader, tokens, outputs] = anew(operation);
  const LayerPlan& reads = reader.stacks.front().layers[layer];
  const std::vector<double>& wanted = outputs[layer];
  std::vector<double> is;
  try {
    const bool rotated = norm_follows(reads) || (keys == StoredKeys::rotated && !reads.rotate.empty());
    is = model_.attended(reads, layer, tokens[layer], cached(to, layer, keys, reader), to.text, rotated);
  } catch (const Error&) {
    return std::numeric_limits<double>::infinity();
  }
  const auto of_token = static_cast<std::size_t>(reads.heads * reads.value_dim);
  double largest = 0.0;
  double apart = 0.0;
  const std::size_t last = std::min(is.size(), static_cast<std::size_t>(end) * of_token);
  for (std::size_t n = static_cast<std::size_t>(first) * of_token; n < last; ++n) {
    largest = std::max(largest, std::abs(wanted[n]));
    apart = std::max(apart, std::abs(is[n] - wanted[n]));
  }
  return apart / largest;
}

}  // namespace posenc::test
