// vLLM's flags: --hf-overrides takes members of the config, in objects where the text's are in one. What the loaded
// config has of rope_scaling or rope_theta beside it became rope_parameters when transformers 5 read it; transformers 4
// keeps rope_theta, and vLLM then takes that one, so that it is given beside the dictionary.
#include <algorithm>
#include <map>

#include "io/json/json_writer.h"
#include "plan/override/override.h"
#include "plan/override/patches.h"

namespace posenc::plan {
namespace {

struct Node {
  std::string value;  // JSON; empty: an object of `members`
  std::map<std::string, Node> members{};
};

void put(Node& root, const std::vector<std::string>& path, const std::string& value) {
  Node* node = &root;
  for (const std::string& member : path) {
    node->value.clear();
    node = &node->members[member];
  }
  node->value = value;
}

void write(const Node& node, io::JsonWriter& json) {
  if (!node.value.empty()) return json.verbatim(node.value);
  json.begin_object(io::JsonLayout::line);
  for (const auto& [name, member] : node.members) {
    json.key(name);
    write(member, json);
  }
  json.end_object();
}

}  // namespace

OverridePatch vllm_patch(const Change& change, const std::vector<PatchStep>& steps,
                         const std::vector<std::string>& unsaid) {
  OverridePatch out{.form = PatchForm::vllm, .text = {}, .unsaid = unsaid};
  Node root;
  const bool is_flat = leads_of(change).sliding == std::nullopt || leads_of(change).full == std::nullopt;
  for (const PatchStep& step : steps) {
    if (!step.removes) put(root, step.path, step.value);
    if (!step.removes || step.path.back() != "rope_theta" || !is_flat) continue;
    const Leads leads = leads_of(change);
    const std::size_t lead = leads.full ? *leads.full : *leads.sliding;
    const std::vector<Rotate>& rotate = change.stack_after()->layers[lead].rotate;
    if (!rotate.empty()) put(root, step.path, json_number(rope(rotate.front()).base));
  }
  if (root.members.empty()) return out;
  io::JsonWriter json(io::JsonLayout::line);
  write(root, json);
  out.text = "--hf-overrides " + shell_word(json.take());
  return out;
}

}  // namespace posenc::plan
