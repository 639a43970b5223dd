// reuse_verdict(): first the layer's own keys, by its traits; then the layers below, by theirs. Each finding is a
// reason with what it makes of the verdict; the worst is the verdict.
#include "reuse/verdict.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "posenc/cache/reuse.h"
#include "posenc/error.h"
#include "reuse/layer_traits.h"
#include "reuse/reader.h"
#include "reuse/scheme_traits.h"

namespace posenc::inline v0_2 {
namespace {

using reuse::Keeps;
using reuse::LayerTraits;
using reuse::Relative;

constexpr const char* kWhere = "reuse_verdict";
constexpr std::int64_t kFarthest = std::int64_t{1} << 53U;  // tokens; farther is as good as everywhere

// What an operation does to tokens.
struct Effects {
  bool moves = true;        // positions
  bool loses = true;        // tokens that the others have seen, or have not
  bool other_rule = false;  // angles at one and the same position
};

Effects effects_of(CacheOperation operation) {
  switch (operation) {
    case CacheOperation::shift: return {.moves = true, .loses = false};
    case CacheOperation::front_trim:
    case CacheOperation::splice:
    case CacheOperation::reorder:
    case CacheOperation::merge:
    case CacheOperation::evict:
    case CacheOperation::sinks: return {.moves = true, .loses = true};
    case CacheOperation::switch_rule:
    case CacheOperation::share: return {.moves = false, .loses = false, .other_rule = true};
  }
  throw Error(kWhere, {"operation", formatted("be an enumerator, 0 to {}", kCacheOperations - 1),
                       formatted("{}", static_cast<int>(operation))});
}

// A layer of a stack, and what is asked of it.
struct Asked {
  const Plan& plan;
  std::size_t stack = 0;
  std::size_t layer = 0;
  CacheOperation operation = CacheOperation::shift;
  Effects effects;
  StoredKeys keys = StoredKeys::unrotated;

  const Stack& of_stack() const { return plan.stacks[stack]; }
  const LayerPlan& of_layer() const { return of_stack().layers[layer]; }
  // Else what enters the first layer is made of other tokens too, of how many the plan does not say; keys of cross
  // attention are then of the same text, and not an encoder's.
  bool tokens_alone() const { return of_stack().fed_by == FedBy::tokens; }
};

class Findings {
 public:
  void add(ReuseFact fact, Reuse effect, std::string text) {
    out_.reuse = std::max(out_.reuse, effect);
    out_.reasons.push_back({fact, effect, std::move(text)});
  }
  void everywhere() { out_.reach.reset(); }
  void within(std::optional<std::int64_t> reach) {
    if (!reach || !out_.reach) return everywhere();
    out_.reach = std::max(*out_.reach, *reach);
  }
  void moves_by(const Relative& relative) {
    const Relative all = reuse::both({.period = out_.period, .exact_below = out_.exact_below}, relative);
    out_.period = all.period;
    out_.exact_below = all.exact_below;
  }
  ReuseVerdict take() {
    std::ranges::stable_sort(out_.reasons, std::ranges::greater{}, &ReuseReason::effect);
    return std::move(out_);
  }

