#include "models/conformance_page.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "models/spoils.h"
#include "plan/json/plan_names.h"

namespace posenc::test {
namespace {

// ---- Texts ----

constexpr std::string_view kHead = R"(# Conformance: published models, and the numbers that they give

Does posenc handle positions as the models themselves do? For the models below somebody published small weights (random,
or cut down from trained ones) and the numbers that a run gave: logits, or hidden states. A test reads each model's
config, runs the model by the plan that `read_plan` makes of it, and compares. Then it makes one fact of the plan wrong
at a time, and requires that the numbers no longer agree.

This page is printed by `write_conformance`, which runs them all; a test (`models.ConformancePage`) fails where rows,
schemes, counts or mistakes are not those of the checkpoints that are run.

    cmake --build --preset dev --target write_conformance
    build/dev/tests/models/write_conformance docs/conformance.md    # all but the last section, which stays

The weights and numbers are those of github.com/joaopauloschuler/neural-api (tests/fixtures, commit 26c1353), made there
in double, by transformers 5.11 or by programs of that repository's own. They are not part of posenc: without them
([CONTRIBUTING](../CONTRIBUTING.md)) the tests are skipped.

## What is compared

The plan decides everything about positions: the input stage (`reference::add_input`), and for each layer RoPE, biases,
attention masks, softmax scales, softcaps and sinks (`reference::attend`), all in double. The rest of a model is plain
loops of the test (`tests/models/network.h`) that do not deal with positions: projections, norms, feed-forward, experts,
the patches of an image and the convolutions before Whisper's encoder. Qwen2-VL's decoder is given its image's
embeddings and coordinates as they were published.

- *difference* is the root of the mean squared difference to the published numbers, over all of them.
- *bound* is how far roundings can explain it. Both runs round, and the publisher's rounded more: transformers takes
  some steps in float even where a model is in double (RMSNorm, softmax, cos and sin; which ones is a line of each
  checkpoint, read from its code). The test runs the model 16 times more, each time moving the result of every step by
  up to half a unit in the last place of the format that the publisher took it in, at random. From the size of these
  errors, and the number of independent roundings behind them, follows what one more run exceeds once in 10^6: that is
  the bound (`tests/support/model_tolerances.h`). No bound was fitted to a difference.
- *by kernels* is the largest difference where `rotate` applies RoPE to q and k, in float, instead: on every instruction
  set of the machine that printed this page, and with a text that begins at position 0, 1000 and -7, where only
  distances count. Its bound is the same, or a larger one where the publisher's angles were in double.
- *least mistake* is the smallest difference that a mistake in the row makes. At least 100 bounds are required.

The last four columns depend a little on the machine; the others do not.

)";

constexpr std::string_view kInvisible = R"(
## Mistakes that cannot be seen

A small model may not depend on a fact. Then the test requires that the mistake makes no difference, so that no outdated
reason stays here.

)";

constexpr std::string_view kDepartures = R"(
## Where the publisher's code is not followed

The plan follows the model's authors. For the comparison it is changed to what the published run did.

)";

constexpr std::string_view kOthers = R"(
## Other checks

- stories260K of llama2.c (trained; Meta's order of channels): 256 tokens, chosen greedily, tell the published story, by
  the reference and by kernels, from position 0 and 100000; with any fact about its rotation wrong they do not.
- A layer of ChatGLM-6B (two coordinates), ChatGLM2-6B, ChatGLM3-6B and GLM-4-9B: hidden states of chatglm.cpp's tests,
  for a prompt and two tokens after it.

## What is not run

Published with the others.

)";

// ---- Cells ----

