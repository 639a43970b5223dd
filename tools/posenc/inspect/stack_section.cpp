// One stack: the table of its layers, and the four stages.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/layer_groups.h"
#include "inspect/plan_sections.h"
#include "inspect/rope_lengths.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// ---- The table. ----

constexpr std::int64_t kTableIndent = 2;

// The cell is asked of one layer of each group: all in it are equal but for their index.
struct Column {
  std::string title;
  std::function<std::string(const Group&)> cell;
  int keep = 0;  // the smallest goes first when the table is too wide
};

const Rope* first_rope(const LayerPlan& layer) { return layer.rotate.empty() ? nullptr : &rope(layer.rotate.front()); }

// A count of which 0 says that it is not known.
std::string known_count(std::int64_t n) { return n == 0 ? "?" : formatted("{}", n); }

std::string pair_of(std::int64_t a, std::int64_t b) {
  return a == b ? known_count(a) : formatted("{}/{}", known_count(a), known_count(b));
}

// A layer without attention, or without RoPE, has "-". `keep`: norm and scale go first (at most 2), the rest only where
// the page is too narrow still; 9 last. `widest_selection`: layers are listed up to that width, else counted: "29 of
// 34".
std::vector<Column> columns_for(const Stack& stack, std::int64_t widest_selection) {
  const auto of_layer = [](auto text) {
    return [text](const Group& g) { return has_attention(*g.layer) ? text(*g.layer) : std::string("-"); };
  };
  const auto of_rope = [](auto text) {
    return [text](const Group& g) {
      const Rope* r = first_rope(*g.layer);
      return r == nullptr ? std::string("-") : text(*r);
    };
  };
  const auto layers = [&stack, widest_selection](const Group& g) {
    const std::string text = selection(g.run);
    if (columns(text) <= widest_selection) return text;
    return formatted("{} of {}", g.run.layers.size(), stack.layers.size());
  };
  using L = const LayerPlan&;
  using R = const Rope&;
  return {
      {"", [](const Group& g) { return g.label; }, 9},
      {"layers", layers, 9},
      {"kind", [](const Group& g) { return kind_text(g.layer->kind); }, 4},
      {"heads/kv", of_layer([](L l) { return known_count(l.heads) + "/" + known_count(l.kv_heads); }), 5},
      {"dim", of_layer([](L l) { return pair_of(l.head_dim, l.value_dim); }), 3},
      {"rotated", of_rope([](R r) { return channels_text(r); }), 9},
      {"pairing", of_rope([](R r) { return pairing_text(r.pairing); }), 9},
      {"base", of_rope([](R r) { return exact_number(r.base); }), 9},
      {"scaling", of_rope([](R r) { return short_rule(r.scaling); }), 9},
      {"mask", of_layer([](L l) { return short_mask(l.mask); }), 9},
      {"norm", of_layer([](L l) { return short_norm(l); }), 1},
      {"scale", of_layer([](L l) { return short_scale(l); }), 2},
  };
}

// The head, then a row for each group.
std::vector<std::vector<std::string>> cells(const std::vector<Column>& columns, const std::vector<Group>& groups) {
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows.front().push_back(column.title);
  for (const Group& group : groups) {
    rows.emplace_back();
    for (const Column& column : columns) rows.back().push_back(column.cell(group));
  }
  return rows;
}

// A column in which every cell is empty, "-", or plain attention.
bool says_nothing(const Column& column, const std::vector<Group>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
    const std::string cell = column.cell(group);
    return cell.empty() || cell == "-" || cell == "attention";
  });
}

// Columns that say something and fit the page; where they do not fit, those of `droppable` and below go, least first.
std::vector<Column> fitting_columns(const Stack& stack, const std::vector<Group>& groups, std::int64_t widest_selection,
                                    int droppable) {
  std::vector<Column> columns = columns_for(stack, widest_selection);
  std::erase_if(columns, [&](const Column& column) { return says_nothing(column, groups); });
  while (kTableIndent + table_columns(cells(columns, groups)) > kColumns) {
    const auto least = std::min_element(columns.begin(), columns.end(),
                                        [](const Column& a, const Column& b) { return a.keep < b.keep; });
    if (least == columns.end() || least->keep > droppable) break;
    columns.erase(least);
  }
  return columns;
}

