// Each way is set in the plan, as --set would, and measured on the frequencies that follow.
#include "posenc/extend.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "extend/given_rows.h"
#include "extend/ways.h"
#include "posenc/error.h"
#include "report/parts.h"
#include "report/reach.h"

namespace posenc::extend {
namespace {

constexpr const char* kWhere = "study_extension";
constexpr std::int64_t kLongest = std::int64_t{1} << 53;
constexpr double kSame = 1e-3;

// Where the rotation stands that is stretched.
struct Place {
  std::size_t stack = 0;
  std::size_t layer = 0;
  std::size_t rotation = 0;
};

// Of layers that rotate by position the first that no window or chunk bounds, else the first.
std::optional<Place> place_in(const Plan& plan) {
  std::optional<Place> bounded;
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) {
    const std::vector<LayerPlan>& layers = plan.stacks[s].layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t r = 0; r < layers[l].rotate.size(); ++r) {
        const Rotate& rotate = layers[l].rotate[r];
        if (rotate.role != RotateRole::main || !report::is_rotated_by_time(rope(rotate))) continue;
        if (!layers[l].mask.window && !layers[l].mask.chunk) return Place{s, l, r};
        if (!bounded) bounded = Place{s, l, r};
      }
    }
    if (bounded) return bounded;
  }
  return bounded;
}

const LayerPlan& layer_at(const Plan& plan, const Place& place) { return plan.stacks[place.stack].layers[place.layer]; }
const Rope& rope_at(const Plan& plan, const Place& place) { return rope(layer_at(plan, place).rotate[place.rotation]); }

class Study {
 public:
  Study(const Plan& plan, const ExtendOptions& options) : plan_(plan), also_(options.also) {
    const std::optional<Place> place = place_in(plan);
    if (!place) throw Error(kWhere, {"plan", "have a layer that rotates by position", "of other encodings"});
    place_ = *place;
    if (options.to < 1 || options.to > kLongest) {
      throw Error(kWhere, {"to", "be from 1 to 2^53 tokens", formatted("{}", options.to)});
    }
    std::optional<std::int64_t> from = options.from;
    if (!from) from = report::length_before_scaling(rope_at(plan, place_), plan.trained_length);
    if (!from) {
      throw Error(kWhere, {"from", "be given, since the file does not say at which length the rotation was trained",
                           "omitted"});
    }
    if (*from < 1 || *from > kLongest) {
      throw Error(kWhere, {"from", "be from 1 to 2^53 tokens", formatted("{}", *from)});
    }
    stretch_ = {*from, options.to};
    if (options.q.empty() != options.k.empty()) {
      throw Error(kWhere, {options.q.empty() ? "q" : "k", "be given with the other", "omitted"});
    }
    if (!options.q.empty()) given_.emplace(kWhere, layer_at(plan, place_), options.q, options.k);
    plain_ = rope_at(plan, place_);
    plain_.scaling = std::monostate{};
    trained_ = frequencies(plain_).inv_freq;
    if (given_) {
      LayerPlan layer = layer_at(plan, place_);
      layer.regions = {};
      of_given_before_ = given_->entropy(layer, plain_, frequencies(plain_), *from);
    }
  }

  ExtensionStudy take(std::string_view config_json) {
    const Rope& rope = rope_at(plan_, place_);
    ExtensionStudy out;
    out.model = plan_.source.name.empty() ? plan_.model_type : plan_.source.name;
    out.stack = plan_.stacks[place_.stack].name;
    out.layer = layer_at(plan_, place_).index;
    out.from = stretch_.from;
    out.to = stretch_.to;
    out.pairs = rope.pairs();
    out.base = rope.base;
    out.entropy_of_given_before = of_given_before_;
    out.entropy_before = entropy(layer_at(plan_, place_), 1.0, stretch_.from);
    report::Lengths lengths;
    lengths.target = stretch_.to;
    if (const auto sizes = report::cache_sizes(plan_, lengths); !sizes.empty()) out.cache_bytes = sizes.back().bytes;
    out.block = explained(rope, plan_.trained_length);
    out.ways = measured();
    recommend(out);
    if (const auto way = std::ranges::find(out.ways, out.recommended, &Extension::name);
        way != out.ways.end() && !way->settings.empty()) {
      out.patches = override_patches(plan_, way->settings, config_json);
    }
    return out;
  }

