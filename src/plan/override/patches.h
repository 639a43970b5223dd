// The parts of override_patches: how others are told what changed between two plans.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/families/family.h"
#include "plan/override/json_patch.h"
#include "posenc/override_plan.h"

namespace posenc::plan {

// A plan before and after its settings; only its first stack is what such words are for.
struct Change {
  const Plan& before;
  const Plan& after;
  const Family* family;     // of the first stack; null: not known
  std::string_view config;  // the text that `before` was read from; empty: none

  const Stack* stack_before() const { return before.stacks.empty() ? nullptr : &before.stacks.front(); }
  const Stack* stack_after() const { return after.stacks.empty() ? nullptr : &after.stacks.front(); }
};

// Places of the first stack's layers that stand for others: the first that attends, and of those that rotate the first
// full and the first sliding one.
struct Leads {
  std::optional<std::size_t> any;
  std::optional<std::size_t> full;
  std::optional<std::size_t> sliding;
};
Leads leads_of(const Change& change);

// What differs, a sentence each: "decoder, layers 0-31: rotate/0/base is 1000000, not 10000".
std::vector<std::string> difference_sentences(const Plan& wanted, const Plan& got);

// What `text` says, an object. A document costs many times its text: none is kept while another is made.
io::JsonDocument document_of(std::string_view text);

// hugging_face_patch.cpp: steps for a config.json, several ways of which the first that reads back is taken.
std::vector<std::vector<PatchStep>> hugging_face_steps(const Change& change, PatchForm form);
// Why transformers would refuse the rule that the settings say; nothing where its class takes it.
std::optional<std::string> refused_rule(const Change& change);

// llama_cpp_flags.cpp
OverridePatch llama_cpp_patch(const Change& change);

// vllm_flags.cpp: of the new form's steps.
OverridePatch vllm_patch(const Change& change, const std::vector<PatchStep>& steps,
                         const std::vector<std::string>& unsaid);

// Without the breaks of lines and what indents them; no string of JSON holds either.
std::string on_one_line(std::string_view json);
// As a POSIX shell takes it for one word.
std::string shell_word(const std::string& text);
// The shortest decimal that reads back to the same double; JSON.
std::string json_number(double value);

}  // namespace posenc::plan
