// From a GGUF header to its stacks' facts: of each layer rotations, scores, norm, mask; the learned table; T5's stacks.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/gguf/read_gguf.h"

namespace posenc::plan {
namespace {

constexpr double kAlibiMaxBias = 8;                       // of the architectures that have no key for it
constexpr double kGrokOutputScale = 0.08838834764831845;  // of Grok's files without attention.output_scale
constexpr double kLlama4AttnScale = 0.1;
constexpr double kLlama4Floor = 8192;
constexpr std::int64_t kMaverickExperts = 128;   // Llama 4's model without a norm of q and k
constexpr std::int64_t kT5MaxDistance = 128;     // GGUF has no key for it
constexpr std::int64_t kBaichuan13bLayers = 40;  // the code tells the two models apart by this

struct Rotation {
  GgufRotationDraft draft;
  bool made = false;
};

class StackReader {
 public:
  StackReader(GgufScope& scope, const GgufLayers& facts, const GgufFactors& factors)
      : scope_(scope), row_(scope.architecture()), facts_(facts), factors_(factors) {}

  StackFacts read() {
    StackFacts stack{.name = row_.encoder ? "encoder" : "decoder",
                     .count_from = facts_.count_from,
                     .trained_length = facts_.trained_length,
                     .fed_by = row_.encoder ? FedBy::not_said : FedBy::tokens};
    read_input(stack);
    read_shared_facts();
    for (std::size_t i = 0; i < facts_.layers.size() && !scope_.failed(); ++i) {
      stack.layers.add(read_layer(i), static_cast<std::int64_t>(i));
    }
    return stack;
  }

 private:
  std::string by_row() const { return gguf_default(row_); }

  // Whether something is there that only the tensor table tells.
  bool present(GgufPresence presence, const std::string& tensor, std::string_view what) {
    if (presence != GgufPresence::by_tensor) return presence == GgufPresence::always;
    const std::optional<bool> there = scope_.has_tensor(tensor);
    if (!there) {
      scope_.undecided("no-tensors",
                       formatted("The tensors, which alone say whether there is {}, are not in this file.", what), {});
    }
    return there.value_or(false);
  }

  // ---- of the whole stack ----

  void read_input(StackFacts& stack) {
    if (!present(row_.learned, std::string(kPositionTable), "a table of learned positions")) return;
    LearnedInput input{.positions = facts_.trained_length.value};
    std::string from = facts_.trained_length.from;
    if (const io::GgufTensor* table = scope_.header().tensor(kPositionTable); table != nullptr && table->dims == 2) {
      input.positions = static_cast<std::int64_t>(std::min<std::uint64_t>(table->shape[1], kMaxPosition));
      from = std::string(kPositionTable);
    }
    if (row_.encoder) read_token_types(input);
    stack.input = {input};
    stack.input_sources = {{"input/0/positions", from}};
  }

  void read_token_types(LearnedInput& input) {
    const io::GgufValue* count = scope_.header().find("tokenizer.ggml.token_type_count");
    if (count == nullptr || count->numbers.size() != 1 || !count->numbers.front().integer) return;
    if (*count->numbers.front().integer > 0) input.token_types = *count->numbers.front().integer;
  }

  void read_shared_facts() {
    if (row_.soft_cap > 0) {
      soft_cap_ = given_or(scope_.positive("attn_logit_softcapping"), {row_.soft_cap, by_row()});
    }
    const Setting<bool> causal = scope_.flag("attention.causal");
    causal_ = {!row_.bidirectional && causal.value.value_or(true),
               causal.value && !row_.bidirectional ? causal.from : by_row()};
    if (row_.encoder && !row_.bidirectional && !causal.value) warn_of_causal();
    read_alibi();
    read_temperature();
    if (row_.temperature == GgufTemperature::llama4) {
      maverick_ = scope_.integer("expert_count", {0, kMaxHiddenSize}).value.value_or(0) == kMaverickExperts;
    }
  }

