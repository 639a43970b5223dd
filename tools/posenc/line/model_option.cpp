#include "line/model_option.h"

#include <utility>

namespace posenc::tool {

OptionSpec set_option(std::string flag) {
  const std::string whose = flag == "--set" ? "the model's plan" : flag == "--set-a" ? "A's plan" : "B's plan";
  return {.names = std::move(flag),
          .value = "WORDS",
          .description = "Set facts of " + whose +
                         ": base=1e6, rope_scaling=yarn,factor=4, window=none, full:base=1e6, ... (docs/overrides.md); "
                         "may be repeated",
          .repeats = true};
}

ModelWord model_given(const Given& given, std::string_view name, std::string_view otherwise, std::string flag) {
  return {.name = given.text_or(name, otherwise), .set = given.list(flag), .flag = std::move(flag)};
}

std::vector<ModelWord> models_given(const Given& given, std::string_view name) {
  std::vector<ModelWord> out;
  for (const std::string& word : given.list(name)) {
    out.push_back({.name = word, .set = given.list("--set"), .flag = "--set"});
  }
  return out;
}

void no_set_without_model(const Given& given) {
  if (given.has("--set")) throw UsageError{"--set: there is no --model whose plan it could change"};
}

}  // namespace posenc::tool
