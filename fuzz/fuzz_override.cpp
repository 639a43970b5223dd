// override_plan() and override_patches(): bytes are settings, a line each, and from the first brace on a config.json. A
// plan with its facts set, of which all holds that holds of one that was read, or an error that is safe to print; a
// setting that stands already changes nothing; patches are whole texts.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/plan_checks.h"
#include "fuzz/target.h"
#include "posenc/override_plan.h"
#include "posenc/read_plan.h"

namespace posenc::fuzz {
namespace {

constexpr std::size_t kMostSettings = 8;
constexpr std::size_t kMostLayers = 256;
constexpr std::uint64_t kChecks = 4;  // one of as many plans is asked what takes longer than setting it

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < kMostSettings) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Of one setting: what a second one changes may be what the first has counted with. Where it chose layers by what they
// had, there may be none of them any more. Sources say what was set.
void must_stand(const Plan& changed, const std::vector<std::string>& settings) {
  Plan again;
  try {
    again = override_plan(changed, settings);
  } catch (const Error& error) {
    return must_be_safe_to_print(error.what());
  }
  again.sources = changed.sources;
  must(again == changed, "a setting that stands already changes nothing");
}

void must_be_patches(const Plan& plan, const std::vector<std::string>& settings, std::string_view config) {
  const std::vector<OverridePatch> patches = override_patches(plan, settings, config);
  must(patches.size() == 4, "there is a patch of each form");
  for (const OverridePatch& patch : patches) {
    for (const std::string& sentence : patch.unsaid) must_be_safe_to_print(sentence);
  }
  const std::string json = to_json(patches);
  must(json.starts_with('[') && json.ends_with(']'), "patches are a JSON array");
}

}  // namespace

void run_one(std::string_view bytes) {
  const std::size_t begin = std::min(bytes.find('{'), bytes.size());
  const std::string_view config = bytes.substr(begin);
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(config.data(), config.size())), "config.json");
  if (!plan) return;
  std::size_t layers = 0;
  for (const Stack& stack : plan->stacks) layers += stack.layers.size();
  if (layers > kMostLayers) return;
  const std::vector<std::string> settings = lines_of(bytes.substr(0, begin));
  Plan changed;
  try {
    changed = override_plan(*plan, settings);
  } catch (const Error& error) {
    return must_be_safe_to_print(error.what());
  }
  must_have_frequencies(changed);
  const std::uint64_t choice = hash(bytes) >> 32;
  if (choice % kChecks == 0) must_be_usable(changed);
  if (choice % kChecks == 1) must_describe(changed);
  if (choice % kChecks == 2) must_be_patches(*plan, settings, config);
  if (settings.size() == 1) must_stand(changed, settings);
}

}  // namespace posenc::fuzz
