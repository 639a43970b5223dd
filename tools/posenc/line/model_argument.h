// From the word MODEL to a plan: a path, the name of a preset, or - for standard input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "line/failure.h"
#include "line/model_word.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::tool {

// Why there is no plan: the message for standard error, complete, and the exit code.
struct NoPlan {
  std::string message;
  int exit_code = 0;
};

// `length`, in tokens, becomes Plan::length. The failure is returned, for compare, which says of which of its two
// models it is.
std::variant<Plan, NoPlan> load_plan(const ModelWord& model, std::optional<std::int64_t> length);
// Throws Failure instead. Both throw UsageError for a --set that cannot be carried out.
Plan plan_of(const ModelWord& model, std::optional<std::int64_t> length);

// The plan as --set changes it.
Plan with_settings(Plan plan, const ModelWord& model);

// The plan before --set, and the config.json that it was read from; empty where it was no config.json. Throws Failure.
struct PlanAndConfig {
  Plan plan;
  std::string config;
};
PlanAndConfig plan_and_config(const ModelWord& model, std::optional<std::int64_t> length);

// The failure of of_model, below.
Failure refused_of_model(std::string_view model, const Error& error);

// What `work` on plans that were read gives. What the library refuses there is in the model's file, not on the command
// line: the Failure names the file, with the exit code of a malformed one. The environment's own fault stays its own.
template <typename Work>
auto of_model(std::string_view model, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw refused_of_model(model, error);
  }
}

// Throws UsageError where the output is a file that the command reads, by whatever name: --force would destroy it.
void require_other_file(std::string_view flag, const std::string& out, const std::string& read);

bool is_preset(std::string_view name);
// The message when no preset has that name, nearest ones named.
std::string unknown_preset(const std::string& name);

}  // namespace posenc::tool
