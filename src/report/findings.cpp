// What a reader would ask of a model first, answered in sentences.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/scores.h"
#include "posenc/wavelength.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

// Of lists that sentences name.
constexpr std::size_t kMostNamed = 4;

std::string count(std::int64_t n, std::string_view one, std::string_view many = {}) {
  return formatted("{} {}{}", n, n == 1 || many.empty() ? one : many, n != 1 && many.empty() ? "s" : "");
}

std::string_view rule_of(const Rope& rope) {
  static constexpr std::string_view kNames[] = {"",     "linear",   "ntk",    "dynamic",      "qwen_ntk",
                                                "yarn", "longrope", "llama3", "proportional", "factors"};
  static_assert(std::size(kNames) == std::variant_size_v<Scaling>);
  return kNames[rope.scaling.index()];
}

struct FactorOf {
  template <typename Rule>
  std::optional<double> operator()(const Rule& rule) const {
    if constexpr (requires { rule.factor; }) {
      return rule.factor;
    } else if constexpr (requires { rule.alpha; }) {
      return rule.alpha;
    } else {
      return {};
    }
  }
};

// What score terms and input schemes are called in the field, in the order of their variants.
std::string_view field_name(const ScoreTerm& term) {
  static constexpr std::string_view kNames[] = {"ALiBi (a slope of each head times the distance)",
                                                "T5's bias (a learned number for each head and bucket of the distance)",
                                                "a learned number for each head and clipped distance",
                                                "a learned number for each head and place in a window (Swin, BEiT)",
                                                "KERPLE (a learned kernel of the distance)",
                                                "FIRE (a learned function of the distance over the query's place)",
                                                "Sandwich (what two sinusoids leave of the distance)",
                                                "a learned perceptron of the distance",
                                                "Shaw's vectors by clipped distance, against the query",
                                                "Transformer-XL's vectors by distance, against the query",
                                                "XLNet's vectors by distance and segment, against the query",
                                                "DeBERTa's vectors by bucket of the distance, against content",
                                                "vectors by rows and columns (MViT, SAM), against the query",
                                                "CoPE (positions counted by gates that content opens)",
                                                "forget gates (FoX), summed between key and query",
                                                "logits by distance that the query's token gives"};
  static_assert(std::size(kNames) == std::variant_size_v<ScoreTerm>);
  return kNames[term.index()];
}
std::string_view field_name(const InputScheme& input) {
  static constexpr std::string_view kNames[] = {"a learned row for each position",
                                                "a row of sinusoids for each position",
                                                "a learned row for each axis",
                                                "a learned row for each tile of an image",
                                                "a convolution of the neighbours (wav2vec 2.0)",
                                                "the position itself, in every channel",
                                                "the position in binary",
                                                "sines of the coordinates",
                                                "random Fourier features of the coordinates",
                                                "a learned perceptron of the coordinates"};
  static_assert(std::size(kNames) == std::variant_size_v<InputScheme>);
  return kNames[input.index()];
}

bool attends(const LayerPlan& layer) {
  return layer.kind == LayerKind::attention || layer.kind == LayerKind::cross_attention;
}

// "kind B", "kinds A, C".
std::string kind_names(const std::vector<const Kind*>& kinds) {
  std::string names;
  for (const Kind* kind : kinds) names += (names.empty() ? "" : ", ") + kind->name;
  return (kinds.size() == 1 ? "kind " : "kinds ") + names;
}

// "layers 5, 11, ..., 29 (every 6th; 5 of 34: kind B)", or "all 32 layers".
std::string layers_of(const std::vector<const Kind*>& kinds, const Stack& stack) {
  LayerRun run;
  for (const Kind* kind : kinds) {
    run.layers.insert(run.layers.end(), kind->run.layers.begin(), kind->run.layers.end());
    run.blocks.insert(run.blocks.end(), kind->run.blocks.begin(), kind->run.blocks.end());
  }
  if (run.layers.size() == stack.layers.size()) return formatted("all {}", count(std::ssize(run.layers), "layer"));
  std::ranges::sort(run.layers);
  std::ranges::sort(run.blocks);
  const std::string_view noun = run.blocks.size() == 1 ? "layer" : "layers";
  std::string named = selection(run);
  // "5, 11, ..., 29 (every 6th)": one parenthesis is enough.
  const bool has_note = named.ends_with(")");
  if (has_note) named.pop_back();
  return formatted("{} {}{}{} of {}: {})", noun, named, has_note ? "; " : " (", run.layers.size(), stack.layers.size(),
                   kind_names(kinds));
}