std::string code(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string row_of(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

std::string rule(std::size_t cells) { return row_of(std::vector<std::string>(cells, "---")); }

std::string printed(const char* format, double x) {
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

// What was listed before is not listed again.
class List {
 public:
  void add(std::string item) {
    if (std::ranges::find(items_, item) == items_.end()) items_.push_back(std::move(item));
  }
  std::string joined(const char* between) const {
    std::string out;
    for (const std::string& item : items_) out += (out.empty() ? "" : between) + item;
    return out;
  }

 private:
  std::vector<std::string> items_;
};

// ---- What a plan says of positions, in the words of its JSON ----

std::string name_of(const InputScheme& scheme) {
  std::string out(plan::kind_name(scheme));
  if (const auto* sines = std::get_if<SinusoidalInput>(&scheme)) out += " " + std::string(name(sines->convention));
  return out;
}

std::string name_of(const Rotate& rotate) {
  const Rope& rotated = rope(rotate);
  std::string out = std::string(plan::kind_name(rotate.scheme)) + " " + std::string(name(rotated.pairing)) + ", base " +
                    printed("%g", rotated.base);
  if (rotated.dim < rotated.head_dim) {
    out += ", " + std::to_string(rotated.dim) + " of " + std::to_string(rotated.head_dim) + " channels";
  }
  if (rotated.scaling != Scaling{}) out += ", " + std::string(plan::kind_name(rotated.scaling));
  return out;
}

std::string schemes(const Plan& plan) {
  List all;
  for (const Stack& stack : plan.stacks) {
    for (const InputScheme& input : stack.input) all.add(name_of(input));
    for (const LayerPlan& layer : stack.layers) {
      if (layer.kind != LayerKind::attention) continue;
      for (const Rotate& rotate : layer.rotate) all.add(name_of(rotate));
      for (const ScoreTerm& term : layer.score) all.add(std::string(plan::kind_name(term)));
      if (stack.input.empty() && layer.rotate.empty() && layer.score.empty()) all.add("none");
    }
    for (const LayerPlan& layer : stack.layers) {
      if (layer.query_scale != QueryScale{})
        all.add("queries scaled: " + std::string(plan::kind_name(layer.query_scale)));
    }
  }
  return all.joined("; ");
}

// ---- Rows ----

std::string compared(const PageRow& row) {
  constexpr std::string_view kOf[] = {"logits", "hidden states", "logits of classes"};
  const Published& published = row.published;
  std::string what(kOf[static_cast<std::size_t>(published.model.wiring.readout)]);
  if (published.model.plan.stacks.size() > 1) what = "hidden states of the encoder, " + what;
  const std::size_t inputs = published.cases.size();
  return std::to_string(published_answers(published).size()) + " of " + std::to_string(inputs) +
         (inputs == 1 ? " input: " : " inputs: ") + what;
}

bool is_seen(const Checkpoint& checkpoint, std::string_view mistake) {
  return std::ranges::find(checkpoint.invisible, mistake, &Invisible::spoil) == checkpoint.invisible.end();
}

std::string mistakes(const PageRow& row) {
  List seen;
  for (const Spoil& spoil : spoils(row.published.model)) {
    if (is_seen(*row.checkpoint, spoil.name)) seen.add(std::string(spoil.name));
  }
  return seen.joined(", ");
}

constexpr std::size_t kSteadyCells = 5;
const std::vector<std::string> kColumns{
    "checkpoint", "family", "positions",  "numbers compared", "mistakes that are seen",
    "difference", "bound",  "by kernels", "least mistake"};

std::vector<std::string> measurements(const PageRow& row) {
  if (!row.measured) return {};
  const Conformance& measured = *row.measured;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [mistake, difference] : measured.spoiled) {
    if (is_seen(*row.checkpoint, mistake)) least = std::min(least, difference);
  }
  const auto& [difference, bound, where] = measured.reference;
  return {printed("%.1e", difference), printed("%.1e", bound),
          measured.kernels ? printed("%.1e", measured.kernels->difference) : "-",
          printed("%.0e", least / bound) + " bounds"};
}

std::string table(const std::vector<PageRow>& rows) {
  std::string out = row_of(kColumns) + rule(kColumns.size());
  for (const PageRow& row : rows) {
    std::vector<std::string> cells{code(row.checkpoint->name), code(row.published.model.plan.model_type),
                                   schemes(row.published.model.plan), compared(row), mistakes(row)};
    for (std::string& cell : measurements(row)) cells.push_back(std::move(cell));
    out += row_of(cells);
  }
  return out;
}

std::string invisible(const std::vector<PageRow>& rows) {
  std::string out = row_of({"checkpoint", "mistake", "why it cannot be seen"}) + rule(3);
  for (const PageRow& row : rows) {
    for (const Invisible& one : row.checkpoint->invisible) {
      out += row_of({code(row.checkpoint->name), std::string(one.spoil), std::string(one.reason)});
    }
  }
  return out;
}

std::string departures(const std::vector<PageRow>& rows) {
  std::string out;
  for (const PageRow& row : rows) {
    if (!row.checkpoint->departure) continue;
    out += "- " + code(row.checkpoint->name) + ": " + std::string(row.checkpoint->departure->reason) + ".\n";
  }
  return out;
}

std::string not_run() {
  std::string out = row_of({"checkpoint", "why it is not run"}) + rule(2);
  for (const LeftOut& one : left_out()) out += row_of({code(one.name), std::string(one.reason)});
  return out;
}

std::string summary(const std::vector<PageRow>& rows) {
  std::set<std::string> families;
  std::size_t numbers = 0;
  for (const PageRow& row : rows) {
    families.insert(row.published.model.plan.model_type);
    numbers += published_answers(row.published).size();
  }
  return std::to_string(rows.size()) + " checkpoints of " + std::to_string(families.size()) + " families, " +
         std::to_string(numbers) + " numbers\n\n";
}

}  // namespace

std::string conformance_page(const std::vector<PageRow>& rows) {
  return std::string(kHead) + "## " + summary(rows) + table(rows) + std::string(kInvisible) + invisible(rows) +
         std::string(kDepartures) + departures(rows) + std::string(kOthers) + not_run();
}

std::string section_of_families(const std::string& page) {
  const std::size_t begin = page.find("\n## Families of transformers\n");
  return begin == std::string::npos ? "" : page.substr(begin);
}

std::vector<PageRow> page_rows() {
  std::vector<PageRow> rows;
  for (const auto* all : {&decoders(), &encoders()}) {
    for (const Checkpoint& checkpoint : *all) rows.push_back({&checkpoint, published(checkpoint)});
  }
  return rows;
}

std::string without_measurements(const std::string& page) {
  std::string out;
  for (std::size_t line = 0; line < page.size();) {
    const std::size_t end = std::min(page.find('\n', line), page.size() - 1) + 1;
    std::size_t bar = line;
    for (std::size_t cell = 0; cell < kSteadyCells && bar < end; ++cell) bar = page.find('|', bar + 1);
    out += bar < end ? page.substr(line, bar + 1 - line) + "\n" : page.substr(line, end - line);
    line = end;
  }
  return out;
}

}  // namespace posenc::test