 private:
  ReuseVerdict out_;
};

// ---- the layer's own keys ----

bool input_holds_places(const Stack& stack) {
  return std::ranges::any_of(stack.input, [](const InputScheme& input) {
    return std::visit([](const auto& s) { return reuse::input_traits(s).holds_place; }, input);
  });
}

// Whether they hold a place that no rotation takes out again.
bool add_fixed_places(const Asked& asked, const LayerTraits& own, Findings& to) {
  bool is_fixed = false;
  const auto fix = [&](ReuseFact fact, std::string text) {
    to.add(fact, Reuse::no, std::move(text));
    is_fixed = true;
  };
  if (input_holds_places(asked.of_stack())) {
    fix(ReuseFact::input_positions, "positions are added to the embeddings: every key and value holds one");
  }
  for (std::size_t l = 0; l <= asked.layer; ++l) {
    if (!reuse::traits_of(asked.of_stack().layers[l]).adds_place) continue;
    fix(ReuseFact::added_positions, "positions are added to the hidden states that keys are projected from");
    break;
  }
  if (own.adds_to_keys) fix(ReuseFact::added_positions, "positions are added to what keys are projected from");
  if (own.rotated_before_projection) {
    fix(ReuseFact::rotated_before_project, "hidden states are rotated before the projection to keys");
  }
  return is_fixed;
}

// Whether keys can lie in the cache so at all, whatever is done to it.
bool add_storage(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (!own.rotates) return true;
  const bool is_rotated = asked.keys == StoredKeys::rotated;
  if (is_rotated && !own.one_rotation) {
    to.add(ReuseFact::regions, Reuse::no,
           "a key is rotated in one way for near queries and in another for far ones: store keys unrotated");
  } else if (is_rotated && own.terms_read_keys) {
    to.add(ReuseFact::content_terms, Reuse::no,
           "a term of the score reads keys as they are before the rotation: store keys unrotated");
  } else if (!is_rotated && own.norm_commutes == false) {
    to.add(ReuseFact::norm_after, Reuse::no,
           "a norm that does not commute follows the rotation, so that keys cannot be rotated as they are read");
  } else {
    return true;
  }
  to.everywhere();
  return false;
}

// What new angles take.
void add_rotation(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (!own.rotates) return to.add(ReuseFact::no_position, Reuse::exact, "neither keys nor values hold a position");
  if (asked.keys == StoredKeys::rotated) {
    if (own.norm_commutes != false) {
      return to.add(
          ReuseFact::rounded_again, Reuse::approximate,
          "keys are stored rotated: each operation rotates them, and rounds them to the cache's type, once more");
    }
    to.everywhere();
    return to.add(ReuseFact::norm_after, Reuse::no,
                  "a norm that does not commute follows the rotation: no rotation undoes the first one");
  }
  if (own.norm_commutes == true) {
    to.add(ReuseFact::norm_commutes, Reuse::exact,
           "the norm after the rotation has no weights: normalise before, and without the attention factor");
  }
  to.add(ReuseFact::rotated_on_load, Reuse::exact, "keys are stored before RoPE, and rotated as they are read");
}

// Of an operation that moves tokens.
void add_moved(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (!add_fixed_places(asked, own, to)) return add_rotation(asked, own, to);
  to.everywhere();
  to.moves_by({.period = 0});
}

void add_groups(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (own.group == 1 || !asked.effects.moves) return;
  to.moves_by({.period = own.group});
  // Of some models (DeepSeek V4) a key is made of the group before too.
  to.within(own.group <= kFarthest / 2 ? std::optional(2 * own.group) : std::nullopt);
  to.add(ReuseFact::whole_groups, Reuse::approximate,
         formatted("a key is made of {} tokens: exact where whole groups move by whole groups", own.group));
}

// A convolution of keys or values.
void add_made_of(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (own.made_of == 0 || !asked.effects.loses) return;
  to.within(own.made_of);
  to.add(ReuseFact::key_context, Reuse::approximate,
         own.made_of ? formatted("keys or values are made of {} token{} before theirs too", *own.made_of,
                                 *own.made_of == 1 ? "" : "s")
                     : "keys or values are made of other tokens than theirs too, of how many no plan says");
}

// Of another rule, at the positions where keys are.
void add_switched(const Asked& asked, const LayerTraits& own, Findings& to) {
  const bool by_length = std::ranges::any_of(asked.of_stack().input, [](const InputScheme& input) {
    return std::visit([](const auto& s) { return reuse::input_traits(s).by_length; }, input);
  });
  if (by_length) {
    to.everywhere();
    return to.add(ReuseFact::input_positions, Reuse::no, "positions over the length are added to the embeddings");
  }
  if (!own.by_length) {
    return to.add(own.rotates ? ReuseFact::rotated_on_load : ReuseFact::no_position, Reuse::exact,
                  "no frequency of this layer depends on the length");
  }
  if (own.rotated_before_projection) {
    to.everywhere();
    return to.add(ReuseFact::rotated_before_project, Reuse::no,
                  "hidden states are rotated before the projection to keys");
  }
  add_rotation(asked, own, to);
}

void add_shared(const Asked& asked, const LayerTraits& own, const reuse::Reader& reader, Findings& to) {
  const reuse::ReadLayer read = reader.layer(asked.layer);
  if (!read.refused.empty()) {
    to.everywhere();
    return to.add(ReuseFact::another_cache, Reuse::no, "the other model's keys differ in " + read.refused);
  }
  if (read.same_angles) {
    if (own.rotates) return to.add(ReuseFact::rotated_on_load, Reuse::exact, "both rotate keys alike");
    return to.add(ReuseFact::no_position, Reuse::exact, "keys and values are the same in both models");
  }
  if (own.rotated_before_projection) {
    to.everywhere();
    return to.add(ReuseFact::rotated_before_project, Reuse::no,
                  "hidden states are rotated before the projection to keys");
  }
  add_rotation(asked, own, to);
}

void add_state(const Asked& asked, const LayerTraits& own, Findings& to) {
  if (!asked.effects.loses && asked.effects.moves && own.begins_apart) {
    to.everywhere();
    to.moves_by({.period = 0});
    return to.add(ReuseFact::state_start, Reuse::approximate,
                  "the state takes the token at position 0 otherwise than all others: exact only where no token comes "
                  "from there, or to there");
  }
  if (!asked.effects.loses) {
    return to.add(ReuseFact::no_position, Reuse::exact,
                  asked.effects.moves ? "one state of all tokens, which holds no position"
                                      : "one state of all tokens, into which no rotation goes");
  }
  to.everywhere();
  to.add(ReuseFact::state, Reuse::no, "one state has taken in every token, and gives none back");
}

void add_remarks(const Asked& asked, const LayerPlan& layer, const LayerTraits& own, Findings& to) {
  if (own.state_beside && asked.effects.loses) {
    to.everywhere();
    to.add(ReuseFact::state, Reuse::no,
           "beside keys and values the layer keeps a state of every token, which gives none back");
  }
  if (layer.kv_from) to.add(ReuseFact::owner, Reuse::exact, formatted("the cache is layer {}'s", *layer.kv_from));
  if (own.gates) {
    to.add(ReuseFact::gates_move, Reuse::exact,
           "the gate of each token is cached beside its key and moves with it; running sums are made anew");
  }
  if (asked.effects.moves && own.by_length) {
    to.add(ReuseFact::rule_by_length, Reuse::exact,
           own.by_each_length
               ? formatted("beyond {} tokens every length has frequencies of its own", *own.same_up_to)
               : formatted("frequencies depend on the length, from {} tokens on: this is for one of them",
                           *own.same_up_to));
  }
  if (asked.effects.loses && own.window) {
    to.add(ReuseFact::window_kept, Reuse::exact,
           formatted("a window of {} tokens is kept: a token that has left it cannot come back", *own.window));
  }
  if (own.by_index) {
    to.add(ReuseFact::indexer_too, Reuse::exact,
           "keys are picked by numbers that are cached beside them: do the same to those");
  }
  if (own.sees_after) {
    to.add(ReuseFact::both_ways, Reuse::exact,
           "tokens see those after them: above the first layer every new token changes the keys of the old");
  }
}

void add_own(const Asked& asked, const LayerTraits& own, const reuse::Reader* reader, Findings& to) {
  switch (own.keeps) {
    case Keeps::state: return add_state(asked, own, to);
    case Keeps::encoder_keys:
      if (asked.effects.other_rule) break;
      if (!asked.tokens_alone()) break;
      return to.add(ReuseFact::encoder_keys, Reuse::exact,
                    "keys are of the encoder's tokens, which stay where they are: queries alone move");
    case Keeps::keys:
    case Keeps::nothing: break;
  }
  if (!add_storage(asked, own, to)) return;
  if (asked.operation == CacheOperation::switch_rule) {
    add_switched(asked, own, to);
  } else if (reader != nullptr) {
    add_shared(asked, own, *reader, to);
  } else {
    add_moved(asked, own, to);
    add_groups(asked, own, to);
    add_made_of(asked, own, to);
  }
}

// ---- the layers below ----

struct Below {
  std::int64_t mixing = 0;  // layers
  std::optional<std::int64_t> reach = 0;
  Relative by_position{};
  std::int64_t order_period = 1;
  bool by_length = false;
  std::int64_t other = 0;     // layers that the reader runs otherwise
  bool other_stacks = false;  // or stacks, of which its keys or input are made
};

// Of a stack that others feed: which of them no plan says, so all.
void add_stacks(const Asked& asked, Below& to) {
  for (const Stack& stack : asked.plan.stacks) {
    if (&stack == &asked.of_stack()) continue;
    if (!stack.known || input_holds_places(stack)) to.by_position = {.period = 0};
    for (const LayerPlan& layer : stack.layers) {
      const LayerTraits one = reuse::traits_of(layer);
      to.by_position = one.adds_place ? Relative{.period = 0} : reuse::both(to.by_position, one.by_position);
      to.by_length |= one.by_length;
    }
  }
}

Below below(const Asked& asked, const reuse::Reader* reader) {
  Below out;
  // Of cross attention the layers below are another stack's than the keys.
  const bool is_of_encoder = reuse::traits_of(asked.of_layer()).keeps == Keeps::encoder_keys;
  for (std::size_t l = 0; l < asked.layer && !is_of_encoder; ++l) {
    const LayerTraits one = reuse::traits_of(asked.of_stack().layers[l]);
    out.by_position = reuse::both(out.by_position, one.by_position);
    if (one.begins_apart) out.by_position = {.period = 0};
    out.order_period = reuse::both({.period = out.order_period}, {.period = one.order_period}).period;
    out.by_length |= one.by_length;
    if (reader != nullptr && !reader->same(l)) ++out.other;
    if (one.reach == 0) continue;
    ++out.mixing;
    if (out.reach && one.reach && *out.reach <= kFarthest - *one.reach) {
      *out.reach += *one.reach;
    } else {
      out.reach.reset();
    }
  }
  if (!asked.tokens_alone()) add_stacks(asked, out);
  out.other_stacks = reader != nullptr && (is_of_encoder || !asked.tokens_alone()) && !reader->same_elsewhere();
  return out;
}

// Nothing: how many no plan says.
std::optional<std::int64_t> neighbours_of_input(const Asked& asked) {
  if (!asked.tokens_alone()) return {};
  std::int64_t out = 0;
  for (const InputScheme& input : asked.of_stack().input) {
    out = std::max(out, std::visit([](const auto& s) { return reuse::input_traits(s).neighbours; }, input));
  }
  return out;
}

std::string layers_below(std::int64_t count) { return formatted("{} layer{} below", count, count == 1 ? "" : "s"); }

// What was seen of tokens that are gone, or now stand elsewhere.
void add_context(const Asked& asked, const LayerTraits& own, const Below& layers, Findings& to) {
  const std::optional<std::int64_t> neighbours = neighbours_of_input(asked);
  const std::optional<std::int64_t> entering =
      neighbours && own.made_of ? std::optional(*neighbours + *own.made_of) : std::nullopt;
  if (neighbours != 0) {
    to.within(entering);
    to.add(ReuseFact::input_context, Reuse::approximate,
           neighbours ? formatted("the input stage looks at {} tokens on either side", *neighbours)
                      : "what enters the first layer is made of other tokens too, of how many no plan says");
  }
  if (layers.mixing == 0) return;
  std::optional<std::int64_t> reach;
  if (layers.reach && entering) reach = *layers.reach + *entering;
  to.within(reach);
  to.add(ReuseFact::mixed_context, Reuse::approximate,
         reach ? formatted("{} mixed in tokens of the old context: up to {} tokens from an edge",
                           layers_below(layers.mixing), *reach)
               : formatted("{} mixed in tokens of the old context, however far", layers_below(layers.mixing)));
}

void add_positions_below(const Asked& asked, const Below& layers, Findings& to) {
  Relative relative = layers.by_position;
  if (asked.effects.loses) relative = reuse::both(relative, {.period = layers.order_period});
  if (relative.period == 1) return;
  to.everywhere();
  to.moves_by(relative);
  if (relative.period > 1) {
    return to.add(ReuseFact::period_below, Reuse::approximate,
                  formatted("what is below repeats every {} tokens: exact by multiples of it", relative.period));
  }
  to.add(ReuseFact::absolute_below, Reuse::approximate,
         relative.exact_below ? formatted("what is below depends on where tokens are: exact while all stay below {}",
                                          *relative.exact_below)
                              : "what is below depends on where tokens are, and not on distances alone");
}

void add_rules_below(const Asked& asked, const Below& layers, Findings& to) {
  const bool is_switched = asked.operation == CacheOperation::switch_rule && layers.by_length;
  if (!is_switched && layers.other == 0 && !layers.other_stacks) return;
  to.everywhere();
  to.add(ReuseFact::other_below, Reuse::approximate,
         is_switched           ? "keys and values were made below under the rule of the other length"
         : layers.other_stacks ? "keys and values are made of another stack, with other facts in the other model"
                               : layers_below(layers.other) + " run with other facts in the other model");
}

void add_below(const Asked& asked, const LayerTraits& own, const reuse::Reader* reader, Findings& to) {
  const Below layers = below(asked, reader);
  if (asked.effects.loses) add_context(asked, own, layers, to);
  if (asked.effects.moves) add_positions_below(asked, layers, to);
  if (asked.effects.other_rule) add_rules_below(asked, layers, to);
}

// ---- what is asked for ----

// An encoder's layers could keep keys, but nothing is added to what they have seen.
bool decodes(const LayerPlan& layer) { return reuse::caches(layer) && !reuse::traits_of(layer).sees_after; }

std::size_t stack_of(const Plan& plan, const std::optional<std::string>& wanted) {
  const auto find = [&](const auto& is_wanted) { return std::ranges::find_if(plan.stacks, is_wanted); };
  const auto any = [](bool (*is)(const LayerPlan&)) {
    return [is](const Stack& stack) { return std::ranges::any_of(stack.layers, is); };
  };
  auto found = wanted ? find([&](const Stack& stack) { return stack.name == *wanted; }) : find(any(decodes));
  if (found == plan.stacks.end() && !wanted) found = find(any(reuse::caches));
  if (found != plan.stacks.end()) return static_cast<std::size_t>(found - plan.stacks.begin());
  if (!wanted) throw Error(kWhere, {"plan", "have a layer that caches", "without one"});
  std::string names;
  for (const Stack& stack : plan.stacks) names += (names.empty() ? "" : ", ") + stack.name;
  throw Error(kWhere, {"stack", "be one of the plan's: " + names, "\"" + *wanted + "\""});
}

std::size_t layer_of(const Stack& stack, std::int64_t layer) {
  const std::int64_t last = std::ssize(stack.layers) - 1;
  if (layer < 0 || layer > last) {
    throw Error(kWhere, {"layer", formatted("be from 0 to {}", last), formatted("{}", layer)});
  }
  const LayerPlan& found = stack.layers[static_cast<std::size_t>(layer)];
  if (!reuse::caches(found)) {
    throw Error(kWhere, {"layer", "cache keys, values or a state", std::string(name(found.kind))});
  }
  return static_cast<std::size_t>(layer);
}

// The layer whose keys and values this one reads.
std::size_t owner_of(const Stack& stack, std::size_t layer) {
  const std::optional<std::int64_t> from = stack.layers[layer].kv_from;
  if (!from) return layer;
  for (std::size_t l = 0; l < layer; ++l) {
    if (stack.layers[l].index == *from && stack.layers[l].kind == stack.layers[layer].kind) return l;
  }
  throw Error(kWhere, {"layer.kv_from", "be a layer before it", formatted("{}", *from)});
}

}  // namespace
}  // namespace posenc::inline v0_2