void add_table(Page& page, const Stack& stack, const std::vector<Group>& groups) {
  // First without norm and scale, which the stages say in full; then with layers counted and not listed; then without
  // whatever else.
  std::vector<std::vector<std::string>> rows = cells(fitting_columns(stack, groups, 20, 2), groups);
  for (const int droppable : {2, 9}) {
    if (kTableIndent + table_columns(rows) <= kColumns) break;
    rows = cells(fitting_columns(stack, groups, 9, droppable), groups);
  }
  page.table(kTableIndent, rows);
}

// Each layer's group letter, ten layers a block. Only where the layers of a group do not stand side by side, and each
// is a block of its own.
void add_pattern(Page& page, const Stack& stack, const std::vector<Group>& groups) {
  std::string letters(stack.layers.size(), ' ');
  bool scattered = false;
  for (const Group& group : groups) {
    scattered |= group.run.layers.back() - group.run.layers.front() + 1 != std::ssize(group.run.layers);
    for (const std::int64_t at : group.run.layers) {
      letters[static_cast<std::size_t>(at)] = group.label.empty() ? ' ' : group.label.front();
      if (stack.layers[static_cast<std::size_t>(at)].index != at) return;  // blocks of several sub-layers
    }
  }
  if (!scattered) return;
  std::string blocks;
  for (std::size_t at = 0; at < letters.size(); at += 10) blocks += letters.substr(at, 10) + " ";
  page.blank();
  page.entry(2, "by layer", kTextAt, blocks);
}

// ---- The stages. ----

// What `text` says of each group, equal texts merged; empty texts are left out.
void add_statements(Page& page, std::string_view name, const std::vector<Group>& groups,
                    const std::function<std::string(const LayerPlan&)>& text) {
  std::vector<std::pair<std::string, std::string>> merged;  // text, who
  std::size_t silent = 0;
  for (const Group& group : groups) {
    const std::string said = has_attention(*group.layer) ? text(*group.layer) : "";
    silent += said.empty() ? 1 : 0;
    if (said.empty()) continue;
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& m) { return m.first == said; });
    if (same == merged.end()) {
      merged.emplace_back(said, group.label);
    } else {
      same->second += group.label;
    }
  }
  const bool everybody = merged.size() == 1 && silent == 0;
  for (const auto& [said, who] : merged) {
    add_statement(page, name, everybody ? "" : who, said);
    name = "";
  }
}

// All rotations of a layer in one sentence each, at the length that is shown.
std::string rotations(const LayerPlan& layer, const Plan& plan) {
  std::vector<std::string> parts;
  for (const Rotate& rotate : layer.rotate) {
    parts.push_back(rotate_text(rotate, shown_length(rope(rotate), plan.length, plan.trained_length)));
  }
  return parts.empty() ? "none" : join(parts, ". ");
}

std::string additions(const LayerPlan& layer) {
  std::vector<std::string> parts;
  for (const Added& added : layer.added) parts.push_back(added_text(added));
  return join(parts, ". ");
}

// What is added to scores, and what they are scaled and capped with.
std::string biases(const Stack& stack, const LayerPlan& layer) {
  std::vector<std::string> parts;
  for (const ScoreTerm& term : layer.score) parts.push_back(score_text(term));
  if (parts.empty() && stack.known) parts.emplace_back("no bias");
  parts.push_back(logits_text(layer));
  return join(parts, "; ");
}

