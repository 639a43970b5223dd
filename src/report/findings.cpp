// What a reader would ask of a model first, answered in sentences.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "base/number_ranges.h"
#include "posenc/scores.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

std::string count(std::int64_t n, std::string_view one, std::string_view many = {}) {
  return formatted("{} {}{}", n, n == 1 || many.empty() ? one : many, n != 1 && many.empty() ? "s" : "");
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

// "layers 5, 11, 17, 23, 29 (5 of 34: kind B)", or "all 32 layers".
std::string layers_of(const std::vector<const Kind*>& kinds, const Stack& stack) {
  LayerRun run;
  for (const Kind* kind : kinds) {
    run.layers.insert(run.layers.end(), kind->run.layers.begin(), kind->run.layers.end());
    run.blocks.insert(run.blocks.end(), kind->run.blocks.begin(), kind->run.blocks.end());
  }
  if (stack.layers.size() == 1) return "the one layer";
  if (run.layers.size() == stack.layers.size()) return formatted("all {} layers", run.layers.size());
  std::ranges::sort(run.layers);
  std::ranges::sort(run.blocks);
  const std::string_view noun = run.blocks.size() == 1 ? "layer" : "layers";
  std::string named = named_layers(run);
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

class Sentences {
 public:
  Sentences(const Plan& plan, const Lengths& lengths) : plan_(plan), lengths_(lengths) {}

  std::vector<Finding> take() {
    for (const Stack& stack : plan_.stacks) {
      const std::vector<Kind> kinds = kinds_of(stack);
      who_ = is_told_apart(stack) ? stack.name + ": " : "";
      if (!stack.known) unknown(stack);
      layers(stack, kinds);
      added(stack, kinds);
      scaling(stack, kinds);
      if (!without_rotation(stack, kinds)) windows(stack, kinds);
      query_scales(stack, kinds);
      for (const auto& [rope, of] : by_rotation(kinds)) {
        for (Finding& finding : rotation_findings(*rope, *widest(of), plan_, lengths_, of_kinds(of, stack))) {
          add(finding.about, std::move(finding.text));
        }
      }
    }
    who_.clear();
    memory();
    std::ranges::stable_sort(out_, {}, [](const Finding& finding) { return place_of(finding.about); });
    return std::move(out_);
  }

 private:
  using Kinds = std::vector<const Kind*>;

  // Beside towers of pictures and sounds the decoder is the model; beside an encoder it is one of two.
  bool is_told_apart(const Stack& stack) const {
    if (plan_.stacks.size() < 2) return false;
    return stack.name != "decoder" || std::ranges::find(plan_.stacks, "encoder", &Stack::name) != plan_.stacks.end();
  }

  // The answer first, then what stands together.
  static std::ptrdiff_t place_of(std::string_view about) {
    static constexpr std::string_view kOrder[] = {"unknown",     "verdict",     "layers",      "scaling",
                                                  "positions",   "window",      "switch",      "length",
                                                  "near tokens", "short texts", "temperature", "tables"};
    return std::ranges::find(kOrder, about) - std::begin(kOrder);
  }

  void add(std::string_view about, std::string text) { out_.push_back({about, who_ + capital(std::move(text))}); }

  void unknown(const Stack& stack) {
    std::string why = stack.unknown.empty() ? "see the warnings" : joined(stack.unknown, ", ");
    if (why.ends_with('.')) why.pop_back();
    add("unknown", formatted("what this stack does could not be decided: {}. What stands below was read, and is not "
                             "what the model is known to do.",
                             why));
  }

  void layers(const Stack& stack, const std::vector<Kind>& kinds) {
    if (kinds.empty()) return;
    std::set<std::int64_t> blocks;
    for (const Kind& kind : kinds) blocks.insert(kind.run.blocks.begin(), kind.run.blocks.end());
    std::string text = count(std::ssize(stack.layers), "layer");
    if (blocks.size() != stack.layers.size()) text += " in " + count(std::ssize(blocks), "block");
    if (kinds.size() == 1) {
      add("layers", text + (stack.layers.size() == 1 ? "." : ", all alike."));
    } else {
      add("layers", formatted("{}, counted from 0, of {} kinds, A {} {}.", text, kinds.size(),
                              kinds.size() == 2 ? "and" : "to", kinds.back().name));
    }
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
    const Kinds bare = where(kinds, [](const LayerPlan& layer) { return layer.rotate.empty() && layer.score.empty(); });
    const Kinds all = where(kinds, [](const LayerPlan&) { return true; });
    const bool any_rotates = std::ranges::any_of(kinds, [](const Kind& kind) { return !kind.layer->rotate.empty(); });
    if (stack.known && !kinds.empty() && bare.size() == all.size() && !any_rotates && stack.input.empty()) {
      const bool ordered =
          std::ranges::any_of(all, [](const Kind* kind) { return kind->layer->mask.kind != MaskKind::bidirectional; });
      add("positions", formatted("nothing encodes positions (NoPE): {}.",
                                 all.size() < kinds.size()
                                     ? "the order of tokens comes from layers that keep something of those before"
                                 : ordered ? "the order of tokens comes from the mask alone"
                                           : "the order of tokens is not told"));
      return;
    }
    const Kinds cross = where(kinds, [](const LayerPlan& layer) {
      return layer.rotate.empty() && layer.score.empty() && layer.kind == LayerKind::cross_attention;
    });
    if (!cross.empty()) {
      add("positions",
          formatted("{} attend to what an encoder gives, and add no position of their own.", layers_of(cross, stack)));
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

  // Of kinds that share a rotation the layer that looks furthest: what it never meets, no other does.
  const LayerPlan* widest(const Kinds& of) const {
    return (*std::ranges::max_element(of, {}, [&](const Kind* kind) { return span_of(*kind->layer, lengths_.target); }))
        ->layer;
  }

  void scaling(const Stack& stack, const std::vector<Kind>& kinds) {
    const auto rotations = by_rotation(kinds);
    const bool any = std::ranges::any_of(rotations, [](const auto& one) { return is_stretched(*one.first); });
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
      std::string& to = is_stretched(*rope) ? scaled : not_scaled;
      if (!to.empty()) to += "; ";
      to += layers_of(of, stack);
      if (is_stretched(*rope)) to += formatted(", by {}", short_rule(*rope));
      to += formatted(", base {}", rope->base);
    }
    add("scaling",
        formatted("scaled: {}.{}", scaled, not_scaled.empty() ? "" : formatted(" Not scaled: {}.", not_scaled)));
  }

  static std::string short_rule(const Rope& rope) {
    std::string out(rule_name(rope));
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
    const auto see_so = [](const Kinds& all, const std::string& words) {
      return std::ranges::all_of(all, [&](const Kind* kind) { return seen(*kind->layer) == words; });
    };
    std::string text = layers_of(bare, stack) + " do not rotate (NoPE: no position encoding)";
    if (!see_so(bare, these) || !see_so(turned, others)) {
      add("positions", text + "." + said_by(stack, *bare.front()));
      return false;
    }
    text += formatted(", and {}{}.", these, others == these ? "" : "; those that rotate " + others);
    if (is_bounded(*turned.front()->layer) && !is_bounded(*bare.front()->layer)) {
      text +=
          " Why: those that rotate meet no distance beyond that in training either, however long the texts; the layers "
          "that look back further have no angles to meet.";
    }
    add("positions", text + said_by(stack, *bare.front()));
    return true;
  }

  // The key or the default that says that layers of a kind do not rotate.
  std::string said_by(const Stack& stack, const Kind& kind) const {
    const std::string prefix = formatted("/stacks/{}/layers/", &stack - plan_.stacks.data());
    for (const ValueSource& source : plan_.sources) {
      if (!source.where.starts_with(prefix) || !source.where.ends_with("/rotate")) continue;
      const std::string_view layers = std::string_view(source.where).substr(prefix.size());
      if (has_number(layers.substr(0, layers.find('/')), kind.run.layers.front())) {
        return formatted(" Which layers these are: {}.", source.from);
      }
    }
    return "";
  }

  static bool is_bounded(const LayerPlan& layer) {
    return layer.mask.window || layer.mask.chunk || layer.mask.kind == MaskKind::sparse;
  }

  // What each kind sees, where one of them does not see all.
  void windows(const Stack& stack, const std::vector<Kind>& kinds) {
    if (where(kinds, is_bounded).empty()) return;
    std::vector<std::pair<std::string, Kinds>> by_words;
    for (const bool bounded : {true, false}) {
      for (const Kind* kind : where(kinds, [&](const LayerPlan& layer) { return is_bounded(layer) == bounded; })) {
        std::string words = seen(*kind->layer);
        const auto same = std::ranges::find(by_words, words, &std::pair<std::string, Kinds>::first);
        (same == by_words.end() ? by_words.emplace_back(std::move(words), Kinds{}) : *same).second.push_back(kind);
      }
    }
    for (const auto& [words, of] : by_words) {
      const bool is_one = of.size() == 1 && of[0]->run.layers.size() == 1;
      add("window", formatted("{} see{}{}.", layers_of(of, stack), is_one ? "s" : "", words.substr(3)));
    }
  }

  void query_scales(const Stack& stack, const std::vector<Kind>& kinds) {
    const Kinds scaled = where(kinds, [](const LayerPlan& layer) { return layer.query_scale.index() != 0; });
    if (scaled.empty()) return;
    const double last = query_scale(scaled.front()->layer->query_scale, lengths_.target - 1);
    add("positions",
        last == 1.0
            ? formatted("queries{} have a scale that grows with their position; up to position {} it is 1.",
                        of_kinds(scaled, stack), lengths_.target - 1)
            : formatted("queries{} are multiplied by a number that depends on their position: {:.4g} at "
                        "position {}. Why: over more keys a softmax spreads thinner, and larger scores sharpen it "
                        "again (arXiv 2501.19399).",
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

  const Plan& plan_;
  const Lengths& lengths_;
  std::string who_;
  std::vector<Finding> out_;
};

}  // namespace

std::string seen(const LayerPlan& layer) {
  const Mask& mask = layer.mask;
  if (layer.kind == LayerKind::cross_attention) return "see what an encoder gives";
  if (mask.kind == MaskKind::sparse && !mask.detail.empty()) return "see what the mask allows (" + mask.detail + ")";
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
