// A config.json that says what the settings said: rope_theta and rope_scaling (transformers 4), or rope_parameters
// (transformers 5), and the keys of windows, scales and heads, which are the same in both.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/override/override.h"
#include "plan/override/patches.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;
using io::JsonWriter;
using Path = std::vector<std::string>;

constexpr std::string_view kScalingKey = "rope_scaling";
constexpr std::string_view kParametersKey = "rope_parameters";
constexpr std::string_view kLocalBaseKey = "rope_local_base_freq";

// What a rule's dictionary says of the rule; all else in it stays.
const std::vector<std::string_view> kRuleKeys{"rope_type",
                                              "type",
                                              "factor",
                                              "original_max_position_embeddings",
                                              "attention_factor",
                                              "beta_fast",
                                              "beta_slow",
                                              "mscale",
                                              "mscale_all_dim",
                                              "truncate",
                                              "low_freq_factor",
                                              "high_freq_factor",
                                              "short_factor",
                                              "long_factor",
                                              "short_mscale",
                                              "long_mscale",
                                              "alpha",
                                              "rope_theta"};

std::string unescaped(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const bool escape = segment[i] == '~' && i + 1 < segment.size();
    out += escape ? (segment[++i] == '1' ? '/' : '~') : segment[i];
  }
  return out;
}

// "/text_config/rope_theta"; nothing for "default: ..." and for what a setting said.
std::optional<Path> path_of(std::string_view from) {
  if (!from.starts_with('/')) return {};
  Path path;
  while (!from.empty()) {
    from.remove_prefix(1);
    const std::string_view segment = from.substr(0, from.find('/'));
    path.push_back(unescaped(segment));
    from.remove_prefix(segment.size());
  }
  return path;
}

std::optional<JsonValue> value_at(const io::JsonDocument* document, const Path& path) {
  if (document == nullptr) return {};
  std::optional<JsonValue> value = document->root();
  for (const std::string& member : path) {
    const auto found = value->find(member);
    if (!found || !*found) return {};
    value = **found;
  }
  return value;
}

std::optional<Path> path_of_plan_source(const Change& change, std::string_view where) {
  const auto source = std::ranges::find(change.before.sources, where, &ValueSource::where);
  return source == change.before.sources.end() ? std::nullopt : path_of(source->from);
}

// Where the keys of the first stack stand: the object that has its number of layers, or another size of them.
Path object_of_text(const Change& change) {
  for (const std::string_view where : {"/stacks/0/layers", "/trained_length"}) {
    if (auto path = path_of_plan_source(change, where)) {
      path->pop_back();
      return *path;
    }
  }
  for (const std::string_view field : {"heads", "kv_heads", "softmax_scale"}) {
    for (const std::string& source : sources_of_field(change.before, 0, field)) {
      auto path = path_of(source);
      if (!path) continue;
      path->pop_back();
      return *path;
    }
  }
  return {};
}

Path joined_path(Path path, std::string_view member) {
  path.emplace_back(member);
  return path;
}

void optional_member(JsonWriter& json, std::string_view name, const std::optional<double>& value) {
  if (value) json.member(name, *value);
}

// The members of a rule's dictionary in config.json. False: no name there says this rule.
struct RuleMembers {
  JsonWriter& json;
  const Family* family;
  bool is_of_type;  // a dictionary of one layer type: the class reads no truncate in it