  // Converters write the key for every encoder.
  void warn_of_causal() {
    const std::string key = scope_.key("attention.causal");
    scope_.warn("causal-encoder",
                formatted("{} is not given: llama.cpp then hides from each token those after it, though {} models are "
                          "trained to see both ways.",
                          key, row_.name),
                {key});
  }

  void read_alibi() {
    switch (row_.alibi) {
      case GgufAlibi::none: return;
      case GgufAlibi::always: alibi_ = {kAlibiMaxBias, by_row()}; return;
      case GgufAlibi::baichuan_13b:
        if (std::ssize(facts_.layers) == kBaichuan13bLayers) alibi_ = {kAlibiMaxBias, by_row()};
        return;
      case GgufAlibi::key:
        alibi_ = given_or(scope_.not_negative("attention.max_alibi_bias"),
                          {0.0, "default: none, no attention.max_alibi_bias"});
        return;
    }
  }

  void read_temperature() {
    temperature_.from = by_row();
    if (row_.temperature == GgufTemperature::llama4 && facts_.window.value) {
      temperature_.value = Llama4Temperature{.attn_scale = kLlama4AttnScale, .floor_scale = kLlama4Floor};
    }
    if (row_.temperature != GgufTemperature::ministral) return;
    const Setting<double> scale = scope_.number("attention.temperature_scale");
    if (!scale.value || *scale.value == 0) return;
    // Mistral 3 has no key of its own for the length.
    const std::string_view key =
        row_.name == "mistral3" ? "rope.scaling.original_context_length" : "attention.temperature_length";
    const Setting<std::int64_t> length = scope_.integer(key, {1, kMaxPosition});
    if (!length.value && row_.name != "mistral3")
      return scope_.fail_missing(key, "attention.temperature_scale needs it");
    temperature_ = {
        MinistralTemperature{.beta = *scale.value,
                             .original_max_position_embeddings = length.value.value_or(facts_.trained_length.value)},
        scale.from};
  }

  // ---- of a layer ----

  LayerFacts read_layer(std::size_t index) {
    const GgufLayer& facts = facts_.layers[index];
    LayerFacts layer(facts.kind);
    layer.say("kind", facts_.kind_from);
    if (facts.kind != LayerKind::attention) return layer;
    add_shape(facts, layer);
    if (facts.rotates) {
      add_rotation(facts, layer);
    } else {
      layer.say("rotate", facts_.rotates_from);
    }
    add_scores(facts, index, layer);
    add_mask(facts, layer);
    if (row_.mixing != Mixing{}) layer.set(facts::kMixing, row_.mixing, by_row());
    return layer;
  }

  void add_shape(const GgufLayer& facts, LayerFacts& layer) {
    const GgufHead& head = facts.slides ? facts_.sliding : facts_.full;
    layer.set(facts::kHeads, facts.heads, facts_.heads_from);
    if (row_.latent) {
      layer.set(facts::kKvHeads, facts.heads, "default: latent attention, expanded");
    } else {
      layer.set(facts::kKvHeads, facts.kv_heads, facts_.kv_heads_from);
    }
    layer.set(facts::kHeadDim, head.keys);
    layer.set(facts::kValueDim, head.values);
    if (facts.kv_from) layer.set(facts::kKvFrom, facts.kv_from, facts_.shares_from);
  }

  void add_rotation(const GgufLayer& facts, LayerFacts& layer) {
    Rotation& rotation = rotations_[facts.slides ? 1 : 0];
    if (!rotation.made) rotation = {read_gguf_rotation(scope_, facts_, factors_, facts.slides), true};
    if (!rotation.draft.rope) return;
    layer.add(Rotate{.heads = facts.heads, .scheme = *rotation.draft.rope}, rotation.draft.sources);
    if (row_.indexer) add_indexer(*rotation.draft.rope, layer);
  }

