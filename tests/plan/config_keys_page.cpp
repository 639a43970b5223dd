#include "plan/config_keys_page.h"

#include <string_view>

#include "plan/keys/key_notes.h"

namespace posenc::test {
namespace {

constexpr std::string_view kHead = R"(# The keys of a config

Every key that the reader of configs asks for, and every key that it leaves out on purpose. A key that stands in none
of these tables is not known: `posenc inspect` lists it as ignored, and warns (`unknown-key`) where its name differs by
a letter or two from one that is read. Which of two keys wins, and what each family makes of them:
[config-reading.md](config-reading.md).

This page is printed from the reader's own tables by `write_config_keys`; a test compares them.

## Keys that are read

In the object of the stack that they speak of. Names in one row mean the same; the first one that a file has is read,
and a warning (`precedence`) says where another disagrees.

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

}  // namespace

std::string config_keys_page() {
  std::string out(kHead);
  out += "| key | meaning |\n| --- | --- |\n";
  for (const plan::Key* key : plan::position_keys()) out += row(codes(key->names), key->about);
  out.append(kDictionaries).append("| key | meaning |\n| --- | --- |\n");
  for (const plan::KeyNote& note : plan::dictionary_keys()) out += row(code(note.name), note.about);
  out += kMisleading;
  out += left_out(plan::keys_that_mislead(), "| keys | why they decide nothing |\n| --- | --- |\n");
  out += kOthers;
  out += left_out(plan::keys_of_other_things(), "| keys | about |\n| --- | --- |\n");
  return out;
}

}  // namespace posenc::test