// After the sentence that says which layers these are; nothing where they are all.
std::string of_kinds(const std::vector<const Kind*>& kinds, const Stack& stack) {
  std::size_t layers = 0;
  for (const Kind* kind : kinds) layers += kind->run.layers.size();
  return layers == stack.layers.size() ? std::string() : " of " + kind_names(kinds);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

class Sentences {
 public:
  Sentences(const Plan& plan, const Lengths& lengths) : plan_(plan), lengths_(lengths) {}

  std::vector<Finding> take() {
    for (const Stack& stack : plan_.stacks) {
      const std::vector<Kind> kinds = kinds_of(stack);
      who_ = plan_.stacks.size() > 1 ? stack.name + ": " : "";
      if (!stack.known) unknown(stack);
      layers(stack, kinds);
      added(stack, kinds);
      scaling(stack, kinds);
      if (!without_rotation(stack, kinds)) windows(stack, kinds);
      query_scales(stack, kinds);
      for (const auto& [rope, of] : by_rotation(kinds)) {
        switches(*rope);
        reach(stack, *rope, of);
        tables(stack, *rope, of);
      }
    }
    who_.clear();
    memory();
    return std::move(out_);
  }

 private:
  using Kinds = std::vector<const Kind*>;

  void add(std::string_view about, std::string text) { out_.push_back({about, who_ + capital(std::move(text))}); }

  void unknown(const Stack& stack) {
    add("unknown", formatted("what this stack does could not be decided: {}. What stands below was read, and is not "
                             "what the model is known to do.",
                             stack.unknown.empty() ? "see the warnings" : joined(stack.unknown, ", ")));
  }

  void layers(const Stack& stack, const std::vector<Kind>& kinds) {
    if (kinds.empty()) return;
    add("layers", kinds.size() == 1 ? formatted("{}, all alike.", count(std::ssize(stack.layers), "layer"))
                                    : formatted("{} of {} kinds, A to {}.", count(std::ssize(stack.layers), "layer"),
                                                kinds.size(), kinds.back().name));
  }

  // What is added to embeddings and to scores.
  void added(const Stack& stack, const std::vector<Kind>& kinds) {
    for (const InputScheme& input : stack.input) {
      add("positions", formatted("tokens are given {} before the first layer.", field_name(input)));
    }
    std::map<std::string_view, Kinds> by_term;
    for (const Kind& kind : kinds) {
      for (const ScoreTerm& term : kind.layer->score) by_term[field_name(term)].push_back(&kind);
    }
    for (const auto& [words, of] : by_term) {
      add("positions", formatted("scores of {} have {}.", layers_of(of, stack), words));
    }
  }

  static Kinds where(const std::vector<Kind>& kinds, const std::function<bool(const LayerPlan&)>& holds) {
    Kinds out;
    for (const Kind& kind : kinds) {
      if (attends(*kind.layer) && holds(*kind.layer)) out.push_back(&kind);
    }
    return out;
  }

  // Kinds that have one and the same rotation, in the order of the first.
  static std::vector<std::pair<const Rope*, Kinds>> by_rotation(const std::vector<Kind>& kinds) {
    std::vector<std::pair<const Rope*, Kinds>> out;
    for (const Kind& kind : kinds) {
      const Rotate* const rotation = main_rotation(*kind.layer);
      if (rotation == nullptr) continue;
      const Rope& rope = posenc::rope(*rotation);
      const auto same = std::ranges::find_if(out, [&](const auto& one) { return *one.first == rope; });
      (same == out.end() ? out.emplace_back(&rope, Kinds{}) : *same).second.push_back(&kind);
    }
    return out;
  }

  void scaling(const Stack& stack, const std::vector<Kind>& kinds) {
    const auto rotations = by_rotation(kinds);
    const bool any = std::ranges::any_of(rotations, [](const auto& one) { return one.first->scaling.index() != 0; });
    if (rotations.empty()) return;
    if (!any) {
      std::string bases;
      for (const auto& [rope, of] : rotations) {
        bases += formatted("{}{} {} by base {}", bases.empty() ? "" : "; ", layers_of(of, stack),
                           of.size() == 1 && of[0]->run.layers.size() == 1 ? "rotates" : "rotate", rope->base);
      }
      add("scaling", bases + ". No scaling rule.");
      return;
    }
    std::string scaled;
    std::string not_scaled;
    for (const auto& [rope, of] : rotations) {
      std::string& to = rope->scaling.index() != 0 ? scaled : not_scaled;
      if (!to.empty()) to += "; ";
      to += layers_of(of, stack);
      if (rope->scaling.index() != 0) to += formatted(", by {}", short_rule(*rope));
      to += formatted(", base {}", rope->base);
    }
    add("scaling", formatted("scaled: {}. {}", scaled,
                             not_scaled.empty() ? "No others rotate." : "Not scaled: " + not_scaled + "."));
  }

  static std::string short_rule(const Rope& rope) {
    std::string out(rule_of(rope));
    if (const std::optional<double> factor = std::visit(FactorOf{}, rope.scaling)) out += formatted(" x{}", *factor);
    if (const auto before = length_before_scaling(rope, {})) out += formatted(" from {} tokens", *before);
    return out;
  }

  // Whether it says what each kind sees.
  bool without_rotation(const Stack& stack, const std::vector<Kind>& kinds) {
    const Kinds bare = where(kinds, [](const LayerPlan& layer) {
      return layer.rotate.empty() && layer.score.empty() && layer.kind == LayerKind::attention;
    });
    const Kinds turned = where(kinds, [](const LayerPlan& layer) { return !layer.rotate.empty(); });
    if (bare.empty() || turned.empty()) return false;
    const std::string others = seen(*turned.front()->layer);
    const std::string these = seen(*bare.front()->layer);
    const Mask& mask = turned.front()->layer->mask;
    const Mask& bare_mask = bare.front()->layer->mask;
    const bool joins = (mask.chunk || mask.window) && !bare_mask.chunk && !bare_mask.window;
    add("positions",
        formatted(
            "{} do not rotate (NoPE: no position encoding), and {}{}.{}", layers_of(bare, stack), these,
            others == these ? "" : "; those that rotate " + others,
            joins
                ? " Why: only the layers without rotation look back further than that; rotated, they would meet angles "
                  "that were never trained."
                : ""));
    const auto sees_so = [](const Kinds& all, const std::string& words) {
      return std::ranges::all_of(all, [&](const Kind* kind) { return seen(*kind->layer) == words; });
    };
    return sees_so(bare, these) && sees_so(turned, others);
  }

  void windows(const Stack& stack, const std::vector<Kind>& kinds) {
    const Kinds limited = where(kinds, [](const LayerPlan& layer) { return layer.mask.window || layer.mask.chunk; });
    const Kinds free = where(kinds, [](const LayerPlan& layer) { return !layer.mask.window && !layer.mask.chunk; });
    std::map<std::string, Kinds> by_words;
    for (const Kind* kind : limited) by_words[seen(*kind->layer)].push_back(kind);
    for (const auto& [words, of] : by_words) add("window", formatted("{} {}.", layers_of(of, stack), words));
    if (!limited.empty() && !free.empty()) {
      add("window", formatted("{} {}.", layers_of(free, stack), seen(*free.front()->layer)));
    }
  }

  // Rules that answer otherwise from some length on.
  void switches(const Rope& rope) {
    if (const auto* list = std::get_if<LongRopeScaling>(&rope.scaling)) {
      add("switch", formatted("the lists switch at {0} tokens: sequences of up to {0} take short_factor, longer ones "
                              "long_factor, for all of their tokens. Keys that were cached before the switch are "
                              "turned by short_factor and have to be made anew.",
                              list->original_max_position_embeddings));
    }
    if (const auto* dynamic = std::get_if<DynamicScaling>(&rope.scaling)) {
      add("switch", formatted("the base grows with the sequence from {} tokens on: keys that were cached when it was "
                              "shorter are turned by another base.",
                              dynamic->max_position_embeddings));
    }
    if (const auto* qwen = std::get_if<QwenNtkScaling>(&rope.scaling)) {
      add("switch", formatted("the base grows in steps from {} tokens on: keys that were cached before a step are "
                              "turned by another base.",
                              qwen->seq_length));
    }
  }

  void reach(const Stack& stack, const Rope& rope, const Kinds& of) {
    if (!is_rotated_by_time(rope)) return;
    const Reach reach = reach_of(rope, lengths_, *of.front()->layer);
    const std::int64_t pairs = rope.pairs();
    const std::string who = of_kinds(of, stack);
    if (!reach.before) {
      if (rope.scaling.index() != 0) {
        add("length",
            formatted("the file does not say for which length the rotation{} was trained before {} scaled it: "
                      "whether {} tokens reach beyond that cannot be told.",
                      who, rule_of(rope), lengths_.target));
      }
      return;
    }
    const std::string at = reach.span < lengths_.target
                               ? formatted("at {} tokens, of which a query sees {},", lengths_.target, reach.span)
                               : formatted("at {} tokens", lengths_.target);
    if (rope.scaling.index() == 0) {
      if (reach.span <= *reach.before) return;
      add("length",
          formatted("{} {} of {} pairs{} meet angles that they never had within the trained {} tokens, and no rule "
                    "scales them: expect the loss to rise steeply beyond {}.",
                    at, reach.unseen.size(), pairs, who, *reach.before, *reach.before));
      return;
    }
    const std::size_t plain = reach.unseen_if_plain.size();
    add("length", formatted("{} {} of {} pairs{} meet angles that they never had within {} tokens, the length before "
                            "scaling; without {} {}.",
                            at, reach.unseen.size(), pairs, who, *reach.before, rule_of(rope),
                            plain == 0 && reach.unseen.empty() ? "there would be none either"
                                                               : formatted("it would be {}", plain)));
    near(reach, who);
  }

  // Will it hurt? The file's own length says whether the model knows these angles.
  std::string trained_to(std::int64_t before) const {
    const std::string measure = formatted("measure its loss at {} and at {} tokens.", std::min(before, lengths_.target),
                                          std::max(before, lengths_.target));
    if (is_set()) {
      return "the rule is not the file's, it was set: the model has not been trained with these angles unless you "
             "did; " +
             measure;
    }
    if (lengths_.trained && *lengths_.trained >= lengths_.target) {
      return formatted(
          "the file gives {} tokens as its length, so the model should have been trained with these angles; "
          "to be sure, {}",
          *lengths_.trained, measure);
    }
    if (lengths_.trained && *lengths_.trained <= before) {
      return formatted(
          "the file's own length is {} tokens, so the model has hardly been trained with these angles: expect some "
          "loss at every length, short ones too, until it is trained for some hundred steps with them (YaRN's "
          "paper takes 400); {}",
          *lengths_.trained, measure);
    }
    return "whether the model was trained with these angles no file says: " + measure;
  }

  // What the rule costs near tokens.
  void near(const Reach& reach, const std::string& who) {
    std::int64_t kept = 0;
    double slowest = 1.0;
    for (std::size_t p = 0; p < reach.now.inv_freq.size(); ++p) {
      if (reach.plain.inv_freq[p] == 0.0) continue;
      const double ratio = reach.plain.inv_freq[p] / reach.now.inv_freq[p];
      if (std::abs(ratio - 1.0) < 1e-3) ++kept;
      slowest = std::max(slowest, ratio);
    }
    const double fastest = reach.now.inv_freq.empty() || reach.now.inv_freq[0] == 0.0
                               ? 1.0
                               : reach.plain.inv_freq[0] / reach.now.inv_freq[0];
    const auto pairs = std::ssize(reach.now.inv_freq);
    std::string text =
        kept == 0
            ? formatted("near tokens: no pair{} turns as before scaling, but up to {:.3g} times slower", who, slowest)
            : formatted(
                  "near tokens: {} of {} pairs{} turn as before scaling, the other {} up to {:.3g} "
                  "times slower",
                  kept, pairs, who, pairs - kept, slowest);
    text += std::abs(fastest - 1.0) < 1e-3
                ? "; the fastest pair, which tells neighbours apart, is as it was."
                : formatted("; the fastest pair, which tells neighbours apart, {:.3g} times.", fastest);
    if (std::abs(reach.now.attention_factor - 1.0) > 1e-9) {
      const double f = reach.now.attention_factor;
      text += formatted(" Scores of what rotates are multiplied by {:.4g} (attention factor {:.4g}).", f * f, f);
    }
    add("length", text);
    add("length", trained_to(*reach.before));
  }

  void tables(const Stack& stack, const Rope& rope, const Kinds& of) {
    if (!is_rotated_by_time(rope)) return;
    try {
      (void)frequencies(rope, lengths_.target, Arithmetic::float32);
      constexpr std::int64_t kJudged = 16;
      const std::int64_t judged = std::min(kJudged, lengths_.target);
      const auto off = [&](Angles angles) {
        return angle_error(rope, angles, lengths_.target, judged, lengths_.target).largest;
      };
      add("tables",
          formatted(
              "cos and sin{}, at most 1, are off by up to {:.2g} at position {} where angles are made in float32, and "
              "by {:.2g} where tables are kept in bfloat16, whose own rounding is 0.002.",
              of_kinds(of, stack), off(Angles::float32), lengths_.target, off(Angles::bfloat16)));
    } catch (const Error&) {
      add("tables", formatted("float32 cannot hold the frequencies{}.", of_kinds(of, stack)));
    }
  }

  void query_scales(const Stack& stack, const std::vector<Kind>& kinds) {
    const Kinds scaled = where(kinds, [](const LayerPlan& layer) { return layer.query_scale.index() != 0; });
    if (scaled.empty()) return;
    const double last = query_scale(scaled.front()->layer->query_scale, lengths_.target - 1);
    add("positions",
        formatted("queries{} are multiplied by a number that depends on their position: {:.4g} at position {}.",
                  of_kinds(scaled, stack), last, lengths_.target - 1));
  }

  void memory() {
    const std::vector<CacheSize> sizes = cache_sizes(plan_, lengths_);
    if (sizes.empty() || sizes.back().bytes <= 0.0) return;
    constexpr double kMebi = 1048576.0;
    const double mebi = sizes.back().bytes / kMebi;
    add("memory",
        formatted("the KV cache of {} tokens takes {:.4g} {} in 16 bits a number.", sizes.back().tokens,
                  mebi < 1024.0 ? mebi : mebi / 1024.0, mebi < 1024.0 ? "MiB" : "GiB") +
            (is_latent() ? " That is with keys and values of each head; latent attention can keep less." : ""));
  }

  // Whether kv_heads are those that a latent is expanded to: its source says so.
  bool is_latent() const {
    return std::ranges::any_of(plan_.sources, [](const ValueSource& source) {
      return source.where.ends_with("/kv_heads") && source.from.find("latent attention") != std::string::npos;
    });
  }

  // Whether words of --set made a rule of scaling, not a file.
  bool is_set() const {
    return std::ranges::any_of(plan_.sources, [](const ValueSource& source) {
      return source.where.find("/scaling/") != std::string::npos && source.from.starts_with("set:");
    });
  }

  const Plan& plan_;
  const Lengths& lengths_;
  std::string who_;
  std::vector<Finding> out_;
};

}  // namespace

std::string seen(const LayerPlan& layer) {
  const Mask& mask = layer.mask;
  if (layer.kind == LayerKind::cross_attention) return "see what an encoder gives";
  if (mask.chunk) return formatted("see the tokens before them in their own chunk of {}", *mask.chunk);
  if (mask.window && mask.kind == MaskKind::causal) {
    return formatted("see the last {} tokens alone (themselves and {} before)", mask.window->past + 1,
                     mask.window->past);
  }
  if (mask.window) return formatted("see {} tokens back and {} ahead", mask.window->past, mask.window->future);
  if (mask.kind == MaskKind::bidirectional) return "see all tokens";
  if (mask.kind == MaskKind::causal) return "see all tokens before them";
  return formatted("see what a mask allows that is {}", name(mask.kind));
}

const Rotate* main_rotation(const LayerPlan& layer) {
  const auto found =
      std::ranges::find_if(layer.rotate, [](const Rotate& rotate) { return rotate.role == RotateRole::main; });
  return found == layer.rotate.end() ? nullptr : &*found;
}

std::vector<Finding> findings(const Plan& plan, const Lengths& lengths) { return Sentences(plan, lengths).take(); }

}  // namespace posenc::report