  // DeepSeek V3.2 and GLM 5: a small attention that picks keys for the other; its own rotation pairs halves in
  // DeepSeek's, neighbours in GLM's code.
  void add_indexer(const Rope& main, LayerFacts& layer) {
    const Sourced<std::int64_t> heads = scope_.required_integer("attention.indexer.head_count", {1, kMaxHeads});
    const Sourced<std::int64_t> width = scope_.required_integer("attention.indexer.key_length", {1, kMaxHeadDim});
    const Setting<std::int64_t> top = scope_.integer("attention.indexer.top_k", {1, kMaxPosition});
    if (scope_.failed()) return;
    Rope rope = main;
    rope.pairing = row_.name == "deepseek32" ? Pairing::half : Pairing::interleaved;
    rope.head_dim = width.value;
    rope.first_channel = 0;
    if (check(rope)) {
      return scope_.fail("attention.indexer.key_length", ErrorKind::out_of_range,
                         formatted("at least the {} channels that rotate", rope.dim));
    }
    layer.add(Rotate{.role = RotateRole::indexer, .heads = heads.value, .scheme = rope},
              {{"heads", heads.from}, {"head_dim", width.from}, {"pairing", by_row()}});
    chosen_ =
        top.value ? formatted("the {} keys that the indexer picks", *top.value) : "the keys that the indexer picks";
  }

  Sourced<double> scale_of(const LayerPlan& layer) {
    const auto root = [](std::int64_t channels) { return 1 / std::sqrt(static_cast<double>(channels)); };
    switch (row_.scale) {
      case GgufScale::head_dim: break;
      case GgufScale::rotated_channels:
        if (!layer.rotate.empty()) return {root(rope(layer.rotate.front()).dim), by_row()};
        break;
      case GgufScale::value_dim: return {root(layer.value_dim), by_row()};
      case GgufScale::inverse_head_dim: return {1 / static_cast<double>(layer.head_dim), by_row()};
      case GgufScale::one: return {1.0, by_row()};
      case GgufScale::scale_key: return key_or("attention.scale", root(layer.head_dim));
      case GgufScale::output_key: return key_or("attention.output_scale", kGrokOutputScale);
      case GgufScale::large_hidden:
        if (row_.large_at_layers != std::ssize(facts_.layers)) break;
        return {root(facts_.hidden.value / layer.heads), by_row()};
    }
    return {root(layer.head_dim), "default: 1 / sqrt(head_dim)"};
  }

  // 0 stands for absent.
  Sourced<double> key_or(std::string_view key, double otherwise) {
    const Setting<double> given = scope_.not_negative(key);
    if (given.value && *given.value != 0) return {*given.value, given.from};
    return {otherwise, by_row()};
  }

  void add_scores(const GgufLayer& facts, std::size_t index, LayerFacts& layer) {
    const LayerPlan& known = layer.layer();
    Sourced<double> scale = scale_of(known);
    if (row_.latent && row_.log_multiplier != 0 && !known.rotate.empty()) {
      const double multiplier = softmax_multiplier(rope(known.rotate.front()).scaling);
      scale.value *= multiplier;
      if (multiplier != 1) scale.from = "default: g(factor, yarn_log_multiplier)^2 / sqrt(head_dim)";
    }
    layer.set(facts::kSoftmaxScale, scale);
    if (soft_cap_.value > 0) layer.set(facts::kSoftCap, SoftCap{.cap = soft_cap_.value}, soft_cap_.from);
    const std::string block = formatted("blk.{}.", index);
    layer.set(facts::kSinks, present(row_.sinks, block + "attn_sinks.weight", "a sink"), by_row());
    add_norm(facts, block, layer);
    if (alibi_.value > 0) {
      layer.add(Alibi{.heads = facts.heads, .max_bias = alibi_.value, .symmetric = !causal_.value});
    }
    if (!alibi_.from.empty()) layer.say("score", alibi_.from);
    const bool scaled = row_.temperature != GgufTemperature::llama4 || !facts.rotates;
    if (row_.temperature != GgufTemperature::none && scaled) layer.set(facts::kQueryScale, temperature_);
  }

