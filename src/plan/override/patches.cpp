// override_patches: the plan before and after, told in four forms. Both Hugging Face forms are tried on the config.
#include "plan/override/patches.h"

#include <algorithm>
#include <span>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/json/plan_json.h"
#include "plan/override/override.h"
#include "posenc/compare.h"
#include "posenc/read_plan.h"

namespace posenc::plan {
namespace {

bool says_the_same(const Plan& a, const Plan& b) {
  return a.stacks == b.stacks && a.trained_length == b.trained_length;
}

Result<Plan> read_again(std::string_view text, const Plan& like) {
  return read_plan(std::as_bytes(std::span(text.data(), text.size())), like.source.name, {.length = like.length});
}

// The way that reads back, or the one that comes nearest, with what it does not say.
struct Tried {
  std::vector<PatchStep> steps;
  std::vector<std::string> unsaid;
};

// What a config with these steps does not say; nothing where it cannot be read.
std::optional<std::vector<std::string>> left_unsaid(const Change& change, const std::vector<PatchStep>& steps) {
  const std::string text = patched(change.config, document_of(change.config), steps);
  const Result<Plan> plan = read_again(text, change.before);
  if (!plan) return {};
  if (says_the_same(*plan, change.after)) return std::vector<std::string>{};
  return difference_sentences(change.after, *plan);
}

// Keys that this model's class does not read.
void drop_idle_steps(const Change& change, Tried& way) {
  for (std::size_t i = way.steps.size(); i-- > 0;) {
    std::vector<PatchStep> fewer = way.steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (left_unsaid(change, fewer) == way.unsaid) way.steps = std::move(fewer);
  }
}

Tried tried(const Change& change, PatchForm form) {
  std::vector<std::vector<PatchStep>> ways = hugging_face_steps(change, form);
  if (change.config.empty()) {
    return {std::move(ways.front()), {"It was not tried: there is no config.json to apply it to."}};
  }
  // A way must leave things as they were, or as the settings say: what makes of them a third thing is none.
  Tried best{.steps = {}, .unsaid = difference_sentences(change.after, change.before)};
  const std::vector<std::string> all = best.unsaid;
  for (std::vector<PatchStep>& steps : ways) {
    auto unsaid = left_unsaid(change, steps);
    const auto is_left = [&](const std::string& sentence) { return std::ranges::find(all, sentence) != all.end(); };
    if (!unsaid || unsaid->size() >= best.unsaid.size() || !std::ranges::all_of(*unsaid, is_left)) continue;
    best = {std::move(steps), *std::move(unsaid)};
    if (best.unsaid.empty()) break;
  }
  if (!best.unsaid.empty()) drop_idle_steps(change, best);
  if (auto reason = refused_rule(change)) best.unsaid.push_back(*std::move(reason));
  return best;
}

OverridePatch hugging_face_patch(PatchForm form, const Tried& way) {
  return {.form = form, .text = way.steps.empty() ? std::string() : patch_text(way.steps), .unsaid = way.unsaid};
}

// The text that the plan was read from; nothing where it is that of a saved plan.
std::string_view config_of(const Plan& plan, std::string_view text) {
  if (text.empty() || is_saved_plan(document_of(text).root())) return {};
  const Result<Plan> read = read_again(text, plan);
  if (!read || !says_the_same(*read, plan)) {
    throw Error("override_patches",
                {"config_json", "be what the plan was read from", read ? "another model's" : read.error().message()});
  }
  return text;
}

}  // namespace

io::JsonDocument document_of(std::string_view text) {
  Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config_json");
  if (!document || document->root().kind() != io::JsonKind::object) {
    const std::string is = document ? std::string("another value") : document.error().message();
    throw Error("override_patches", {"config_json", "be the text of a JSON object", is});
  }
  return std::move(document).value();
}

Leads leads_of(const Change& change) {
  Leads leads;
  const Stack* stack = change.stack_before();
  for (std::size_t place = 0; stack != nullptr && place < stack->layers.size(); ++place) {
    const LayerPlan& layer = stack->layers[place];
    if (layer.kind != LayerKind::attention) continue;
    if (!leads.any) leads.any = place;
    if (layer.rotate.empty()) continue;
    std::optional<std::size_t>& lead = slides(layer) ? leads.sliding : leads.full;
    if (!lead) lead = place;
  }
  return leads;
}

std::vector<std::string> difference_sentences(const Plan& wanted, const Plan& got) {
  std::vector<std::string> out;
  const Comparison comparison = compare(wanted, got);
  for (const Difference& one : comparison.differences) {
    const bool is_about_text =
        one.field == "sources" || one.field == "warnings" || one.field == "absent_keys" || one.field == "ignored_keys";
    if (is_about_text || one.field.starts_with("source/") || one.field == "known") continue;
    const std::string layers = one.layers.stack.empty() ? std::string()
                               : one.layers.a.layers.empty()
                                   ? formatted("{}: ", one.layers.stack)
                                   : formatted("{}, layers {}: ", one.layers.stack, selection(one.layers.a));
    std::string sentence =
        formatted("{}{} stays {}, where the settings say {}.", layers, one.field, one.b.words, one.a.words);
    if (std::ranges::find(out, sentence) == out.end()) out.push_back(std::move(sentence));
  }
  return out;
}

std::string json_number(double value) {
  io::JsonWriter json;
  json.value(value);
  return json.take();
}

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string on_one_line(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '\n') {
      out += json[i];
      continue;
    }
    while (i + 1 < json.size() && json[i + 1] == ' ') ++i;
    if (out.ends_with(',')) out += ' ';
  }
  return out;
}

}  // namespace posenc::plan

