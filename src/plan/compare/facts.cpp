// Which fields of two plans differ, and whether that is of substance or a note. A note: numbers equal as float32; a
// base or rule whose angles and attention factor agree within the tolerance, where no rule depends on the length.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "plan/compare/compare.h"
#include "plan/json/fact_tree.h"
#include "plan/json/plan_json.h"

namespace posenc::plan {
namespace {

Difference difference(DifferenceKind kind, FactDifference found) {
  Difference out;
  out.kind = kind;
  out.field = std::move(found.path);
  out.a = {std::move(found.a.json), std::move(found.a.words)};
  out.b = {std::move(found.b.json), std::move(found.b.words)};
  return out;
}

// Files of other formats hold a config's numbers as float32, and models compute with them.
bool are_one_float(const Fact& a, const Fact& b) {
  return a.is_real && b.is_real &&
         std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
                    [](double x, double y) { return static_cast<float>(x) == static_cast<float>(y); });
}

constexpr std::string_view kRotate = "rotate/";

// For "rotate/1/base": 1. Nothing for what does not enter the frequencies.
std::optional<std::size_t> rotation_of_frequency(std::string_view path) {
  if (!path.starts_with(kRotate)) return std::nullopt;
  std::size_t rotation = 0;
  const char* end = path.data() + path.size();
  const auto [stopped, error] = std::from_chars(path.data() + kRotate.size(), end, rotation);
  const std::string_view field(stopped, static_cast<std::size_t>(end - stopped));
  const bool enters = field == "/base" || field == "/axis_frequencies" || field == "/rotation_direction" ||
                      field.starts_with("/scaling");
  return error == std::errc{} && enters ? std::optional(rotation) : std::nullopt;
}

// The rotation alone, by its rule as it acts.
LayerPlan effective_rotation(const Rotate& rotate) {
  LayerPlan out;
  out.rotate = {rotate};
  const auto set = [](Rope& of) { of.scaling = effective_scaling(Rope(of)); };
  if (auto* xpos = std::get_if<XPos>(&out.rotate.front().scheme)) {
    set(xpos->rope);
  } else {
    set(std::get<Rope>(out.rotate.front().scheme));
  }
  return out;
}

// What makes an attention factor, in several ways.
constexpr std::string_view kOfAttentionFactor[] = {"/scaling/attention_factor", "/scaling/mscale",
                                                   "/scaling/mscale_all_dim",   "/scaling/short_mscale",
                                                   "/scaling/long_mscale",      "/scaling/factor"};

// Whether that difference, "/scaling/beta_fast" of a rotation, is one of spelling: the rules act alike in it.
bool is_spelling(std::string_view field, const Rotate& a, const Rotate& b) {
  const bool is_factor = std::ranges::find(kOfAttentionFactor, field) != std::end(kOfAttentionFactor);
  for (const FactDifference& left : differing(layer_facts(effective_rotation(a)), layer_facts(effective_rotation(b)))) {
    const std::string_view path = std::string_view(left.path).substr(std::string_view("rotate/0").size());
    const bool is_of_factor = is_factor && std::ranges::find(kOfAttentionFactor, path) != std::end(kOfAttentionFactor);
    const bool is_here = path.starts_with(field) || field.starts_with(path);
    if ((is_here || is_of_factor) && !are_one_float(left.a, left.b)) return false;
  }
  return true;
}

// Base, rule, ladder and sense matter by the angles that they give, unless those change with the length of the
// sequence.
DifferenceKind kind_of(const FactDifference& found, const LayerPlan& a, const LayerPlan& b, const CompareScope& scope) {
  const auto kind = [](bool is_note) { return is_note ? DifferenceKind::note : DifferenceKind::substance; };
  const std::optional<std::size_t> at = rotation_of_frequency(found.path);
  if (!at || *at >= a.rotate.size() || *at >= b.rotate.size()) return kind(are_one_float(found.a, found.b));
  const std::string_view field = std::string_view(found.path).substr(found.path.find('/', kRotate.size()));
  if (field.starts_with("/scaling") && is_spelling(field, a.rotate[*at], b.rotate[*at])) return DifferenceKind::note;
  const std::optional<AngleChange> angles = angle_change(a.rotate[*at], b.rotate[*at], scope);
  if (!angles || !angles_hold(*angles, scope) || !factors_hold(*angles, scope)) return DifferenceKind::substance;
  const bool varies = depends_on_length(rope(a.rotate[*at]).scaling) || depends_on_length(rope(b.rotate[*at]).scaling);
  return kind(!varies || are_one_float(found.a, found.b));
}

// Only == saw it: a member that this file's readers of a plan were not told about.
Difference unnamed(DifferenceKind kind) {
  Difference out;
  out.kind = kind;
  out.a = out.b = {"null", "another value of a fact that this comparison has no name for"};
  return out;
}

// A stack or layers that one plan has; null for the other.
Difference presence(std::string_view field, std::string_view what, const std::string* a, const std::string* b) {
  const auto value = [&](const std::string* text) -> ComparedValue {
    if (text == nullptr) return {"null", formatted("no such {}", what)};
    io::JsonWriter json(io::JsonLayout::line);
    json.value(*text);
    return {json.take(), text->empty() ? "nameless" : *text};
  };
  Difference out;
  out.field = field;
  out.a = value(a);
  out.b = value(b);
  return out;
}

// By all members: lists may be as long as a file, and are not searched for each of their elements.
auto members(const std::string& text) { return std::tie(text); }
auto members(const ValueSource& source) { return std::tie(source.where, source.from); }
auto members(const Warning& warning) { return std::tie(warning.code, warning.message, warning.keys); }

// Whether a page shows the elements of a list or how many there are: lists of keys and sources are long, and JSON has
// them.
enum class Shown : std::uint8_t { count, all };

// The elements of `of` that `other` has not.
template <typename T, typename Text>
ComparedValue only(const std::vector<T>& of, const std::vector<T>& other, Text text, Shown shown) {
  std::set<decltype(members(std::declval<const T&>()))> others;
  for (const T& element : other) others.insert(members(element));
  io::JsonWriter json(io::JsonLayout::line);
  json.begin_array(io::JsonLayout::line);
  std::size_t count = 0;
  std::string all;
  for (const T& element : of) {
    if (others.contains(members(element))) continue;
    json.value(text(element));
    if (shown == Shown::all) all += (count == 0 ? "" : "; ") + text(element);
    ++count;
  }
  json.end_array();
  if (count == 0) return {json.take(), "none"};
  return {json.take(), shown == Shown::all ? all : formatted("{} that the other has not", count)};
}

template <typename T, typename Text>
void add_lists(std::string_view field, const std::vector<T>& a, const std::vector<T>& b, Text text,
               std::vector<Difference>& out, Shown shown = Shown::count) {
  if (a == b) return;
  Difference& found = out.emplace_back();
  found.kind = DifferenceKind::note;
  found.field = field;
  found.a = only(a, b, text, shown);
  found.b = only(b, a, text, shown);
}

bool has_learned_table(const Plan& plan) {
  return std::ranges::any_of(plan.stacks, [](const Stack& stack) {
    return std::ranges::any_of(stack.input,
                               [](const InputScheme& input) { return std::holds_alternative<LearnedInput>(input); });
  });
}

// Of the plan's own members the length that rules are asked for is computed with; and where positions are rows of a
// learned table, the trained length says which of them there are (GGUF has it beside the table).
DifferenceKind kind_of_plan_fact(std::string_view path, const Plan& a, const Plan& b) {
  const bool is_of_table = path == "trained_length" && has_learned_table(a) && has_learned_table(b);
  return path == "length" || is_of_table ? DifferenceKind::substance : DifferenceKind::note;
}

}  // namespace