  void add_norm(const GgufLayer& facts, const std::string& block, LayerFacts& layer) {
    // Llama 4: a norm in the layers that rotate, and none in Maverick.
    const bool here = row_.temperature != GgufTemperature::llama4 || (facts.rotates && !maverick_);
    std::optional<QkNorm> norm;
    if (row_.qk_norm && here && present(row_.qk_norm->presence, block + "attn_q_norm.weight", "a norm of q and k")) {
      norm = row_.qk_norm->norm;
    }
    layer.set(facts::kQkNorm, norm, by_row());
  }

  void add_mask(const GgufLayer& facts, LayerFacts& layer) {
    Mask mask{
        .kind = causal_.value ? MaskKind::causal : MaskKind::bidirectional, .window = {}, .chunk = {}, .detail = {}};
    if (row_.indexer && facts.rotates) {
      mask.kind = MaskKind::sparse;
      mask.detail = chosen_;
      mask.beyond_window = mask.by_indexer = true;
    }
    if (!facts.slides) {
      return layer.set(std::move(mask), {{"mask/kind", causal_.from}, {"mask/window", facts_.slides_from}});
    }
    const std::int64_t width = *facts_.window.value;
    if (width >= facts_.trained_length.value) {
      scope_.warn("window-covers-length",
                  formatted("A window of {} tokens covers the {} that the model is for; read as none.", width,
                            facts_.trained_length.value),
                  {facts_.window.from});
    } else if (row_.chunks) {
      mask.chunk = width;
    } else if (row_.symmetric) {
      mask.window = Window{width / 2, width / 2};
    } else {
      mask.window = Window{width - 1, causal_.value ? 0 : kMaxPosition};
    }
    const char* const limit = row_.chunks ? "mask/chunk" : "mask/window";
    layer.set(std::move(mask), {{"mask/kind", causal_.from}, {limit, facts_.window.from}});
  }

