#include "convert/config_pairing.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/formatted.h"
#include "io/json/json.h"
#include "posenc/read_plan.h"

namespace posenc::conversion {
namespace {

struct PairingKey {
  std::string_view name;
  Pairing when_true;
};
// What classes read: DeepSeek V3 and its kin, Nomic BERT, ExecuTorch's exports.
constexpr std::array<PairingKey, 3> kKeys = {{{"rope_interleave", Pairing::interleaved},
                                              {"rotary_emb_interleaved", Pairing::interleaved},
                                              {"use_hf_rope", Pairing::half}}};

constexpr std::size_t kMostObjects = 64;  // of the root that are tried

Result<Plan> plan_of(const std::string& text, std::string_view name) {
  return read_plan(std::as_bytes(std::span(text)), name);
}

bool main_rotations_are(const Stack& stack, Pairing to) {
  return std::ranges::all_of(stack.layers, [&](const LayerPlan& layer) {
    return std::ranges::all_of(layer.rotate, [&](const Rotate& rotate) {
      return rotate.role != RotateRole::main || rope(rotate).pairing == to;
    });
  });
}

// The stacks with the main rotations of one of them as `to` has it, so that two can be compared.
std::vector<Stack> with_rotations(std::vector<Stack> stacks, std::string_view name, Pairing to) {
  for (Stack& stack : stacks) {
    if (stack.name != name) continue;
    for (LayerPlan& layer : stack.layers) {
      for (Rotate& rotate : layer.rotate) {
        if (rotate.role != RotateRole::main) continue;
        std::visit(
            [&](auto& scheme) {
              if constexpr (requires { scheme.rope; }) {
                scheme.rope.pairing = to;
              } else {
                scheme.pairing = to;
              }
            },
            rotate.scheme);
      }
    }
  }
  return stacks;
}

bool is_as_asked(const Plan& before, const Plan& after, std::string_view stack, Pairing to) {
  const auto found = std::ranges::find(after.stacks, stack, &Stack::name);
  return found != after.stacks.end() && main_rotations_are(*found, to) &&
         with_rotations(before.stacks, stack, to) == after.stacks;
}

// The text with a boolean, or null, of an object replaced, or put first into it. Nothing for a value of another kind.
std::optional<std::string> edited(const std::string& text, const io::JsonValue& object, std::string_view key,
                                  std::string_view value) {
  const Result<std::optional<io::JsonValue>> found = object.find(key);
  if (!found) return {};
  std::string out = text;
  if (*found) {
    const io::JsonValue& old = **found;
    const Result<bool> truth = old.as_bool();
    if (!truth && !old.is_null()) return {};
    const std::size_t length = old.is_null() || *truth ? 4 : 5;  // null, true; false
    return out.replace(static_cast<std::size_t>(old.offset()), length, value);
  }
  if (object.size() == 0) return {};
  const std::size_t begin = static_cast<std::size_t>(object.offset()) + 1;
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n", begin), text.size());
  const std::string space = text.substr(begin, first - begin);
  return out.insert(begin, formatted("{}\"{}\": {},", space, key, value));
}

}  // namespace

Result<ConfigEdit> with_pairing(const std::string& text, std::string_view name, std::string_view stack, Pairing to) {
  const Result<Plan> before = plan_of(text, name);
  if (!before) return before.error();
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, name);
  if (!document) return document.error();
  const auto stands = std::ranges::find(before->stacks, stack, &Stack::name);
  if (stands != before->stacks.end() && main_rotations_are(*stands, to)) return ConfigEdit{text, {}};
  const io::JsonValue root = document->root();
  std::vector<io::JsonValue> objects{root};
  for (const io::JsonValue& member : root.items()) {
    if (member.kind() == io::JsonKind::object && objects.size() < kMostObjects) objects.push_back(member);
  }
  for (const PairingKey& key : kKeys) {
    const std::string_view value = key.when_true == to ? "true" : "false";
    for (const io::JsonValue& object : objects) {
      const std::optional<std::string> candidate = edited(text, object, key.name, value);
      if (!candidate) continue;
      const Result<Plan> after = plan_of(*candidate, name);
      if (!after || !is_as_asked(*before, *after, stack, to)) continue;
      return ConfigEdit{*candidate, ConfigChange{formatted("{}/{}", object.pointer(), key.name), std::string(value)}};
    }
  }
  return ConfigEdit{text, {}};
}

}  // namespace posenc::conversion
