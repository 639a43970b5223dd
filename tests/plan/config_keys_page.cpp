#include "plan/config_keys_page.h"

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "plan/families/asked_keys.h"
#include "plan/keys/key_notes.h"

namespace posenc::test {
namespace {

constexpr std::string_view kHead = R"(# The keys of a config

Every key that the reader of configs asks for, and every key that it leaves out on purpose. A key that stands in none
of these tables is not known: `posenc inspect` lists it as ignored, and warns (`unknown-key`) where its name differs by
a letter or two from one that is read. Which of two keys wins, and what each family makes of them:
[config-reading.md](config-reading.md).

This page is printed from the reader's own tables by `write_config_keys`, which asks the reader itself which keys it wants
of which family; a test compares them.

## Families

What the reader asks for in a small file of each family, beside [what it asks of most](#keys-of-most-families) and in the
[rope dictionaries](#keys-of-the-rope-dictionaries). Of a family that stands in no row it asks for nothing else. A key that
only counts where another one is given may be missing here, and stands in the tables below.

)";

constexpr std::string_view kMost = R"(
## Keys of most families

In the object of the stack that they speak of. Names in one row mean the same; the first one that a file has is read,
and a warning (`precedence`) says where another disagrees.

)";

constexpr std::string_view kSome = R"(
## Keys of some families

)";

constexpr std::string_view kRest = R"(
## Keys of vision and audio stacks, and keys that only count beside others

The small files that the tables above were made with do not ask for these.

)";

constexpr std::string_view kDictionaries = R"(
## Keys of the rope dictionaries

In `rope_parameters` or `rope_scaling`, flat or in a dictionary for each layer type.

)";

constexpr std::string_view kMisleading = R"(
## Keys that look like position keys, and are not

)";

constexpr std::string_view kOthers = R"(
## Keys of other things

No position depends on them.

)";

std::string code(std::string_view name) { return "`" + std::string(name) + "`"; }

// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '|' ? "\\" : "").push_back(c);
  return out;
}

std::string codes(plan::Names names) {
  std::string out;
  for (std::string_view name : names) out.append(out.empty() ? "" : " ").append(code(name));
  return out;
}

std::string row(const std::string& names, std::string_view about) {
  return "| " + names + " | " + cell(about) + " |\n";
}

std::string left_out(std::span<const plan::LeftOut> groups, std::string_view head) {
  std::string out(head);
  for (const plan::LeftOut& group : groups) out += row(codes(group.names), group.why);
  return out;
}

using Families = std::vector<std::string>;

// Who asks for a key.
Families askers(const std::map<std::string, AskedKeys>& asked, const plan::Key& key) {
  Families families;
  for (const auto& [family, keys] : asked) {
    if (keys.contains(key.names.text())) families.push_back(family);
  }
  return families;
}

// Of so many families a key need not be said again with each.
bool of_most(const std::map<std::string, AskedKeys>& asked, std::size_t families) {
  return 4 * families >= asked.size();
}

std::string listed(const Families& families) {
  constexpr std::size_t kNamed = 8;  // more make a row too wide, and are found from their own
  std::string out;
  for (std::size_t i = 0; i < families.size() && i < kNamed; ++i) out += (i == 0 ? "" : ", ") + families[i];
  if (families.size() > kNamed) out += ", and " + std::to_string(families.size() - kNamed) + " more";
  return out;
}

// A note that speaks of the key before it, in whose table it stays.
bool goes_on(std::string_view about) {
  return about.starts_with("and ") || about.starts_with("its ") || about.starts_with("the same");
}

// Families that ask for the same keys share a row.
std::string families_table(const std::map<std::string, AskedKeys>& asked) {
  std::map<std::string, Families> families_of;
  for (const auto& [family, keys] : asked) {
    std::string own;
    for (const plan::Key* key : plan::position_keys()) {
      if (!keys.contains(key->names.text()) || of_most(asked, askers(asked, *key).size())) continue;
      const std::string name = code(key->name());  // which two keys may share, each of another class
      if (own.find(name) == std::string::npos) own.append(own.empty() ? "" : " ").append(name);
    }
    if (!own.empty()) families_of[own].push_back(family);
  }
  std::map<Families, std::string> rows;
  for (const auto& [own, families] : families_of) rows[families] = own;
  std::string out = "| families | keys |\n| --- | --- |\n";
  for (const auto& [families, own] : rows) {
    std::string names;
    for (const std::string& family : families) names += (names.empty() ? "" : ", ") + family;
    out += row(names, own);
  }
  return out;
}

}  // namespace

std::string config_keys_page() {
  const std::map<std::string, AskedKeys> asked = asked_keys();
  std::string most = "| key | meaning |\n| --- | --- |\n";
  std::string some = "| key | meaning | families |\n| --- | --- | --- |\n";
  std::string rest = "| key | meaning |\n| --- | --- |\n";
  std::string* table = &most;
  for (const plan::Key* key : plan::position_keys()) {
    const Families families = askers(asked, *key);
    if (!goes_on(key->about)) {
      table = families.empty() ? &rest : of_most(asked, families.size()) ? &most : &some;
    }
    *table += table == &some ? "| " + codes(key->names) + " | " + cell(key->about) + " | " + listed(families) + " |\n"
                             : row(codes(key->names), key->about);
  }
  std::string out(kHead);
  out.append(families_table(asked)).append(kMost).append(most).append(kSome).append(some);
  out.append(kRest).append(rest);
  out.append(kDictionaries).append("| key | meaning |\n| --- | --- |\n");
  for (const plan::KeyNote& note : plan::dictionary_keys()) out += row(code(note.name), note.about);
  out += kMisleading;
  out += left_out(plan::keys_that_mislead(), "| keys | why they decide nothing |\n| --- | --- |\n");
  out += kOthers;
  out += left_out(plan::keys_of_other_things(), "| keys | about |\n| --- | --- |\n");
  return out;
}

}  // namespace posenc::test