namespace posenc::inline v0_2 {

std::vector<OverridePatch> override_patches(const Plan& plan, std::span<const std::string> settings,
                                            std::string_view config_json) {
  const Plan after = override_plan(plan, settings);
  const plan::Change change{.before = plan,
                            .after = after,
                            .family = plan.stacks.empty() ? nullptr : plan::family_of(plan, 0),
                            .config = plan::config_of(plan, config_json)};
  const plan::Tried old_form = plan::tried(change, PatchForm::hugging_face_old);
  const plan::Tried new_form = plan::tried(change, PatchForm::hugging_face_new);
  std::vector<OverridePatch> out;
  out.push_back(plan::hugging_face_patch(PatchForm::hugging_face_old, old_form));
  out.push_back(plan::hugging_face_patch(PatchForm::hugging_face_new, new_form));
  out.push_back(plan::llama_cpp_patch(change));
  out.push_back(plan::vllm_patch(change, new_form.steps, new_form.unsaid));
  return out;
}

std::string to_json(std::span<const OverridePatch> patches) {
  io::JsonWriter json;
  json.begin_array();
  for (const OverridePatch& patch : patches) {
    const bool is_steps = patch.form == PatchForm::hugging_face_old || patch.form == PatchForm::hugging_face_new;
    json.begin_object();
    json.member("form", name(patch.form));
    json.key("patch");
    // The steps themselves: a program need not parse a text in the text. They are one line here.
    const std::string steps = patch.text.empty() ? "[]" : plan::on_one_line(patch.text);
    if (is_steps) {
      json.verbatim(steps);
    } else {
      json.null();
    }
    json.key("flags");
    if (is_steps) {
      json.null();
    } else {
      json.value(patch.text);
    }
    json.key("unsaid");
    json.begin_array();
    for (const std::string& sentence : patch.unsaid) json.value(sentence);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  return json.take();
}

std::string_view name(PatchForm form) noexcept {
  switch (form) {
    case PatchForm::hugging_face_old: return "hugging_face_old";
    case PatchForm::hugging_face_new: return "hugging_face_new";
    case PatchForm::llama_cpp: return "llama_cpp";
    case PatchForm::vllm: return "vllm";
  }
  return {};
}

std::string_view title(PatchForm form) noexcept {
  switch (form) {
    case PatchForm::hugging_face_old: return "config.json, transformers 4 (JSON patch, RFC 6902)";
    case PatchForm::hugging_face_new: return "config.json, transformers 5 (JSON patch, RFC 6902)";
    case PatchForm::llama_cpp: return "llama.cpp";
    case PatchForm::vllm: return "vLLM";
  }
  return {};
}

}  // namespace posenc::inline v0_2