  GgufScope& scope_;
  const GgufArchitecture& row_;
  const GgufLayers& facts_;
  const GgufFactors& factors_;
  Rotation rotations_[2];     // of full layers, and of those that slide
  Sourced<double> soft_cap_;  // 0: none
  Sourced<bool> causal_;
  Sourced<double> alibi_;  // 0: none
  Sourced<QueryScale> temperature_;
  std::string chosen_;  // what layers with an indexer see
  bool maverick_ = false;
};

// ---- T5 ----

LayerFacts t5_layer(const GgufScope& scope, const GgufLayers& facts, LayerKind kind, MaskKind mask) {
  const GgufLayer& first = facts.layers.front();
  LayerFacts layer(kind);
  layer.set(facts::kHeads, first.heads, facts.heads_from);
  layer.set(facts::kKvHeads, first.kv_heads, facts.kv_heads_from);
  layer.set(facts::kHeadDim, facts.full.keys);
  layer.set(facts::kValueDim, facts.full.values);
  layer.set(facts::kSoftmaxScale, 1.0, gguf_default(scope.architecture()));
  layer.set(Mask{.kind = mask, .window = {}, .chunk = {}, .detail = {}}, {});
  return layer;
}

LayerFacts t5_layer(const GgufScope& scope, const GgufLayers& facts, MaskKind mask, const T5Bias& bias) {
  LayerFacts layer = t5_layer(scope, facts, LayerKind::attention, mask);
  layer.add(bias);
  layer.say("score/0/buckets", scope.key("attention.relative_buckets_count"));
  layer.say("score/0/max_distance", gguf_default(scope.architecture()));
  return layer;
}

// UMT5 has a table of biases in every layer, T5 in the first.
bool table_per_layer(const GgufScope& scope, std::string_view side) {
  return scope.has_tensor(formatted("{}.blk.1.attn_rel_b.weight", side)).value_or(false);
}

// Half of a direction's buckets hold one distance each: at least one, and fewer than the largest distance. A stack that
// sees both ways halves the buckets first, and rounds down.
Sourced<std::int64_t> read_t5_buckets(GgufScope& scope, bool decodes) {
  constexpr std::string_view kName = "attention.relative_buckets_count";
  const Sourced<std::int64_t> buckets = scope.required_integer(kName, {4, (decodes ? 2 : 4) * kT5MaxDistance - 1});
  if (buckets.value % 2 != 0 && !scope.failed()) {
    scope.warn("odd-buckets",
               formatted("{} is {}: each direction of the encoder has {} buckets, and the last row of its "
                         "table is never used.",
                         scope.key(kName), buckets.value, buckets.value / 2),
               {scope.key(kName)});
  }
  return buckets;
}

StackFacts t5_encoder(const GgufScope& scope, const GgufLayers& facts, T5Bias bias) {
  StackFacts stack{.name = "encoder", .count_from = facts.count_from, .trained_length = facts.trained_length};
  bias.bidirectional = true;
  bias.table_per_layer = table_per_layer(scope, "enc");
  const LayerFacts layer = t5_layer(scope, facts, MaskKind::bidirectional, bias);
  for (std::int64_t i = 0; i < std::ssize(facts.layers); ++i) stack.layers.add(layer, i);
  return stack;
}

// `blocks`: nothing where there are as many as in the encoder.
StackFacts t5_decoder(const GgufScope& scope, const GgufLayers& facts, const Setting<std::int64_t>& blocks,
                      T5Bias bias) {
  StackFacts stack{
      .name = "decoder", .count_from = blocks.value ? blocks.from : facts.count_from, .fed_by = FedBy::tokens};
  bias.bidirectional = false;
  bias.table_per_layer = table_per_layer(scope, "dec");
  const LayerFacts self = t5_layer(scope, facts, MaskKind::causal, bias);
  const LayerFacts cross = t5_layer(scope, facts, LayerKind::cross_attention, MaskKind::bidirectional);
  for (std::int64_t i = 0; i < blocks.value.value_or(std::ssize(facts.layers)); ++i) {
    stack.layers.add(self, i);
    stack.layers.add(cross, i);
  }
  return stack;
}

std::vector<StackFacts> read_t5(GgufScope& scope, const GgufLayers& facts) {
  const bool decodes = !scope.architecture().encoder;
  const Sourced<std::int64_t> buckets = read_t5_buckets(scope, decodes);
  const Setting<std::int64_t> blocks =
      decodes ? scope.integer("decoder_block_count", {1, kMaxLayers}) : Setting<std::int64_t>{};
  if (scope.failed()) return {};
  if (!scope.has_tensor("enc.blk.1.attn_rel_b.weight")) {
    scope.undecided("no-tensors",
                    "The tensors, which alone say whether each layer has its own table, are not in this file.", {});
  }
  const T5Bias bias{.buckets = buckets.value, .max_distance = kT5MaxDistance};
  std::vector<StackFacts> stacks{t5_encoder(scope, facts, bias)};
  if (decodes) stacks.push_back(t5_decoder(scope, facts, blocks, bias));
  return stacks;
}

}  // namespace

std::vector<StackFacts> read_gguf_stacks(GgufScope& scope, const GgufFactors& factors) {
  const GgufArchitecture& row = scope.architecture();
  const GgufLayers facts = read_gguf_layers(scope);
  if (scope.failed()) return {};
  if (row.name == "t5" || row.name == "t5encoder") return read_t5(scope, facts);
  if (row.alibi == GgufAlibi::baichuan_13b && std::ssize(facts.layers) != kBaichuan13bLayers &&
      std::ssize(facts.layers) != 32) {
    scope.undecided("unread-fact", "Of Baichuan models the code knows those of 32 layers, which rotate, and of 40.",
                    {scope.key("block_count")});
  }
  if (row.name == "nanbeige" && scope.integer("num_loops", {1, kMaxLayers}).value.value_or(1) > 1) {
    scope.undecided("unread-fact", "The layers are run through several times, each with keys of its own.",
                    {scope.key("num_loops")});
  }
  return {StackReader(scope, facts, factors).read()};
}

}  // namespace posenc::plan
