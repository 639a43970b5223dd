// Reading small configs in tests, and looking into what came out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/read_plan.h"

namespace posenc::test {

inline Result<Plan> read(std::string_view text) {
  return read_plan(std::as_bytes(std::span(text.data(), text.size())), "config.json");
}

// The plan, or a failed test and an empty plan.
inline Plan plan_of(std::string_view text) {
  const Result<Plan> plan = read(text);
  if (plan) return *plan;
  ADD_FAILURE() << plan.error().message() << "\n" << text;
  return {};
}

// The error, or a failed test and an empty error.
inline FileError error_of(std::string_view text) {
  const Result<Plan> plan = read(text);
  if (!plan) return plan.error();
  ADD_FAILURE() << "read without an error:\n" << text;
  return {};
}

// One layer; an attention layer without heads where there is no such layer.
inline LayerPlan layer_of(const Plan& plan, std::size_t index) {
  if (plan.stacks.size() == 1 && index < plan.stacks[0].layers.size()) return plan.stacks[0].layers[index];
  ADD_FAILURE() << "no layer " << index;
  return {};
}

// A layer's first rotation; one of no channels where it has none.
inline Rope rope_of(const Plan& plan, std::size_t index = 0) {
  const LayerPlan layer = layer_of(plan, index);
  if (!layer.rotate.empty()) return rope(layer.rotate[0]);
  ADD_FAILURE() << "layer " << index << " does not rotate";
  return Rope{.pairing = Pairing::half, .head_dim = 0};
}

// Codes, sorted, each once.
inline std::vector<std::string> codes(const Plan& plan) {
  std::vector<std::string> codes;
  for (const Warning& warning : plan.warnings) codes.push_back(warning.code);
  std::ranges::sort(codes);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

// Where `where` came from; empty when the plan does not say.
inline std::string source_of(const Plan& plan, std::string_view where) {
  const auto source = std::ranges::find(plan.sources, where, &ValueSource::where);
  return source == plan.sources.end() ? std::string() : source->from;
}

// `text` with the first `from` replaced.
inline std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const std::size_t at = changed.find(from);
  if (at == std::string::npos) ADD_FAILURE() << "no " << from << " in\n" << text;
  if (at != std::string::npos) changed.replace(at, from.size(), to);
  return changed;
}

}  // namespace posenc::test