 private:
  std::vector<Extension> measured() {
    std::vector<Extension> out;
    out.push_back({.name = "as it is", .about = "What the file says.", .settings = {}, .refused = {}});
    measure(out.back(), plan_);
    if (stretch_.to <= stretch_.from) return out;
    std::vector<Extension> ways = ways_of(rope_at(plan_, place_), stretch_);
    for (const Extension& way : also_) {
      ways.push_back({.name = way.name, .about = way.about, .settings = way.settings, .refused = {}});
    }
    for (Extension& way : ways) {
      const bool has_rule = rope_at(plan_, place_).scaling.index() != 0;
      if ((way.name == "self_extend" || way.name == "dual_chunk") && has_rule)
        way.settings.insert(way.settings.begin(), "rope_scaling=none");
      try {
        Plan plan = plan_;
        plan.length = stretch_.to;
        measure(way, override_plan(plan, way.settings));
      } catch (const Error& error) {
        way.refused = error.what();
        way.settings.clear();
      }
      out.push_back(std::move(way));
    }
    return out;
  }

  void measure(Extension& way, const Plan& plan) {
    const LayerPlan& layer = layer_at(plan, place_);
    const Rope& rope = rope_at(plan, place_);
    const Frequencies now = check(rope, stretch_.to) ? frequencies(rope) : frequencies(rope, stretch_.to);
    const auto span = static_cast<double>(farthest(layer));
    way.unseen_pairs = report::pairs_beyond(now.inv_freq, span, trained_, static_cast<double>(stretch_.from));
    way.unseen = std::ssize(way.unseen_pairs);
    way.attention_factor = now.attention_factor;
    for (std::size_t p = 0; p < trained_.size(); ++p) {
      if (trained_[p] == 0.0 || now.inv_freq[p] == 0.0) continue;
      const double slower = trained_[p] / now.inv_freq[p];
      if (std::abs(slower - 1.0) < kSame) ++way.kept;
      if (p == 0) way.fastest_slower = slower;
      way.slowest_slower = std::max(way.slowest_slower, slower);
    }
    way.entropy = entropy(layer, now.attention_factor, stretch_.to);
    if (given_) way.entropy_of_given = given_->entropy(layer, rope, now, stretch_.to);
  }

  // The largest distance that the rotation is asked for, which regions bound too.
  std::int64_t farthest(const LayerPlan& layer) const {
    const std::int64_t span = report::span_of(layer, stretch_.to);
    if (const auto* self = std::get_if<SelfExtend>(&layer.regions)) {
      return std::min(span, self->window + (span - self->window + self->group - 1) / self->group + 1);
    }
    if (const auto* re = std::get_if<ReRope>(&layer.regions); re != nullptr && !re->step) {
      return std::min(span, re->window);
    }
    if (const auto* dual = std::get_if<DualChunk>(&layer.regions)) return std::min(span, dual->trained);
    return span;
  }

  // Channels that rotate have a factor in queries and in keys.
  double entropy(const LayerPlan& layer, double factor, std::int64_t keys) const {
    const auto rotated = static_cast<double>(plain_.dim);
    const double rest = static_cast<double>(layer.head_dim) - rotated;
    const double variance = layer.softmax_scale * layer.softmax_scale * (rotated * std::pow(factor, 4) + rest);
    return std::log(static_cast<double>(keys)) - variance / 2.0;
  }

  // A model with LongRoPE's lists has them stretched where they must be: its weights know the others, and its class
  // reads no other rule. Else YaRN where it can be had; else what leaves the fewest pairs beyond.
  const Extension& best_of(const std::vector<Extension>& ways) const {
    const bool has_lists = std::holds_alternative<LongRopeScaling>(rope_at(plan_, place_).scaling);
    const auto usual = std::ranges::find(ways, has_lists ? "by_pair" : "yarn", &Extension::name);
    if (usual != ways.end() && usual->refused.empty()) return *usual;
    return *std::ranges::min_element(ways, {},
                                     [](const Extension& way) { return std::pair(!way.refused.empty(), way.unseen); });
  }

