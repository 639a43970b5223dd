// Can this model go to a longer context? Every way of stretching its rotation, side by side: what each leaves of the
// trained range, what it costs near tokens, and how it is written down.
//
//   const ExtensionStudy study = study_extension(preset_plan("qwen3-8b"), {.to = 131072});
//   report(describe(study));
//
// What numbers alone can say is computed here in double, for the first rotation of the first stack that rotates by
// position; what they cannot, whether quality holds without training, is said in `open_questions`. docs/extend.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/override_plan.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// One way, or the model as it is.
struct Extension {
  std::string name;                   // "as it is", "linear", "yarn", "self_extend", ...
  std::string about;                  // a sentence
  std::vector<std::string> settings;  // words of override_plan.h; none: as it is
  std::string refused;                // why this model cannot have it; empty: it can
  // The rest is 0 where it is refused.
  std::int64_t unseen = 0;                   // pairs that at `to` meet angles that they never had within `from`
  std::vector<std::int32_t> unseen_pairs{};  // which these are
  std::int64_t kept = 0;                     // pairs that turn as the unscaled rotation does, to a thousandth
  double fastest_slower = 1.0;               // times that the fastest pair, which tells neighbours apart, turns slower
  double slowest_slower = 1.0;               // times that the most stretched pair turns slower
  double attention_factor = 1.0;             // of cos and sin
  // Of a softmax over `to` keys whose scores are those of independent queries and keys of variance 1 a channel, in
  // nats: ln(to) - variance / 2, exact for many keys. At `from` it is ExtensionStudy::entropy_before.
  double entropy = 0.0;
  // Of the given queries at the last of `to` places, over keys that are drawn from the given ones, evenly at all
  // distances: the mean over heads and some queries. Masks are not counted.
  std::optional<double> entropy_of_given{};
  bool operator==(const Extension&) const = default;
};

struct ExtendOptions {
  std::int64_t to = 0;  // tokens, 1 to 2^53
  // The length, in tokens, that the model was trained for before any rule. Omitted: what the rule's own numbers or the
  // plan's trained length say.
  std::optional<std::int64_t> from{};
  // Queries and keys of the layer that is studied before their rotation, behind a norm if there is one, of any tokens
  // of a model at work: [tokens, heads, head_dim] and [tokens, kv_heads, head_dim], of any dtype and strides; at most
  // 2^22 elements of each count. Both or neither: entropies are then those of these, too.
  ConstTensorView q{};
  ConstTensorView k{};
  // Ways of the caller's own, measured behind those that the study knows where `to` is beyond `from`: name, about and
  // settings; no other member is read.
  std::vector<Extension> also{};
};

// A key of the scaling rule that the model has already.
struct ExplainedKey {
  std::string key;      // "factor"
  std::string value;    // "8"
  std::string meaning;  // a sentence
  std::string problem;  // what does not fit the rest; empty: nothing
  bool operator==(const ExplainedKey&) const = default;
};

struct ExtensionStudy {
  std::string model;
  std::string stack;       // that the rotation stands in, which is studied
  std::int64_t layer = 0;  // and the layer, by its number
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t pairs = 0;
  double base = 0.0;
  double entropy_before = 0.0;  // Extension::entropy at `from`, unscaled
  std::optional<double> entropy_of_given_before{};
  double cache_bytes = 0.0;          // the KV cache at `to`, 16 bits a number; the same for all
  std::vector<ExplainedKey> block;   // of the rule that is there
  std::vector<Extension> ways;       // "as it is" first
  std::string recommended;           // a name of `ways`
  std::vector<std::string> reasons;  // sentences
  std::vector<std::string> open_questions;
  std::vector<OverridePatch> patches;  // of the recommended way; none where that is the model as it is
  bool operator==(const ExtensionStudy&) const = default;
};

// Throws Error for lengths out of range, for a plan in which nothing rotates by position, and where `from` is neither
// given nor said by the plan. `config_json` as for override_patches.
POSENC_API ExtensionStudy study_extension(const Plan& plan, const ExtendOptions& options,
                                          std::string_view config_json = {});

// A table and sentences; plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const ExtensionStudy& study);

// JSON as docs/extend.md says.
POSENC_API std::string to_json(const ExtensionStudy& study);

}  // namespace posenc::inline v0_2
