#include "inspect/brief_row.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "inspect/layer_groups.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

void add_new(std::vector<std::string>& words, const std::string& word) {
  if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

// "half 128/128 5e5 llama3 x8": pairing, rotated channels of those of a head, base, rule.
std::string rope_word(const Rope& rope) {
  const std::string rule = short_rule(rope.scaling);
  return formatted("{} {}/{} {}{}", pairing_text(rope.pairing), rope.dim, rope.head_dim, short_base(rope.base),
                   rule == "-" ? "" : " " + rule);
}

// What tells positions apart in a stack, each once: input schemes, rotations, score terms.
std::vector<std::string> position_words(const Stack& stack) {
  std::vector<std::string> words;
  for (const InputScheme& input : stack.input) add_new(words, short_input(input));
  for (const LayerPlan& layer : stack.layers) {
    for (const Added& added : layer.added) add_new(words, short_input(added.scheme));
    for (const Rotate& rotate : layer.rotate) {
      if (rotate.role != RotateRole::indexer) add_new(words, rope_word(rope(rotate)));
    }
    for (const ScoreTerm& term : layer.score) add_new(words, short_score(term));
  }
  return words;
}

// Of the layers that attend.
std::vector<std::string> different_of_layers(const Stack& stack, std::string (*text)(const LayerPlan& layer)) {
  std::vector<std::string> words;
  for (const LayerPlan& layer : stack.layers) {
    if (has_attention(layer)) add_new(words, text(layer));
  }
  return words;
}

std::string heads_text(const LayerPlan& layer) {
  const auto known = [](std::int64_t n) { return n == 0 ? std::string("?") : std::to_string(n); };
  return known(layer.heads) + "/" + known(layer.kv_heads);
}

std::string layer_mask(const LayerPlan& layer) { return short_mask(layer.mask); }

// Of all stacks, what `words` says of each, once.
template <typename Words>
std::string of_stacks(const Plan& plan, const Words& words, std::string_view between) {
  std::vector<std::string> all;
  for (const Stack& stack : plan.stacks) {
    for (const std::string& word : words(stack)) add_new(all, word);
  }
  return all.empty() ? "-" : join(all, between);
}

std::vector<std::string> row_of(const Plan& plan) {
  const auto heads = [](const Stack& stack) { return different_of_layers(stack, heads_text); };
  const auto masks = [](const Stack& stack) { return different_of_layers(stack, layer_mask); };
  std::string remarks = plan.warnings.empty() ? "" : count(std::ssize(plan.warnings), "warning");
  if (!plan.known) remarks = "not known";
  return {printable(plan.source.name),
          layers_text(plan),
          of_stacks(plan, heads, " "),
          of_stacks(plan, position_words, "; "),
          of_stacks(plan, masks, "; "),
          plan.trained_length ? std::to_string(*plan.trained_length) : "-",
          remarks};
}

std::string strings_json(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(json_string(word));
  return json_array(quoted);
}

std::string stack_json(const Stack& stack) {
  return json_object({{"name", json_string(stack.name)},
                      {"layers", std::to_string(block_count(stack))},
                      {"heads", strings_json(different_of_layers(stack, heads_text))},
                      {"positions", strings_json(position_words(stack))},
                      {"masks", strings_json(different_of_layers(stack, layer_mask))}});
}

std::string model_json(const Plan& plan) {
  std::vector<std::string> stacks;
  for (const Stack& stack : plan.stacks) stacks.push_back(stack_json(stack));
  return json_object({{"name", json_string(plan.source.name)},
                      {"family", json_string(plan.family)},
                      {"model_type", json_string(plan.model_type)},
                      {"known", plan.known ? "true" : "false"},
                      {"trained_length", plan.trained_length ? std::to_string(*plan.trained_length) : "null"},
                      {"stacks", json_array(stacks)},
                      {"warnings", std::to_string(plan.warnings.size())}});
}

}  // namespace

std::string different_of_ropes(const Plan& plan, std::string (*text)(const Rope& rope)) {
  std::vector<std::string> answers;
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        if (rotate.role != RotateRole::indexer) add_new(answers, text(rope(rotate)));
      }
    }
  }
  return answers.empty() ? "-" : join(answers, " ");
}

std::string short_base(double base) {
  const double exponent = base > 0 ? std::floor(std::log10(base)) : 0;
  return formatted("{}e{:.0f}", exact_number(base / std::pow(10.0, exponent)), exponent);
}

std::string layers_text(const Plan& plan) {
  std::vector<std::string> counts;
  for (const Stack& stack : plan.stacks) counts.push_back(std::to_string(block_count(stack)));
  return join(counts, "+");
}

std::string brief_text(const std::vector<Plan>& plans) {
  std::vector<std::vector<std::string>> rows{{"model", "layers", "heads/kv", "positions", "mask", "trained", "notes"}};
  bool noted = false;
  for (const Plan& plan : plans) {
    rows.push_back(row_of(plan));
    noted |= !rows.back().back().empty();
  }
  for (auto& row : rows) {
    if (!noted) row.pop_back();
  }
  Page page(output_wants_colour());
  page.table(0, rows);
  return page.text();
}

std::string brief_json(const std::vector<Plan>& plans) {
  std::vector<std::string> models;
  for (const Plan& plan : plans) models.push_back(model_json(plan));
  return json_object({{"schema_version", "1"}, {"models", json_array(models)}}) + "\n";
}

}  // namespace posenc::tool
