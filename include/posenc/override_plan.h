// A plan with some of its facts set by the user: another base, another scaling rule, no window.
//
//   const std::vector<std::string> settings{"rope_scaling=yarn,factor=4,original=32768", "window=none"};
//   const Plan longer = override_plan(preset_plan("qwen3-8b"), settings);
//
// A setting is [WHICH:]WORD=VALUE[,WORD=VALUE...]. docs/overrides.md lists the words and what WHICH may say; without it
// a setting is for what the key of that name in a config.json is for. What hangs on a fact follows: frequencies, the
// attention factor, DeepSeek's softmax scale. The plan's sources say "set: WORD=VALUE" of what was set.
//
// Thread safety: functions of their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

// Settings are carried out in their order; the result is checked as a whole. Throws Error for a word or a value that is
// not known, for a setting that would be without effect (the message says what the layers have), and for a plan that
// cannot hold. Nothing changes where one setting equals what stands there already, but for its source.
POSENC_API Plan override_plan(const Plan& plan, std::span<const std::string> settings);

// How somebody else is told the same. Of the first stack of the plan, which is the one that such words are for.
enum class PatchForm : std::uint8_t {
  hugging_face_old,  // rope_theta and rope_scaling, transformers 4
  hugging_face_new,  // rope_parameters, transformers 5
  llama_cpp,         // flags of llama-server and its kin
  vllm,              // flags of vllm serve
};

struct OverridePatch {
  PatchForm form = PatchForm::hugging_face_old;
  std::string text;                 // a JSON patch (RFC 6902), or flags as a shell takes them; empty: nothing to say
  std::vector<std::string> unsaid;  // a sentence for each thing that this form cannot say
  bool operator==(const OverridePatch&) const = default;
};

// One of each form, in their order. `config_json`: the config.json that `plan` was read from; the patches of both
// Hugging Face forms are then applied to it and read again, and whatever is not as override_plan says is named in
// `unsaid`. Without it (empty) patches start from an empty object, and `unsaid` says that they were not tried. Throws
// Error as override_plan does, and for a text that is no JSON object.
POSENC_API std::vector<OverridePatch> override_patches(const Plan& plan, std::span<const std::string> settings,
                                                       std::string_view config_json = {});

// A JSON array of {"form", "patch": the steps or null, "flags": a text or null, "unsaid"}, one for each patch.
POSENC_API std::string to_json(std::span<const OverridePatch> patches);

// As JSON has it.
POSENC_API std::string_view name(PatchForm form) noexcept;
// As people are told: whom the patch is for and what it is.
POSENC_API std::string_view title(PatchForm form) noexcept;

}  // namespace posenc::inline v0_2