  void type(std::string_view name) const { json.member("rope_type", name); }
  bool operator()(const std::monostate&) const {
    type("default");
    return true;
  }
  bool operator()(const LinearScaling& rule) const {
    type("linear");
    json.member("factor", rule.factor);
    return true;
  }
  bool operator()(const NtkScaling& rule) const {
    if (family == nullptr || !family->alpha_stretches) return false;
    type("dynamic");
    json.member("alpha", rule.alpha);
    return true;
  }
  bool operator()(const DynamicScaling& rule) const {
    type("dynamic");
    json.member("factor", rule.factor);
    return true;
  }
  bool operator()(const QwenNtkScaling&) const { return false; }
  bool operator()(const YarnScaling& rule) const {
    type("yarn");
    json.member("factor", rule.factor);
    json.member("original_max_position_embeddings", rule.original_max_position_embeddings);
    optional_member(json, "attention_factor", rule.attention_factor);
    optional_member(json, "beta_fast", rule.beta_fast);
    optional_member(json, "beta_slow", rule.beta_slow);
    optional_member(json, "mscale", rule.mscale);
    optional_member(json, "mscale_all_dim", rule.mscale_all_dim);
    if (!rule.truncate && !is_of_type) json.member("truncate", false);
    return true;
  }
  bool operator()(const LongRopeScaling& rule) const {
    type("longrope");
    json.member("factor", rule.factor);
    json.member("original_max_position_embeddings", rule.original_max_position_embeddings);
    json.key("short_factor");
    json.numbers(std::span<const double>(rule.short_factor));
    json.key("long_factor");
    json.numbers(std::span<const double>(rule.long_factor));
    optional_member(json, "attention_factor", rule.attention_factor);
    optional_member(json, "short_mscale", rule.short_mscale);
    optional_member(json, "long_mscale", rule.long_mscale);
    return true;
  }
  bool operator()(const Llama3Scaling& rule) const {
    type("llama3");
    json.member("factor", rule.factor);
    json.member("low_freq_factor", rule.low_freq_factor);
    json.member("high_freq_factor", rule.high_freq_factor);
    json.member("original_max_position_embeddings", rule.original_max_position_embeddings);
    return true;
  }
  bool operator()(const ProportionalScaling& rule) const {
    type("proportional");
    json.member("partial_rotary_factor", rule.partial_rotary_factor);
    json.member("factor", rule.factor);
    return true;
  }
  bool operator()(const FactorListScaling&) const { return false; }
};

// Phi-3's classes raise ValueError for a rule of another name (validate_rope, in transformers 4
// _rope_scaling_validation); Phi-3.5-MoE's for one without LongRoPE's short_mscale and long_mscale.
bool refuses(const Family* family, const Scaling& rule) {
  return family != nullptr && family->longrope_alone && !std::holds_alternative<std::monostate>(rule) &&
         !std::holds_alternative<LongRopeScaling>(rule);
}

bool has_no_rule(const Rope& rope) { return std::holds_alternative<std::monostate>(rope.scaling); }

// What the reader's formula makes `wanted` of: the number itself may be 99.99999999999999 where the file's is 100,
// since the formula rounds. The shortest decimal beside `near` that gives the same, else `near`.
template <typename Formula>
double own_number(double near, double wanted, const Formula& formula) {
  constexpr double kBeside = 0x1p-48;  // relative: some roundings of doubles, 2^-53 each
  for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
    const std::string text = formatted("{:.{}e}", near, digits - 1);
    double shorter = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), shorter);
    if (error != std::errc{} || std::abs(shorter - near) > kBeside * std::abs(near)) continue;
    if (formula(shorter) == wanted) return shorter;
  }
  return near;
}

class Steps {
 public:
  Steps(const Change& change, const io::JsonDocument* document, PatchForm form, bool whole)
      : change_(change),
        document_(document),
        form_(form),
        whole_(whole),
        leads_(leads_of(change)),
        object_(object_of_text(change)),
        per_type_(change.family != nullptr && change.family->ropes_per_type && leads_.full && leads_.sliding) {}

  std::vector<PatchStep> made() {
    if (leads_.full || leads_.sliding) add_rotation();
    add_widths();
    add_dual_chunk();
    add_mask();
    add_scores();
    add_sizes();
    return std::move(steps_);
  }

 private:
  const LayerPlan& before(std::size_t place) const { return change_.stack_before()->layers[place]; }
  const LayerPlan& after(std::size_t place) const { return change_.stack_after()->layers[place]; }
  std::string source(std::size_t place, std::string_view field) const {
    return sources_of_field(change_.before, 0, field)[place];
  }
  std::optional<JsonValue> there(std::string_view key) const { return value_at(document_, joined_path(object_, key)); }

  void add(Path path, std::string value) {
    steps_.push_back({.removes = false, .path = std::move(path), .value = std::move(value)});
  }
  void remove(const Path& path) {
    const bool stands = value_at(document_, path).has_value();
    const bool again = std::ranges::any_of(steps_, [&](const PatchStep& step) { return step.path == path; });
    if (stands && !again) steps_.push_back({.removes = true, .path = path});
  }
  // Where the fact stood, or under that key of the text's object.
  Path place_of(std::size_t layer, std::string_view field, std::string_view key) const {
    return path_of(source(layer, field)).value_or(joined_path(object_, key));
  }

  // ---- rotation ----