// Input, rotate, score, value and mask always; fed by, added, regions, norm and cache where a layer has them.
void add_stages(Page& page, const Plan& plan, const Stack& stack, const std::vector<Group>& groups) {
  std::vector<std::string> inputs;
  for (const InputScheme& input : stack.input) inputs.push_back(input_text(input));
  // Of a stack that is not known, what was not read is not called none.
  if (stack.known || !inputs.empty()) page.entry(2, "input", kTextAt, inputs.empty() ? "none" : join(inputs, "; "));
  if (stack.fed_by == FedBy::mixed_tokens) {
    page.entry(2, "fed by", kTextAt, "vectors that are made of several tokens each, before the first layer");
  }
  add_statements(page, "added", groups, additions);
  add_statements(page, "rotate", groups, [&](const LayerPlan& l) {
    return stack.known || !l.rotate.empty() ? rotations(l, plan) : std::string();
  });
  add_statements(page, "regions", groups, [](const LayerPlan& l) { return regions_text(l.regions); });
  add_statements(page, "score", groups, [&](const LayerPlan& l) { return biases(stack, l); });
  add_statements(page, "value", groups, [&](const LayerPlan& l) {
    return stack.known || l.value != ValueScheme{} ? value_text(l.value) : std::string();
  });
  add_statements(page, "mask", groups, [](const LayerPlan& l) { return mask_text(l.mask); });
  add_statements(page, "norm", groups, [](const LayerPlan& l) { return l.qk_norm ? norm_text(*l.qk_norm) : ""; });
  add_statements(page, "cache", groups, [](const LayerPlan& l) { return cache_text(l); });
}

// Each different rotation once.
std::vector<RopeOf> different_ropes(const std::vector<Group>& groups) {
  std::vector<RopeOf> out;
  for (const Group& group : groups) {
    for (const Rotate& rotate : group.layer->rotate) {
      const Rope& r = rope(rotate);
      const auto same = std::find_if(out.begin(), out.end(), [&](const RopeOf& o) { return *o.rope == r; });
      if (same == out.end()) {
        out.push_back({&r, group.label});
      } else if (same->who.find(group.label) == std::string::npos) {
        same->who += group.label;
      }
    }
  }
  if (out.size() == 1) out.front().who.clear();
  return out;
}

std::string layer_count(const Stack& stack) {
  const std::int64_t blocks = block_count(stack);
  if (blocks == std::ssize(stack.layers)) return count(blocks, "layer");
  return count(blocks, "layer") + " with " + count(std::ssize(stack.layers), "sub-layer");
}

}  // namespace

// Letters stand where the text would, and the text two columns behind them.
void add_statement(Page& page, std::string_view name, std::string_view who, std::string_view text) {
  if (who.empty()) return page.entry(2, name, kTextAt, text);
  const std::string shown = shorten(who, 12);
  page.entry(2, padded(name, kTextAt - 2) + shown, kTextAt + columns(shown) + 2, text);
}

void add_unknown(Page& page, const Stack& stack) {
  for (const std::string& fact : stack.unknown) page.entry(2, "unknown", kTextAt, printable(fact), Style::warning);
  if (stack.known || stack.layers.empty()) return;
  page.entry(2, "read", kTextAt, "what follows is what was read; it is not known to hold", Style::warning);
}

void add_stack(Page& page, const Plan& plan, const Stack& stack) {
  const std::vector<Group> groups = groups_of(stack);
  page.blank();
  // "decoder: 34 layers of 2 kinds", "vision: not known"
  const std::string kinds = groups.size() < 2 ? "" : formatted(" of {} kinds", groups.size());
  const std::string size = stack.known || !groups.empty() ? layer_count(stack) + kinds : "";
  const std::string unknown = stack.known ? "" : size.empty() ? "not known" : ", not known";
  page.line(page.paint(Style::bold, shorten(printable(stack.name), 40)) + ": " + size + unknown);
  add_unknown(page, stack);
  if (!groups.empty()) add_table(page, stack, groups);
  if (groups.size() > 1) add_pattern(page, stack, groups);
  if (groups.empty()) {
    if (stack.known) page.entry(2, "layers", kTextAt, "not known");
    return;
  }
  page.blank();
  add_stages(page, plan, stack, groups);
  if (!stack.known) return;  // lengths and errors of a rotation that the model may not have
  const std::vector<RopeOf> ropes = different_ropes(groups);
  if (!ropes.empty()) page.blank();
  add_turns(page, plan, ropes);
  add_table_errors(page, plan, ropes);
}

}  // namespace posenc::tool
