// The parts of override_plan: what a setting says, which layers it is for, what it changes, and whence values then
// come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/families/family.h"
#include "plan/gguf/architecture.h"
#include "posenc/plan.h"

namespace posenc::plan {

// ---- setting.cpp: the grammar ----

struct Assignment {
  std::string word;     // as the user wrote it: "original"
  std::string value;    // "8192"
  std::string which{};  // the layers before its setting's colon, as written: "full"
  // "original=8192", safe to show and not long.
  std::string shown() const;
  // "full:original=8192": the same with its layers.
  std::string shown_with_layers() const;
};

enum class LayerChoice : std::uint8_t { by_rule, all, full, sliding, cross, numbers };

// Which layers a setting names.
struct Which {
  std::string stack;  // empty: the text stacks
  LayerChoice layers = LayerChoice::by_rule;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges{};  // of blocks, first and last; LayerChoice::numbers
  std::string text{};                                           // as written, without the colon
};

struct Override {
  Which which;
  std::vector<Assignment> assignments;
};

// Throws Error for a text that is not of the grammar.
Override parse_override(const std::string& text);

// Throws Error: "'WORD=VALUE' must MUST but is IS".
[[noreturn]] void refuse(const Assignment& assignment, std::string must, std::string is);
// The same, where the value is none that the word takes.
[[noreturn]] void refuse_value(const Assignment& assignment, std::string must);

// Values. Each throws Error where the text is none.
bool is_none(const Assignment& assignment);  // "none", "off", "null"
double finite_number(const Assignment& assignment);
std::int64_t whole_number(const Assignment& assignment, std::int64_t smallest, std::int64_t largest);
bool truth(const Assignment& assignment);
std::vector<double> number_list(const Assignment& assignment);  // "[1,1.5,2]"
// The place in `choices`, or an error that names them and the nearest.
std::size_t choice(const Assignment& assignment, std::span<const std::string_view> choices);
// "; did you mean beta_fast?", or nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string_view> names);

// ---- sources.cpp: whence values come ----

inline constexpr std::string_view kSetByUser = "set: ";
std::string set_by(const Assignment& assignment);

// The source of that field of each layer; empty where none is told.
std::vector<std::string> sources_of_field(const Plan& plan, std::size_t stack, std::string_view field);
// All that stands in /stacks/S/layers/L/FIELD and below it is forgotten for these layers.
void forget_sources(Plan& plan, std::size_t stack, std::span<const std::size_t> layers, std::string_view field);
// The same, and then that field of these layers comes from `from`.
void replace_source(Plan& plan, std::size_t stack, std::span<const std::size_t> layers, std::string_view field,
                    std::string from);

// ---- edit.cpp: what words change ----

bool slides(const LayerPlan& layer) noexcept;  // has a window, or chunks

// Which stack a setting is being carried out in, and what is known of its class.
struct StackEdit {
  Plan& plan;
  const Plan& before;  // as it was before the first setting: which layers slide is asked of that
  std::size_t at;      // place in Plan::stacks
  const Which& which;
  const Family* family;                  // null: not known, or not of a config
  const GgufArchitecture* architecture;  // of a GGUF file

  Stack& stack() const { return plan.stacks[at]; }
  LayerPlan& layer(std::size_t place) const { return plan.stacks[at].layers[place]; }
  bool slid(std::size_t place) const { return slides(before.stacks[at].layers[place]); }
};

// The stacks that a setting is for. Throws Error for a name that no stack has.
std::vector<std::size_t> chosen_stacks(const Plan& plan, const Which& which, const Assignment& first);
// Places of the layers that WHICH names, of kinds that attend.
std::vector<std::size_t> chosen_layers(const StackEdit& edit);
// Those of them whose rotation is meant where WHICH names no layers: whose `field` ("base") comes from where that of
// the full layers comes from.
std::vector<std::size_t> rotating_layers(const StackEdit& edit, std::string_view field);
// Whether the user has named layers.
bool names_layers(const Which& which) noexcept;

// The family or the architecture that the plan's stack was read by.
const Family* family_of(const Plan& plan, std::size_t stack);
const GgufArchitecture* architecture_of(const Plan& plan, std::size_t stack);

// Latent attention, read expanded: it rotates the end of a head, and its softmax scale has YaRN's g^2 in it.
bool is_latent(const StackEdit& edit, const LayerPlan& layer) noexcept;

Rope& mutable_rope(Rotate& rotate) noexcept;

// ---- words ----
// Each carries out what it knows in one stack, and says how many layers have what it sets: 0 is without effect there.

// rule_words.cpp: rope_scaling and what follows it in one setting.
std::size_t set_rule(const StackEdit& edit, const Assignment& rule, std::span<const Assignment> parameters);
// A number of the rule that layers have.
std::size_t set_parameter(const StackEdit& edit, const Assignment& assignment);
bool is_parameter(std::string_view word) noexcept;
// The parameter's own name: "original_max_position_embeddings" for "original".
std::string_view parameter_name(std::string_view word) noexcept;
std::span<const std::string_view> parameter_words() noexcept;
std::span<const std::string_view> rule_names() noexcept;

// rope_words.cpp, layer_words.cpp
struct LayerWord {
  std::string_view word;
  std::string_view also;   // another name of it, or empty
  std::string_view thing;  // what layers may have: "a window"
  std::size_t (*set)(const StackEdit& edit, const Assignment& assignment);
};
std::span<const LayerWord> rope_words() noexcept;
std::span<const LayerWord> layer_words() noexcept;

// What the layers of a stack have that can be set, in words: "base, rope_scaling (yarn), window".
std::string settable(const Stack& stack);

}  // namespace posenc::plan