  bool rotates_still(std::size_t place) const { return !after(place).rotate.empty(); }
  bool differs(std::size_t place) const {
    if (!rotates_still(place)) return false;
    const Rope& a = rope(before(place).rotate.front());
    const Rope& b = rope(after(place).rotate.front());
    return a.base != b.base || a.scaling != b.scaling;
  }

  void add_rotation() {
    const std::size_t lead = leads_.full ? *leads_.full : *leads_.sliding;
    const bool full = differs(lead);
    const bool sliding = per_type_ && differs(*leads_.sliding);
    if ((!full && !sliding) || !rotates_still(lead)) return;
    // ChatGLM's class reads a ratio, and no dictionary.
    const bool by_ratio = change_.family != nullptr && change_.family->base == BaseRule::ratio;
    if (form_ == PatchForm::hugging_face_new && !by_ratio) {
      add_parameters(lead);
    } else {
      add_flat(lead, sliding);
    }
  }

  // What else the dictionary of the file says (mrope_section): of its part for that type of layers, where it has parts.
  // partial_rotary_factor is the rule's where the rule is "proportional", and a width elsewhere.
  std::string carried(std::string_view type, const Scaling& now) const {
    for (const std::string_view key : {kScalingKey, kParametersKey}) {
      auto dictionary = there(key);
      if (!dictionary || dictionary->kind() != JsonKind::object) continue;
      if (const auto part = dictionary->find(type); part && *part && (*part)->kind() == JsonKind::object)
        dictionary = **part;
      std::vector<std::string_view> gone = kRuleKeys;
      const auto named = dictionary->find("rope_type");
      const bool was_proportional = named && *named && (*named)->text() == "proportional";
      if (was_proportional || std::holds_alternative<ProportionalScaling>(now)) gone.push_back("partial_rotary_factor");
      for (const JsonValue& member : dictionary->items()) {
        if (member.kind() == JsonKind::object) gone.push_back(member.key());
      }
      return compact_without(*dictionary, std::move(gone));
    }
    return "{}";
  }

  // Nothing for a rule that config.json has no name for, or that the model's class refuses.
  std::optional<std::string> dictionary(const Rope& rope, std::string_view type, bool with_base) const {
    if (refuses(change_.family, rope.scaling)) return {};
    JsonWriter json(io::JsonLayout::line);
    json.begin_object(io::JsonLayout::line);
    if (with_base) json.member("rope_theta", rope.base);
    if (!std::visit(RuleMembers{json, change_.family, with_base && per_type_}, rope.scaling)) return {};
    json.end_object();
    std::string text = json.take();
    const std::string more = carried(type, rope.scaling);
    if (more == "{}") return text;
    text.pop_back();
    return text + ", " + more.substr(1);
  }

  void add_flat(std::size_t lead, bool sliding) {
    const bool had_parameters = there(kParametersKey).has_value();
    const Rope& old = rope(before(lead).rotate.front());
    const Rope& now = rope(after(lead).rotate.front());
    const bool all = whole_ || had_parameters;
    const auto text = dictionary(now, "full_attention", false);
    if (!text && (all || old.scaling != now.scaling)) {
      if (old.base != now.base && !had_parameters) add_base(lead, now);
      return;
    }
    if (had_parameters) remove(joined_path(object_, kParametersKey));
    if (all || old.base != now.base) add_base(lead, now);
    if (old.scaling != now.scaling) add_original_beside(now.scaling);
    if (all || old.scaling != now.scaling) {
      const bool empty = has_no_rule(now) && carried("full_attention", now.scaling) == "{}";
      add(joined_path(object_, kScalingKey), empty ? "null" : *text);
    }
    if (per_type_ && (all || sliding)) {
      const Rope& local = rope(after(*leads_.sliding).rotate.front());
      add(joined_path(object_, kLocalBaseKey), json_number(local.base));
    }
  }

  void add_base(std::size_t lead, const Rope& now) {
    if (change_.family != nullptr && change_.family->base == BaseRule::ratio) {
      constexpr double kChatglm = 10000.0;  // of its remote code, times rope_ratio
      const double ratio = own_number(now.base / kChatglm, now.base, [](double x) { return kChatglm * x; });
      return add(place_of(lead, "rotate/0/base", "rope_ratio"), json_number(ratio));
    }
    Path path = place_of(lead, "rotate/0/base", "rope_theta");
    // In a dictionary that is replaced or removed it would be lost.
    if (std::ranges::find(path, kParametersKey) != path.end() || std::ranges::find(path, kScalingKey) != path.end()) {
      path = joined_path(object_, "rope_theta");
    }
    add(std::move(path), json_number(now.base));
  }