  void recommend(ExtensionStudy& out) const {
    const Extension& as_it_is = out.ways.front();
    const Extension* best = &as_it_is;
    if (stretch_.to <= stretch_.from) {
      out.reasons.push_back(formatted("{} tokens are within the {} that the model was trained for.", out.to, out.from));
    } else if (as_it_is.unseen == 0) {
      out.reasons.push_back(formatted("As the file says no pair leaves its trained range at {} tokens.", out.to));
    } else {
      best = &best_of(out.ways);
      give_reasons(out, *best);
    }
    out.recommended = best->name;
    if (stretch_.to > stretch_.from) {
      out.open_questions = {
          "Whether the loss holds without training: papers train some hundred steps at the new length (YaRN 400, "
          "linear 1000), and report a slight loss at the old one.",
          "Whether the model uses what is far: measure recall (a passkey) at several depths, not the loss alone.",
          given_ ? "Whether queries and keys at the new length are like the given ones."
                 : "Real queries and keys are not of one variance: the entropies are those of random ones."};
    }
  }

  void give_reasons(ExtensionStudy& out, const Extension& best) const {
    out.reasons.push_back(
        formatted("As the file says {} of {} pairs meet angles that they never had within {} tokens; by {} it is {}.",
                  out.ways.front().unseen, out.pairs, out.from, title(best.name), best.unseen));
    out.reasons.push_back(formatted("{} of {} pairs turn as before, the fastest of them among these: {}.", best.kept,
                                    out.pairs, std::abs(best.fastest_slower - 1.0) < kSame ? "yes" : "no"));
    out.reasons.push_back(
        formatted("Over {} keys a softmax spreads {:.3g} nats wide where over {} it was {:.3g}; "
                  "the attention factor {:.4g} takes that to {:.3g}.",
                  out.to, entropy(layer_at(plan_, place_), 1.0, out.to), out.from, out.entropy_before,
                  best.attention_factor, best.entropy));
    const std::string_view own = report::rule_name(rope_at(plan_, place_));
    const bool is_own = !own.empty() && !report::is_rule_set(plan_);
    if (best.name == "by_pair" && is_own) {
      out.reasons.push_back(
          formatted("It is the file's own rule, {}, whose factors the weights may have been trained "
                    "with; those that are too small grow.",
                    own));
    } else if (is_own) {
      out.reasons.push_back(
          formatted("It replaces the file's rule, {}, which the weights may have been trained with.", own));
    }
    std::vector<std::pair<std::string, std::string>> others;  // why, and whose
    for (const Extension& way : out.ways) {
      const std::string why = set_aside(way, best);
      if (why.empty()) continue;
      const auto same = std::ranges::find(others, why, &std::pair<std::string, std::string>::first);
      if (same == others.end()) {
        others.emplace_back(why, title(way.name));
      } else {
        same->second += formatted(", {}", title(way.name));
      }
    }
    for (const auto& [why, whose] : others) out.reasons.push_back(formatted("Not {}: {}.", whose, why));
  }

  // Why not that one, in words; nothing where no number says so.
  std::string set_aside(const Extension& way, const Extension& best) const {
    if (way.settings.empty() || !way.refused.empty() || way.name == best.name) return {};
    if (std::ranges::find(also_, way.name, &Extension::name) != also_.end()) return {};
    if (way.unseen > best.unseen) return formatted("it leaves {} pairs beyond", way.unseen);
    if (way.fastest_slower > best.fastest_slower + kSame) {
      return formatted("it slows the fastest pair, which tells neighbours apart, {:.3g} times", way.fastest_slower);
    }
    if (way.name == "dynamic") return "its base changes as a text grows, after keys were cached";
    if (way.name == "self_extend" || way.name == "dual_chunk") return "an engine must have it";
    if (way.entropy > best.entropy) return "the softmax stays wider";
    return {};
  }

  const Plan& plan_;
  const std::vector<Extension>& also_;
  Place place_;
  Stretch stretch_;
  Rope plain_{.pairing = Pairing::half};
  std::vector<double> trained_;
  std::optional<GivenRows> given_;
  std::optional<double> of_given_before_;
};

}  // namespace
}  // namespace posenc::extend

namespace posenc::inline v0_2 {

ExtensionStudy study_extension(const Plan& plan, const ExtendOptions& options, std::string_view config_json) {
  return extend::Study(plan, options).take(config_json);
}

}  // namespace posenc::inline v0_2
