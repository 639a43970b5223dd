// A plan's fields as a tree under their JSON keys, with each value in words, and what differs between two trees: for
// compare. A visitor of fields.h, so that a new field is compared at once.
#include "plan/json/fact_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "base/formatted.h"
#include "io/json/json_tree.h"
#include "io/json/json_writer.h"
#include "plan/json/plan_json.h"

namespace posenc::plan {
namespace {

// Lists of at most so many numbers are told number by number.
constexpr std::size_t kListed = 6;
// Bytes of a text that are told in words; its JSON has all.
constexpr std::size_t kShownWords = 256;
// Where a size of 0 is one that is not known (fields.h).
constexpr std::array<std::string_view, 4> kSizeKeys{"heads", "kv_heads", "head_dim", "value_dim"};

template <typename T>
Fact leaf(const T& what, std::string words) {
  io::JsonWriter json(io::JsonLayout::line);
  json.value(what);
  Fact fact;
  fact.json = json.take();
  fact.words = std::move(words);
  return fact;
}

template <typename T>
Fact list(const std::vector<T>& what, std::string_view between) {
  io::JsonWriter json(io::JsonLayout::line);
  json.numbers(std::span(what));
  Fact fact;
  fact.json = json.take();
  fact.numbers.assign(what.begin(), what.end());
  fact.is_real = std::is_same_v<T, double>;
  if (what.empty()) return fact;
  const auto [low, high] = std::minmax_element(what.begin(), what.end());
  fact.words =
      what.size() <= kListed ? joined(what, between) : formatted("{} numbers, {} to {}", what.size(), *low, *high);
  return fact;
}

std::string in_quotes(std::string_view text) {
  io::JsonWriter json(io::JsonLayout::line);
  json.value(text);
  return json.take();
}

using FactsByKey = std::unordered_map<std::string_view, const Fact*>;

// A list may have as many members as a file has room for.
FactsByKey members_by_key(const Fact& of) {
  FactsByKey out;
  for (const Fact& fact : of.members) out.emplace(fact.key, &fact);
  return out;
}

const Fact* member(const FactsByKey& of, std::string_view key) {
  const auto found = of.find(key);
  return found == of.end() ? nullptr : found->second;
}

// Lists that have their length and range in common are told apart by the first number that differs.
void tell_apart(FactDifference& difference) {
  Fact& a = difference.a;
  Fact& b = difference.b;
  if (a.words != b.words || a.numbers.size() != b.numbers.size()) return;
  const auto [in_a, in_b] = std::mismatch(a.numbers.begin(), a.numbers.end(), b.numbers.begin());
  if (in_a == a.numbers.end()) return;
  const auto at = in_a - a.numbers.begin();
  a.words += formatted(", [{}] is {}", at, *in_a);
  b.words += formatted(", [{}] is {}", at, *in_b);
}

void compare_members(const Fact& a, const Fact& b, const std::string& path, std::vector<FactDifference>& out) {
  if (a.json == b.json) return;
  if (!a.has_members || !b.has_members || a.kind != b.kind) {
    out.push_back({path, a, b});
    tell_apart(out.back());
    return;
  }
  const Fact absent;
  const auto compare_one = [&](const Fact* of_a, const Fact* of_b, const std::string& key) {
    compare_members(of_a != nullptr ? *of_a : absent, of_b != nullptr ? *of_b : absent,
                    path.empty() ? key : path + "/" + key, out);
  };
  const FactsByKey in_a = members_by_key(a);
  const FactsByKey in_b = members_by_key(b);
  for (const Fact& of_a : a.members) compare_one(&of_a, member(in_b, of_a.key), of_a.key);
  for (const Fact& of_b : b.members) {
    if (member(in_a, of_b.key) == nullptr) compare_one(nullptr, &of_b, of_b.key);
  }
}

}  // namespace

std::vector<FactDifference> differing(const Fact& a, const Fact& b) {
  std::vector<FactDifference> out;
  compare_members(a, b, "", out);
  return out;
}

void FactTree::add(std::string_view key, Fact fact) {
  fact.key = key;
  if (fact.json == "0" && std::find(kSizeKeys.begin(), kSizeKeys.end(), key) != kSizeKeys.end())
    fact.words = "not known";
  members_.push_back(std::move(fact));
}

void FactTree::field(std::string_view key, const std::vector<std::string>& what, Range) {
  io::JsonWriter json(io::JsonLayout::line);
  json.begin_array(io::JsonLayout::line);
  for (const std::string& text : what) json.value(text);
  json.end_array();
  Fact fact;
  fact.json = json.take();
  if (!what.empty()) fact.words = io::shorten(joined(what, ", "), kShownWords);
  add(key, std::move(fact));
}

Fact FactTree::take(std::string_view kind) {
  Fact object;
  object.kind = kind;
  object.has_members = true;
  object.words = kind;
  std::string json = kind.empty() ? "" : formatted("\"{}\": \"{}\"", kind_key_, kind);
  for (const Fact& member : members_) {
    json += formatted("{}\"{}\": {}", json.empty() ? "" : ", ", member.key, member.json);
    if (member.json == "null") continue;
    object.words += formatted("{}{} {}", object.words.empty() ? "" : ", ", member.key, member.words);
  }
  object.json = "{" + json + "}";
  object.members = std::move(members_);
  return object;
}

Fact FactTree::take_list() {
  Fact list;
  list.has_members = true;
  std::string json;
  std::string words;
  for (const Fact& member : members_) {
    json.append(json.empty() ? "" : ", ").append(member.json);
    words.append(words.empty() ? "" : "; ").append(member.words);
  }
  list.json = "[" + json + "]";
  if (!words.empty()) list.words = std::move(words);
  list.members = std::move(members_);
  return list;
}

Fact FactTree::fact(bool what) { return leaf(what, what ? "yes" : "no"); }
Fact FactTree::fact(std::int64_t what) { return leaf(what, formatted("{}", what)); }
Fact FactTree::fact(double what) {
  Fact number = leaf(what, formatted("{}", what));
  number.numbers = {what};
  number.is_real = true;
  return number;
}
Fact FactTree::fact(const std::string& what) {
  return leaf(what, what.empty() ? in_quotes(what) : io::shorten(what, kShownWords));
}
Fact FactTree::fact(const std::vector<std::int64_t>& what) { return list(what, " x "); }
Fact FactTree::fact(const std::vector<std::int32_t>& what) { return list(what, ", "); }
Fact FactTree::fact(const std::vector<double>& what) { return list(what, ", "); }

// What its JSON has (write.cpp), without what is computed from it.
Fact FactTree::fact(const Rotate& what) {
  const Rope& rope = posenc::rope(what);
  FactTree tree;
  tree.field("role", what.role);
  tree.field("heads", what.heads);
  tree.field("head_dim", rope.head_dim);
  tree.field("pairing", rope.pairing.get());
  tree.field("first_channel", rope.first_channel);
  tree.field("dim", rope.dim);
  tree.field("base", rope.base);
  tree.field("scaling", rope.scaling);
  tree.field("axes", rope.axes.names);
  tree.add("axis_of_pair", rope.axes.of_pair.empty() ? Fact{} : fact(rope.axes.of_pair));
  tree.field("axis_frequencies", rope.axis_frequencies);
  tree.field("rotation_direction", rope.rotation_direction);
  tree.field("offset", what.offset);
  if (const XPos* xpos = std::get_if<XPos>(&what.scheme)) tree.field("scale_base", xpos->scale_base);
  return tree.take(kind_name(what.scheme));
}

Fact layer_facts(const LayerPlan& layer) {
  FactTree tree;
  kind_fields(tree, layer);
  attention_fields(tree, layer);
  return tree.take();
}

Fact stack_facts(const Stack& stack) {
  FactTree tree;
  fields(tree, stack);
  return tree.take();
}

Fact plan_facts(const Plan& plan) {
  FactTree tree;
  fields(tree, plan);
  return tree.take();
}

}  // namespace posenc::plan