  // Of LongRoPE the original length beside the dictionary counts; a file may have it there for any rule.
  void add_original_beside(const Scaling& scaling) {
    const Path path = joined_path(object_, "original_max_position_embeddings");
    if (!value_at(document_, path)) return;
    std::optional<std::int64_t> original;
    if (const auto* longrope = std::get_if<LongRopeScaling>(&scaling))
      original = longrope->original_max_position_embeddings;
    if (const auto* yarn = std::get_if<YarnScaling>(&scaling)) original = yarn->original_max_position_embeddings;
    if (const auto* llama3 = std::get_if<Llama3Scaling>(&scaling)) original = llama3->original_max_position_embeddings;
    if (original) add(path, std::to_string(*original));
  }

  void add_parameters(std::size_t lead) {
    const auto text =
        per_type_ ? dictionaries_by_type() : dictionary(rope(after(lead).rotate.front()), "full_attention", true);
    if (!text) return;
    add_original_beside(rope(after(lead).rotate.front()).scaling);
    remove(joined_path(object_, kScalingKey));
    for (const std::string_view key : {std::string_view("rope_theta"), kLocalBaseKey})
      remove(joined_path(object_, key));
    if (const auto path = path_of(source(lead, "rotate/0/base")); path && path->size() == object_.size() + 1)
      remove(*path);
    add(joined_path(object_, kParametersKey), *text);
  }

  std::optional<std::string> dictionaries_by_type() const {
    const auto full = dictionary(rope(after(*leads_.full).rotate.front()), "full_attention", true);
    const LayerPlan& local = after(*leads_.sliding);
    const std::string_view type = before(*leads_.sliding).mask.chunk ? "chunked_attention" : "sliding_attention";
    const auto sliding = local.rotate.empty() ? std::nullopt : dictionary(rope(local.rotate.front()), type, true);
    if (!full || !sliding) return {};
    const Scaling& rule = rope(after(*leads_.full).rotate.front()).scaling;
    const auto* yarn = std::get_if<YarnScaling>(&rule);
    const std::string_view more = yarn != nullptr && !yarn->truncate ? ", \"truncate\": false" : "";
    return "{\"full_attention\": " + *full + ", \"" + std::string(type) + "\": " + *sliding + std::string(more) + "}";
  }

  // ---- widths ----

  void add_widths() {
    if (!leads_.full && !leads_.sliding) return;
    const std::size_t lead = leads_.full ? *leads_.full : *leads_.sliding;
    if (!rotates_still(lead)) return;
    const Rope& old = rope(before(lead).rotate.front());
    const Rope& now = rope(after(lead).rotate.front());
    if (old.pairing != now.pairing && change_.family != nullptr && change_.family->reads_interleave) {
      add(place_of(lead, "rotate/0/pairing", "rope_interleave"),
          now.pairing == Pairing::interleaved ? "true" : "false");
    }
    if (old.dim == now.dim || std::holds_alternative<ProportionalScaling>(now.scaling)) return;
    const bool by_channels = change_.family != nullptr && change_.family->width == Width::rotary_dim;
    if (by_channels) return add(place_of(lead, "rotate/0/dim", "rotary_dim"), std::to_string(now.dim));
    const auto width = static_cast<double>(now.head_dim);
    double part = static_cast<double>(now.dim) / width;
    // The reader cuts off: the quotient's rounding must not lose a channel.
    if (std::trunc(width * part) < static_cast<double>(now.dim)) part = std::nextafter(part, 2.0);
    part = own_number(part, static_cast<double>(now.dim), [&](double shorter) { return std::trunc(width * shorter); });
    Path path = place_of(lead, "rotate/0/dim", "partial_rotary_factor");
    if (path.back() != "partial_rotary_factor") path = joined_path(object_, "partial_rotary_factor");
    add(std::move(path), json_number(part));
  }

  // What vLLM reads of families that were trained with it (docs/schemes/dual-chunk.md).
  void add_dual_chunk() {
    if (change_.family == nullptr || !change_.family->dual_chunk || !leads_.full) return;
    const Regions& now = after(*leads_.full).regions;
    const auto* dual = std::get_if<DualChunk>(&now);
    if (dual == nullptr || before(*leads_.full).regions == now) return;
    add(joined_path(object_, "dual_chunk_attention_config"),
        formatted(R"({{"chunk_size": {}, "local_size": {}}})", dual->trained - 1, dual->trained - 1 - dual->chunk));
  }