namespace posenc::reuse {

bool caches(const LayerPlan& layer) { return traits_of(layer).keeps != Keeps::nothing; }

std::size_t checked_stack(const Plan& plan, const std::optional<std::string>& name) {
  const std::size_t at = stack_of(plan, name);
  const Stack& stack = plan.stacks[at];
  if (!stack.known) {
    const std::string unknown = stack.unknown.empty() ? "unknown" : "without " + stack.unknown.front();
    throw Error(kWhere, {"plan", "be known, since what was read of it may be false", unknown});
  }
  for (const LayerPlan& layer : stack.layers) {
    for (const Rotate& one : layer.rotate) {
      if (const auto problem = check(rope(one))) throw Error(kWhere, *problem);
    }
  }
  return at;
}

ReuseVerdict verdict_of(const Plan& plan, std::size_t stack, std::size_t layer, CacheOperation operation,
                        StoredKeys keys, const Reader* reader) {
  const LayerPlan& reading = plan.stacks[stack].layers[layer];
  const Asked asked{.plan = plan,
                    .stack = stack,
                    .layer = owner_of(plan.stacks[stack], layer),
                    .operation = operation,
                    .effects = effects_of(operation),
                    .keys = keys};
  const LayerTraits own = traits_of(asked.of_layer());
  Findings findings;
  add_own(asked, own, reader, findings);
  // Of cross attention tokens of this stack are nothing to the keys, unless both are of the same text.
  if (own.keeps != Keeps::encoder_keys || asked.effects.other_rule || !asked.tokens_alone()) {
    add_below(asked, own, reader, findings);
  }
  add_remarks(asked, reading, own, findings);
  return findings.take();
}

}  // namespace posenc::reuse

namespace posenc::inline v0_2 {

ReuseVerdict reuse_verdict(const Plan& plan, std::int64_t layer, CacheOperation operation,
                           const ReuseOptions& options) {
  (void)effects_of(operation);  // throws where it is none
  if (options.keys > StoredKeys::rotated) {
    throw Error(kWhere, {"keys", "be unrotated or rotated", formatted("{}", static_cast<int>(options.keys))});
  }
  const std::size_t stack = reuse::checked_stack(plan, options.stack);
  const std::size_t at = layer_of(plan.stacks[stack], layer);
  std::optional<reuse::Reader> reader;
  if (operation == CacheOperation::share) reader.emplace(plan, stack, options.reader);
  return reuse::verdict_of(plan, stack, at, operation, options.keys, reader ? &*reader : nullptr);
}

}  // namespace posenc::inline v0_2
