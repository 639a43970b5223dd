// llama.cpp's flags. What they do, from its own code (llama_context's constructor, ggml's rope_yarn):
//
//   --rope-freq-base B     base of the layers without a sliding window; those have ARCH.rope.freq_base_swa
//   --rope-scale F         freq_scale = 1/F, which multiplies every angle (linear), or the interpolated ones (yarn)
//   --rope-scaling RULE    none: freq_scale is 1. yarn: ext_factor is 1, else 0
//   --yarn-orig-ctx, --yarn-beta-fast, --yarn-beta-slow   as YaRN's; the ramp's ends are always rounded
//   --yarn-attn-factor     with ext_factor 1 what it says is replaced by 0.1 ln(F) + 1, times the file's
//                          ARCH.rope.scaling.attn_factor: another attention factor is said by that key
//   --override-kv KEY=TYPE:VALUE   a key of the file, as if it stood there
//
// Tensors of the file (rope_freqs.weight, LongRoPE's lists) divide whatever the flags say. Sliding layers are scaled as
// the file says.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/formatted.h"
#include "plan/json/plan_names.h"
#include "plan/override/override.h"
#include "plan/override/patches.h"

namespace posenc::plan {
namespace {

constexpr double kSameFactor = 1e-6;  // llama.cpp's factors are floats

// convert_hf_to_gguf.py's names of the architectures that are not called as their family.
struct ArchitectureOf {
  std::string_view family;
  std::string_view architecture;
};
constexpr ArchitectureOf kOtherNames[] = {{"deepseek_v2", "deepseek2"}, {"deepseek_v3", "deepseek2"}};

const GgufArchitecture* architecture_of_family(const Family* family) {
  if (family == nullptr) return nullptr;
  const auto* const known = std::ranges::find(kOtherNames, family->name, &ArchitectureOf::family);
  if (known != std::end(kOtherNames)) return find_gguf_architecture(known->architecture);
  std::string name(family->name);
  if (name.ends_with("_text")) name.resize(name.size() - 5);
  std::string dashed = name;
  std::ranges::replace(dashed, '_', '-');
  std::string short_name = name;
  std::erase(short_name, '_');
  for (const std::string& one : {name, dashed, short_name}) {
    if (const GgufArchitecture* row = find_gguf_architecture(one)) return row;
  }
  return nullptr;
}

// YaRN's g(factor, mscale).
double magnitude(double factor, double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1; }

// As a float's shortest decimal: llama.cpp's numbers are floats.
std::string float_text(double value) {
  std::string text = formatted("{}", static_cast<float>(value));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

class Flags {
 public:
  explicit Flags(const Change& change)
      : change_(change),
        row_(change.before.source.kind == SourceKind::gguf ? architecture_of(change.before, 0)
                                                           : architecture_of_family(change.family)) {}

  OverridePatch made() {
    if (change_.stack_before() != nullptr) add_stack();
    if (change_.before.trained_length != change_.after.trained_length && change_.after.trained_length) {
      override_key("context_length", "int", formatted("{}", *change_.after.trained_length));
    }
    add_other_stacks();
    if (uses_placeholder_) {
      unsaid_.push_back("ARCH stands for the general.architecture of the file.");
    }
    return {.form = PatchForm::llama_cpp, .text = joined(flags_, " "), .unsaid = std::move(unsaid_)};
  }

 private:
  using Places = std::vector<std::size_t>;

  const LayerPlan& before(std::size_t place) const { return change_.stack_before()->layers[place]; }
  const LayerPlan& after(std::size_t place) const { return change_.stack_after()->layers[place]; }

  void flag(std::string name, std::string value) {
    flags_.push_back(std::move(name));
    flags_.push_back(std::move(value));
  }
  void override_key(std::string_view key, std::string_view type, const std::string& value) {
    uses_placeholder_ = uses_placeholder_ || row_ == nullptr;
    flag("--override-kv", formatted("{}.{}={}:{}", row_ == nullptr ? "ARCH" : row_->name, key, type, value));
  }
  void leave(std::string sentence) {
    if (std::ranges::find(unsaid_, sentence) == unsaid_.end()) unsaid_.push_back(std::move(sentence));
  }

  // Whether llama.cpp has a window there: it ignores those of architectures that are not known to slide.
  bool is_swa(std::size_t place) const {
    return slides(before(place)) && (row_ == nullptr || row_->windows != GgufWindows::none);
  }

  template <typename Fact>
  bool any_differs(const Places& places, const Fact& fact) const {
    return std::ranges::any_of(places, [&](std::size_t place) { return fact(before(place)) != fact(after(place)); });
  }
  // Whether the fact is one and the same in all of these layers.
  template <typename Fact>
  bool is_one(const Places& places, const Fact& fact) const {
    return std::ranges::all_of(places,
                               [&](std::size_t place) { return fact(after(place)) == fact(after(places.front())); });
  }

  void add_stack() {
    Places all;
    Places full;
    Places swa;
    for (std::size_t place = 0; place < change_.stack_before()->layers.size(); ++place) {
      if (before(place).kind != LayerKind::attention) continue;
      all.push_back(place);
      if (before(place).rotate.empty()) continue;
      if (after(place).rotate.empty()) {
        leave("rope=none: which layers do not rotate is llama.cpp's own code.");
        continue;
      }
      (is_swa(place) ? swa : full).push_back(place);
    }
    if (!full.empty()) add_rotation(full);
    if (!swa.empty()) add_sliding_rotation(swa);
    Places rotating = full;
    rotating.insert(rotating.end(), swa.begin(), swa.end());
    add_widths(rotating);
    add_mask(all);
    add_scores(all);
  }

  // ---- rotation ----

  static const Rope& main_rope(const LayerPlan& layer) { return rope(layer.rotate.front()); }

  void add_rotation(const Places& full) {
    const auto base = [](const LayerPlan& layer) { return main_rope(layer).base; };
    const auto scaling = [](const LayerPlan& layer) { return main_rope(layer).scaling; };
    double wanted = base(after(full.front()));
    if (!is_one(full, base) || !is_one(full, scaling)) {
      if (any_differs(full, base) || any_differs(full, scaling)) {
        leave("One base and one rule hold for all layers without a window; the settings say several.");
      }
      return;
    }
    if (any_differs(full, scaling)) add_rule(before(full.front()), after(full.front()), wanted);
    if (wanted != base(before(full.front())) || any_differs(full, base)) flag("--rope-freq-base", float_text(wanted));
  }

  void add_sliding_rotation(const Places& swa) {
    const auto base = [](const LayerPlan& layer) { return main_rope(layer).base; };
    const auto scaling = [](const LayerPlan& layer) { return main_rope(layer).scaling; };
    if (any_differs(swa, scaling)) leave("The rule of layers with a window is the file's; no flag changes it.");
    if (!any_differs(swa, base)) return;
    if (!is_one(swa, base)) return leave("One base holds for all layers with a window; the settings say several.");
    override_key("rope.freq_base_swa", "float", float_text(base(after(swa.front()))));
  }

  // `base` takes what NTK makes of it.
  void add_rule(const LayerPlan& was, const LayerPlan& now, double& base) {
    const Scaling& old = main_rope(was).scaling;
    const bool by_tensor = std::holds_alternative<Llama3Scaling>(old) || std::holds_alternative<LongRopeScaling>(old) ||
                           std::holds_alternative<FactorListScaling>(old);
    if (by_tensor) {
      leave(
          formatted("The file has the {} rule's factors as a tensor, which divides whatever the flags say; they leave "
                    "it as it is.",
                    kind_name(old)));
      return;
    }
    std::visit([&](const auto& rule) { add(rule, was, now, base); }, main_rope(now).scaling);
  }

  void add(const std::monostate&, const LayerPlan&, const LayerPlan&, double&) { flag("--rope-scaling", "none"); }
  void add(const LinearScaling& rule, const LayerPlan&, const LayerPlan&, double&) {
    flag("--rope-scaling", "linear");
    flag("--rope-scale", float_text(rule.factor));
  }
  // base * alpha^(dim/(dim-2)) is a base like any other.
  void add(const NtkScaling& rule, const LayerPlan&, const LayerPlan& now, double& base) {
    const auto dim = static_cast<double>(main_rope(now).dim);
    if (dim <= 2) return leave("rope_scaling=ntk: llama.cpp has no such rule, and two channels have no other base.");
    flag("--rope-scaling", "none");
    base *= std::pow(rule.alpha, dim / (dim - 2));
  }
  void add(const YarnScaling& rule, const LayerPlan& was, const LayerPlan& now, double&) {
    flag("--rope-scaling", "yarn");
    flag("--rope-scale", float_text(rule.factor));
    if (rule.original_max_position_embeddings > std::numeric_limits<std::int32_t>::max()) {
      leave("--yarn-orig-ctx takes 32 bits.");
    } else {
      flag("--yarn-orig-ctx", formatted("{}", rule.original_max_position_embeddings));
    }
    const auto* const old = std::get_if<YarnScaling>(&main_rope(was).scaling);
    if (rule.beta_fast || (old != nullptr && old->beta_fast)) {
      flag("--yarn-beta-fast", float_text(rule.beta_fast.value_or(32)));
    }
    if (rule.beta_slow || (old != nullptr && old->beta_slow)) {
      flag("--yarn-beta-slow", float_text(rule.beta_slow.value_or(1)));
    }
    if (!rule.truncate) leave("truncate=no: llama.cpp always rounds the ends of YaRN's ramp to whole pairs.");
    add_log_multiplier(rule, old);
    add_attention_factor(rule, old, now);
  }
  void add(const DynamicScaling&, const LayerPlan&, const LayerPlan&, double&) { no_rule("dynamic"); }
  void add(const QwenNtkScaling&, const LayerPlan&, const LayerPlan&, double&) { no_rule("qwen_ntk"); }
  void add(const LongRopeScaling&, const LayerPlan&, const LayerPlan&, double&) { by_tensors("longrope"); }
  void add(const Llama3Scaling&, const LayerPlan&, const LayerPlan&, double&) { by_tensors("llama3"); }
  void add(const ProportionalScaling&, const LayerPlan&, const LayerPlan&, double&) { by_tensors("proportional"); }
  void add(const FactorListScaling&, const LayerPlan&, const LayerPlan&, double&) { by_tensors("factors"); }

  void no_rule(std::string_view name) {
    leave(formatted("rope_scaling={}: llama.cpp has no rule that depends on the length.", name));
  }
  void by_tensors(std::string_view name) {
    leave(formatted("rope_scaling={}: a file carries this rule as a tensor, which its conversion writes; no flag does.",
                    name));
  }

  bool reads_log_multiplier() const { return row_ != nullptr && row_->log_multiplier != 0; }

  // The file's is mscale_all_dim times what the converter multiplies it with.
  void add_log_multiplier(const YarnScaling& rule, const YarnScaling* old) {
    const double wanted = rule.mscale_all_dim.value_or(0);
    const double was = old != nullptr ? old->mscale_all_dim.value_or(0) : 0;
    if (!reads_log_multiplier() || wanted == was) return;
    override_key("rope.scaling.yarn_log_multiplier", "float", float_text(wanted * row_->log_multiplier));
  }

  // What llama.cpp multiplies cos and sin by, before the file's attn_factor.
  double own_factor(const YarnScaling& rule) const {
    const double all = reads_log_multiplier() ? rule.mscale_all_dim.value_or(0) : 0;
    if (all == 0) return magnitude(rule.factor, 1);
    const double mscale = row_->name == "deepseek2" && all != 1 ? all : 1.0;
    return magnitude(rule.factor, mscale) / magnitude(rule.factor, all);
  }

  static double factor_of(const LayerPlan& layer) { return frequencies(main_rope(layer), 1).attention_factor; }

  void add_attention_factor(const YarnScaling& rule, const YarnScaling* old, const LayerPlan& now) {
    const double ratio = factor_of(now) / own_factor(rule);
    const bool old_ratio_is_one = old == nullptr || !old->attention_factor;
    if (std::abs(ratio - 1) <= kSameFactor && old_ratio_is_one) return;
    if (reads_log_multiplier()) {
      if (std::abs(ratio - 1) <= kSameFactor) return;
      return leave(formatted("attention factor {}: llama.cpp makes it of mscale_all_dim alone in this architecture.",
                             float_text(factor_of(now))));
    }
    override_key("rope.scaling.attn_factor", "float", float_text(ratio));
  }

  // ---- widths ----

  void add_widths(const Places& rotating) {
    if (rotating.empty()) return;
    const auto dim = [](const LayerPlan& layer) { return main_rope(layer).dim; };
    if (any_differs(rotating, dim)) {
      if (is_one(rotating, dim)) {
        override_key("rope.dimension_count", "int", formatted("{}", dim(after(rotating.front()))));
      } else {
        leave("rotary_dim: one width holds for all layers.");
      }
    }
    if (any_differs(rotating, [](const LayerPlan& layer) { return main_rope(layer).pairing; })) {
      leave(
          "pairing: which channels pair is llama.cpp's own code for each architecture; the conversion permutes rows.");
    }
    if (any_differs(rotating, [](const LayerPlan& layer) { return main_rope(layer).rotation_direction; })) {
      leave("direction: llama.cpp knows one direction.");
    }
    if (any_differs(rotating, [](const LayerPlan& layer) { return layer.rotate.front().offset; })) {
      leave("offset: positions are what the caller's batch says.");
    }
    if (any_differs(rotating, [](const LayerPlan& layer) { return layer.regions; })) {
      leave(
          "regions: --grp-attn-n and --grp-attn-w, which are near SelfExtend, shift cached keys, in some of "
          "llama.cpp's tools only, and are not the same; it has no dual chunks.");
    }
  }

  // ---- masks and scores ----

  void add_mask(const Places& all) {
    Places sliding = all;
    std::erase_if(sliding, [&](std::size_t place) { return before(place).mask.window == after(place).mask.window; });
    if (!sliding.empty()) add_window(sliding, all);
    if (any_differs(all, [](const LayerPlan& layer) { return layer.mask.chunk; })) {
      leave("chunk: the length of chunks is llama.cpp's own code.");
    }
    const auto kind = [](const LayerPlan& layer) { return layer.mask.kind; };
    if (!any_differs(all, kind)) return;
    if (!is_one(all, kind)) return leave("mask: one kind holds for all layers.");
    override_key("attention.causal", "bool", kind(after(all.front())) == MaskKind::causal ? "true" : "false");
  }

  void add_window(const Places& changed, const Places& all) {
    if (row_ != nullptr && row_->windows == GgufWindows::none) {
      return leave("window: llama.cpp gives this architecture none.");
    }
    const auto window = [](const LayerPlan& layer) { return layer.mask.window; };
    const Places those = [&] {
      Places out = all;
      std::erase_if(out, [&](std::size_t place) { return !before(place).mask.window && !after(place).mask.window; });
      return out;
    }();
    const bool newly = std::ranges::any_of(changed, [&](std::size_t place) { return !before(place).mask.window; });
    if (newly || !is_one(those, window))
      return leave("window: which layers slide is llama.cpp's own code, and all have one width.");
    const std::optional<Window> wanted = window(after(changed.front()));
    if (wanted && wanted->future != 0) return leave("window: a width to both sides is not said by a key of a file.");
    const std::optional<std::int64_t> width = wanted ? std::optional(wanted->past + 1) : change_.after.trained_length;
    if (!width)
      return leave("window=none: a width that covers all needs the trained length, which the plan does not have.");
    override_key("attention.sliding_window", "int", formatted("{}", *width));
  }

  void add_scores(const Places& all) {
    const auto cap = [](const LayerPlan& layer) { return layer.soft_cap; };
    if (any_differs(all, cap)) {
      const auto wanted = cap(after(all.front()));
      if (wanted && is_one(all, cap)) {
        override_key("attn_logit_softcapping", "float", float_text(wanted->cap));
      } else {
        leave("soft_cap: llama.cpp knows one cap for all layers, and none only where its code has none.");
      }
    }
    if (any_differs(all, [](const LayerPlan& layer) { return layer.softmax_scale; })) add_scale(all);
    if (any_differs(all, [](const LayerPlan& layer) { return layer.sinks; })) {
      leave("sinks: a file has them as tensors.");
    }
    if (any_differs(all, [](const LayerPlan& layer) { return layer.qk_norm; })) {
      leave("qk_norm: a file has its weights as tensors.");
    }
    if (any_differs(all, [](const LayerPlan& layer) { return layer.query_scale.index(); })) {
      leave("query_scale: which layers have one is llama.cpp's own code.");
    }
    if (any_differs(all, [](const LayerPlan& layer) { return layer.kv_heads; })) {
      leave("kv_heads: the shapes of the file's tensors decide.");
    }
  }

  void add_scale(const Places& all) {
    // Latent attention makes it of the multiplier that was said above.
    const bool follows = reads_log_multiplier() && any_differs(all, [](const LayerPlan& layer) {
                           return layer.rotate.empty() ? Scaling{} : main_rope(layer).scaling;
                         });
    if (follows) return;
    const auto scale = [](const LayerPlan& layer) { return layer.softmax_scale; };
    const bool has_key = row_ != nullptr && row_->scale == GgufScale::scale_key && is_one(all, scale);
    if (!has_key) return leave("scale: llama.cpp computes it from the head's width in this architecture.");
    override_key("attention.scale", "float", float_text(scale(after(all.front()))));
  }

  void add_other_stacks() {
    for (std::size_t at = 1; at < change_.after.stacks.size(); ++at) {
      if (change_.before.stacks[at] == change_.after.stacks[at]) continue;
      leave(formatted("{}: no flag reaches this stack.", change_.after.stacks[at].name));
    }
  }

  const Change& change_;
  const GgufArchitecture* row_;
  std::vector<std::string> flags_;
  std::vector<std::string> unsaid_;
  bool uses_placeholder_ = false;
};

}  // namespace

OverridePatch llama_cpp_patch(const Change& change) { return Flags(change).made(); }

}  // namespace posenc::plan
