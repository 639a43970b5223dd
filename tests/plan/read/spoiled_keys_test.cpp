// A config with one key spoiled never silently gives the same plan. Each key that a config is read by is taken out,
// misspelled, given another type and another sign, one at a time; then
//
//   the file is refused, or
//   a fact of the plan differs, or
//   the plan says so: a source, a key for which a default holds, or a warning, differs.
//
// A key that is listed as ignored bears on nothing and is left alone; so does what stands inside of lists, which are
// values.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::spoiled_keys_test {
namespace {

using io::JsonKind;
using io::JsonValue;

enum class Spoil { taken_out, misspelled, of_another_type, of_another_sign };
constexpr Spoil kSpoils[] = {Spoil::taken_out, Spoil::misspelled, Spoil::of_another_type, Spoil::of_another_sign};

std::string_view name(Spoil spoil) {
  switch (spoil) {
    case Spoil::taken_out: return "taken out";
    case Spoil::misspelled: return "misspelled";
    case Spoil::of_another_type: return "of another type";
    case Spoil::of_another_sign: return "of another sign";
  }
  return {};
}

// ---- a copy of a config in which one key is spoiled ----

// Two neighbouring letters change places: rope_theta -> rope_thtea. The last two that differ, since a change at the
// start is easier to see. Nothing where all letters are the same.
std::optional<std::string> misspelled(std::string_view key) {
  std::string out(key);
  for (std::size_t i = out.size(); i-- > 2;) {
    if (out[i] == out[i - 1] || out[i] == '_' || out[i - 1] == '_') continue;
    std::swap(out[i], out[i - 1]);
    return out;
  }
  return {};
}

void write_number(const JsonValue& value, bool negative, io::JsonWriter& json) {
  const std::int64_t sign = negative ? -1 : 1;
  const bool is_whole = value.text().find_first_of(".eE") == std::string_view::npos;
  if (const auto whole = value.as_int(); is_whole && whole) return json.value(sign * *whole);
  if (const auto number = value.as_double()) return json.value(static_cast<double>(sign) * *number);
  json.null();
}

void write_other_type(const JsonValue& value, io::JsonWriter& json) {
  switch (value.kind()) {
    case JsonKind::number:
    case JsonKind::boolean: return json.value("spoiled");
    case JsonKind::null:
    case JsonKind::string: return json.value(7);
    case JsonKind::array:
    case JsonKind::object: return json.value(true);
  }
}

class SpoiledCopy {
 public:
  SpoiledCopy(std::string pointer, Spoil spoil) : pointer_(std::move(pointer)), spoil_(spoil) {}

  std::string of(const JsonValue& root) {
    write(root);
    return json_.take();
  }

 private:
  void write(const JsonValue& value) {
    switch (value.kind()) {
      case JsonKind::null: return json_.null();
      case JsonKind::boolean: return json_.value(*value.as_bool());
      case JsonKind::number: return write_number(value, false, json_);
      case JsonKind::string: return json_.value(value.text());
      case JsonKind::array:
        json_.begin_array();
        for (const JsonValue& item : value.items()) write(item);
        return json_.end_array();
      case JsonKind::object:
        json_.begin_object();
        for (const JsonValue& item : value.items()) write_member(item);
        return json_.end_object();
    }
  }
  void write_member(const JsonValue& item) {
    const bool here = item.pointer() == pointer_;
    if (here && spoil_ == Spoil::taken_out) return;
    json_.key(here && spoil_ == Spoil::misspelled ? *misspelled(item.key()) : item.key());
    if (here && spoil_ == Spoil::of_another_type) return write_other_type(item, json_);
    if (here && spoil_ == Spoil::of_another_sign) return write_number(item, true, json_);
    write(item);
  }

  std::string pointer_;
  Spoil spoil_;
  io::JsonWriter json_;
};

bool can_spoil(const JsonValue& member, Spoil spoil) {
  if (spoil == Spoil::misspelled) return misspelled(member.key()).has_value();
  if (spoil == Spoil::of_another_sign) return member.kind() == JsonKind::number && member.as_double().value() != 0;
  return true;
}

// ---- what is spoiled, and what must come of it ----

bool is_within(std::string_view pointer, std::string_view ancestor) {
  return pointer == ancestor || (pointer.substr(0, ancestor.size()) == ancestor && pointer[ancestor.size()] == '/');
}

// Members of objects, of any depth, that the reader did not list as ignored.
void list_read_members(const JsonValue& object, const Plan& plan, std::vector<JsonValue>& members) {
  for (const JsonValue& member : object.items()) {
    const std::string pointer = member.pointer();
    const auto covers = [&](const std::string& ignored) { return is_within(pointer, ignored); };
    if (std::ranges::any_of(plan.ignored_keys, covers)) continue;
    members.push_back(member);
    if (member.kind() == JsonKind::object) list_read_members(member, plan, members);
  }
}

// Keys that may go without a word, and why. Each must be met, so that the list does not outlive its reasons.
struct Silent {
  std::string_view key;
  std::string_view why;
};
constexpr Silent kSilent[] = {
    {"model_type", "the architectures name the class as well, and a stack's own name only repeats the model's"},
    {"architectures", "the model_type names the class as well"},
};

const Silent* find_silent(std::string_view key, Spoil spoil) {
  if (spoil != Spoil::taken_out && spoil != Spoil::misspelled) return nullptr;
  const auto found = std::ranges::find(kSilent, key, &Silent::key);
  return found == std::end(kSilent) ? nullptr : found;
}

bool says_the_same(const Plan& a, const Plan& b) {
  return a.known == b.known && a.model_type == b.model_type && a.family == b.family &&
         a.trained_length == b.trained_length && a.stacks == b.stacks && a.sources == b.sources &&
         a.warnings == b.warnings && a.absent_keys == b.absent_keys;
}

// How many copies were read. `silent` gathers the exceptions that were met.
int spoil_each_key(const std::string& text, std::set<std::string_view>& silent) {
  const Result<Plan> whole = read(text);
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
  if (!whole || !document) return 0;
  std::vector<JsonValue> members;
  list_read_members(document->root(), *whole, members);
  int copies = 0;
  for (const JsonValue& member : members) {
    for (const Spoil spoil : kSpoils) {
      if (!can_spoil(member, spoil)) continue;
      const Result<Plan> plan = read(SpoiledCopy(member.pointer(), spoil).of(document->root()));
      ++copies;
      if (!plan || !says_the_same(*whole, *plan)) continue;
      if (const Silent* exception = find_silent(member.key(), spoil)) {
        silent.insert(exception->key);
      } else {
        ADD_FAILURE() << member.pointer() << " " << name(spoil) << " changes nothing";
      }
    }
  }
  return copies;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(SpoiledKeys, change_the_plan_of_our_own_configs) {
  std::set<std::string_view> silent;
  for (const FamilyConfig& config : family_configs()) {
    SCOPED_TRACE(config.id);
    EXPECT_GT(spoil_each_key(std::string(config.text), silent), 0);
  }
}

TEST(SpoiledKeys, change_the_plan_of_real_configs) {
  POSENC_NEED_DATA("configs");
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "configs")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::set<std::string_view> silent;
  int files = 0;
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename().string());
    if (spoil_each_key(content(path), silent) > 0) ++files;
  }
  EXPECT_GE(files, 20);
  for (const Silent& exception : kSilent) EXPECT_TRUE(silent.contains(exception.key)) << exception.key;
}

}  // namespace
}  // namespace posenc::test::spoiled_keys_test