  // ---- masks ----

  // The width that a reader makes this window of.
  std::int64_t width_of(const Window& window, const LayerPlan& layer) const {
    const bool beside = change_.family != nullptr && change_.family->window_beside_own;
    if (window.future == 0) return window.past + (beside ? 0 : 1);
    const Family* family = change_.family;
    const bool halved =
        family != nullptr && (family->main.mask.window_spans_both ||
                              (family->reads_bidirectional && layer.mask.kind == MaskKind::bidirectional));
    return halved ? 2 * window.past : window.past;
  }

  void add_mask() {
    if (!change_.stack_before()) return;
    const std::size_t layers = change_.stack_before()->layers.size();
    bool window = false;
    bool chunk = false;
    for (std::size_t place = 0; place < layers; ++place) {
      const LayerPlan& now = after(place);
      if (!window && before(place).mask.window != now.mask.window) {
        window = true;
        add(place_of(place, "mask/window", "sliding_window"),
            now.mask.window ? std::to_string(width_of(*now.mask.window, now)) : "null");
      }
      if (!chunk && before(place).mask.chunk != now.mask.chunk) {
        chunk = true;
        add(place_of(place, "mask/chunk", "attention_chunk_size"),
            now.mask.chunk ? std::to_string(*now.mask.chunk) : "null");
      }
    }
  }

  // ---- scores and sizes ----

  void add_scores() {
    if (!leads_.any) return;
    const LayerPlan& old = before(*leads_.any);
    const LayerPlan& now = after(*leads_.any);
    if (old.soft_cap != now.soft_cap) {
      add(place_of(*leads_.any, "soft_cap", "attn_logit_softcapping"),
          now.soft_cap ? json_number(now.soft_cap->cap) : "null");
    }
    if (old.softmax_scale == now.softmax_scale || change_.family == nullptr) return;
    switch (change_.family->scale) {
      case Scale::query_scalar:
      case Scale::scalar_or_dim:
        return add(place_of(*leads_.any, "softmax_scale", "query_pre_attn_scalar"),
                   json_number(own_number(1 / (now.softmax_scale * now.softmax_scale), now.softmax_scale,
                                          [](double scalar) { return 1 / std::sqrt(scalar); })));
      case Scale::multiplier:
      case Scale::multiplier_or_dim:
        return add(place_of(*leads_.any, "softmax_scale", "attention_multiplier"), json_number(now.softmax_scale));
      default: return;
    }
  }

  void add_sizes() {
    if (leads_.any && before(*leads_.any).kv_heads != after(*leads_.any).kv_heads) {
      add(place_of(*leads_.any, "kv_heads", "num_key_value_heads"), std::to_string(after(*leads_.any).kv_heads));
    }
    if (change_.before.trained_length == change_.after.trained_length || !change_.after.trained_length) return;
    const auto path = path_of_plan_source(change_, "/trained_length");
    add(path.value_or(joined_path(object_, "max_position_embeddings")), std::to_string(*change_.after.trained_length));
  }

  const Change& change_;
  const io::JsonDocument* document_;  // of change_.config; null: none
  PatchForm form_;
  bool whole_;  // old form: everything about the rotation, not what changed alone
  Leads leads_;
  Path object_;
  bool per_type_;
  std::vector<PatchStep> steps_;
};

}  // namespace

std::optional<std::string> refused_rule(const Change& change) {
  const Stack* stack = change.stack_after();
  for (std::size_t place = 0; stack != nullptr && place < stack->layers.size(); ++place) {
    const std::vector<Rotate>& rotate = stack->layers[place].rotate;
    if (rotate.empty() || !refuses(change.family, rope(rotate.front()).scaling)) continue;
    return formatted("transformers' class of {} takes the rule longrope or none, and refuses a config with another.",
                     change.family->name);
  }
  return {};
}

std::vector<std::vector<PatchStep>> hugging_face_steps(const Change& change, PatchForm form) {
  std::optional<io::JsonDocument> document;
  if (!change.config.empty()) document = document_of(change.config);
  std::vector<std::vector<PatchStep>> ways;
  for (const bool whole : {false, true}) {
    std::vector<PatchStep> steps = Steps(change, document ? &*document : nullptr, form, whole).made();
    if (std::ranges::find(ways, steps) == ways.end()) ways.push_back(std::move(steps));
  }
  return ways;
}

}  // namespace posenc::plan
