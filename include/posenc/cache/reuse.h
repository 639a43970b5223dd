// May keys and values that are cached be used at other positions, in another order, under another rule? What decides it
// is in the plan.
//
//   const ReuseVerdict verdict = reuse_verdict(plan, 0, CacheOperation::front_trim);
//   if (verdict.reuse == Reuse::no) report(verdict.reasons.front().text);
//
// Two things decide. The layer's own keys: whether they hold a position, and whether it can be changed; a scheme says
// so in src/reuse/scheme_traits.h, where one that says nothing does not compile. And the layers below: what a layer
// projects to keys has seen the tokens before it, so keys of a deeper layer are those of their old context. "Exact" is
// the cache that the model would have made of the new sequence, up to the rounding that storing it takes.
//
// The cache's view, which carries out all of these without touching a key: cache/view.h. docs/cache.md has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

// Positions are those that the new sequence gives: tokens count on without a gap, from where the first stood.
enum class CacheOperation : std::uint8_t {
  shift,        // all tokens of a sequence to other positions, none gone: by the same for all
  front_trim,   // the oldest tokens gone, the rest closed up (a context shift)
  splice,       // a passage that was cached in another text, at another offset
  reorder,      // passages of one text in another order
  merge,        // two texts, each cached by itself, one after the other
  evict,        // tokens in the middle gone, and those behind them closed up
  sinks,        // the first tokens kept, those behind them gone, the rest closed up (StreamingLLM, arXiv 2309.17453)
  switch_rule,  // cached on one side of a length at which a rule's frequencies change, read on the other
  share,        // read by a model with the same weights and another base or rule (a draft model)
};
inline constexpr std::int64_t kCacheOperations = 9;

// How the keys lie in the cache: as they were before RoPE, so that attend rotates on load; or with RoPE applied, so
// that every new position is a call of rerotate.
enum class StoredKeys : std::uint8_t { unrotated, rotated };

enum class Reuse : std::uint8_t { exact, approximate, no };

// Why, and what has to be seen to. The last column is what it makes of the verdict.
enum class ReuseFact : std::uint8_t {
  // The layer's own keys and values.
  no_position,             // exact: they hold none
  rotated_on_load,         // exact: RoPE is applied with the new positions as they are read
  norm_commutes,           // exact: the norm after the rotation has no weights, so it may come before
  rounded_again,           // approximate: every operation rotates stored keys, and rounds them, once more
  whole_groups,            // approximate: keys are made of several tokens each (compression)
  input_positions,         // no: positions were added to the embeddings
  added_positions,         // no: positions are added to what keys are projected from
  rotated_before_project,  // no: the rotation comes before the projection to keys
  norm_after,              // no: a norm with weights, or one that takes off the mean, follows the rotation
  regions,                 // no: a key is rotated in more than one way, so that none can be stored rotated
  content_terms,           // no: a term of the score reads keys before the rotation, so that none can be stored rotated
  state,                   // no: no keys but one state, which has taken in every token before
  state_start,             // approximate: a state takes the token at position 0 otherwise than all others
  key_context,             // approximate: keys or values are made of tokens before theirs too (a convolution)
  another_cache,           // no: the other model's keys differ in more than angles
  // The layers below, of whose output keys and values are made.
  mixed_context,   // approximate: they have mixed in tokens that are not there any more, or in another place
  absolute_below,  // approximate: their scores or values depend on more than distances
  period_below,    // approximate: they repeat with a period, by whose multiples tokens may be moved
  input_context,   // approximate: what enters the first layer is made of neighbours too
  other_below,     // approximate: they run with another rule, or in the other model with other facts
  // What the caller has to see to; exact.
  gates_move,      // numbers that are cached for each token beside its key (forget gates) move with it
  rule_by_length,  // frequencies depend on the length; for both sides of a switch ask for switch_rule
  window_kept,     // the layer keeps a window of tokens; what has left it is nowhere
  indexer_too,     // an indexer picks keys: its own cache takes the same operation
  owner,           // the cache is another layer's
  encoder_keys,    // keys are of an encoder's tokens, which stay where they are
  both_ways,       // tokens see those after them too: keys of old tokens change with every new one
};
inline constexpr std::int64_t kReuseFacts = 27;

struct ReuseReason {
  ReuseFact fact = ReuseFact::no_position;
  Reuse effect = Reuse::exact;
  std::string text;  // a sentence, with the numbers of this layer
  bool operator==(const ReuseReason&) const = default;
};

struct ReuseVerdict {
  Reuse reuse = Reuse::exact;
  std::vector<ReuseReason> reasons;  // those that decide first
  // Keys are off at most so many tokens behind an edge (of what is gone, or of a passage), and where tokens see those
  // after them also before it; farther off they are exact. 0: nowhere; nothing: everywhere.
  std::optional<std::int64_t> reach = 0;
  // Exact, as far as positions go, where tokens move by multiples of it. 1: by any number; 0: by none.
  std::int64_t period = 1;
  // Of period 0: positions below it are all the same to the scheme. Nothing: there are none such.
  std::optional<std::int64_t> exact_below{};
  bool operator==(const ReuseVerdict&) const = default;
};

struct ReuseOptions {
  StoredKeys keys = StoredKeys::unrotated;
  std::optional<std::string> stack{};  // its name; omitted: the first that decodes, else that caches
  // Of `share`: the other model, of the same weights. Omitted: this one with every base doubled.
  const Plan* reader = nullptr;
};

// `layer` is a place in Stack::layers. Throws Error for a stack or a layer that is not there, for one that caches
// nothing (LayerKind::none, deformable attention), for a stack that is not known, since what was read of it may be
// false, and for a plan with a rotation that does not pass check().
POSENC_API ReuseVerdict reuse_verdict(const Plan& plan, std::int64_t layer, CacheOperation operation,
                                      const ReuseOptions& options = {});

POSENC_API std::string_view name(CacheOperation operation) noexcept;
POSENC_API std::string_view name(StoredKeys keys) noexcept;
POSENC_API std::string_view name(Reuse reuse) noexcept;
POSENC_API std::string_view name(ReuseFact fact) noexcept;

}  // namespace posenc::inline v0_2