std::vector<Difference> layer_differences(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope) {
  if (a == nullptr || b == nullptr) {
    const auto kind = [](const LayerPlan* layer) {
      return layer == nullptr ? "" : std::string(enum_name(layer->kind));
    };
    const std::string of_a = kind(a);
    const std::string of_b = kind(b);
    return {presence("kind", "layer", a == nullptr ? nullptr : &of_a, b == nullptr ? nullptr : &of_b)};
  }
  std::vector<Difference> out;
  const bool is_kind_enough = a->kind != b->kind && (has_index_and_kind_only(*a) || has_index_and_kind_only(*b));
  for (FactDifference& found : differing(layer_facts(*a), layer_facts(*b))) {
    if (is_kind_enough && found.path != "kind") continue;
    const DifferenceKind kind = kind_of(found, *a, *b, scope);
    out.push_back(difference(kind, std::move(found)));
  }
  LayerPlan moved = *b;
  moved.index = a->index;
  if (out.empty() && *a != moved) out.push_back(unnamed(DifferenceKind::substance));
  return out;
}

std::vector<Difference> stack_differences(const StackPair& stacks) {
  if (stacks.a == nullptr || stacks.b == nullptr) {
    return {presence("name", "stack", stacks.a == nullptr ? nullptr : &stacks.a->name,
                     stacks.b == nullptr ? nullptr : &stacks.b->name)};
  }
  std::vector<Difference> out;
  for (FactDifference& found : differing(stack_facts(*stacks.a), stack_facts(*stacks.b))) {
    const DifferenceKind kind = found.path == "name" ? DifferenceKind::note : DifferenceKind::substance;
    out.push_back(difference(kind, std::move(found)));
  }
  Stack bare_a = *stacks.a;
  Stack bare_b = *stacks.b;
  bare_a.layers.clear();
  bare_b.layers.clear();
  if (out.empty() && bare_a != bare_b) out.push_back(unnamed(DifferenceKind::substance));
  return out;
}

std::vector<Difference> plan_differences(const Plan& a, const Plan& b) {
  std::vector<Difference> out;
  for (FactDifference& found : differing(plan_facts(a), plan_facts(b))) {
    if (found.path == "absent_keys" || found.path == "ignored_keys") continue;
    const DifferenceKind kind = kind_of_plan_fact(found.path, a, b);
    out.push_back(difference(kind, std::move(found)));
  }
  add_lists(
      "sources", a.sources, b.sources, [](const ValueSource& s) { return s.where + ": " + s.from; }, out);
  add_lists(
      "absent_keys", a.absent_keys, b.absent_keys, [](const std::string& key) { return key; }, out);
  add_lists(
      "ignored_keys", a.ignored_keys, b.ignored_keys, [](const std::string& key) { return key; }, out);
  add_lists(
      "warnings", a.warnings, b.warnings, [](const Warning& w) { return w.code + ": " + w.message; }, out, Shown::all);
  Plan bare_a = a;
  Plan bare_b = b;
  bare_a.stacks.clear();
  bare_b.stacks.clear();
  if (out.empty() && bare_a != bare_b) out.push_back(unnamed(DifferenceKind::note));
  return out;
}

}  // namespace posenc::plan
