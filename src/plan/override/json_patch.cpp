#include "plan/override/json_patch.h"

#include <algorithm>
#include <span>

#include "io/json/json_writer.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonLayout;
using io::JsonValue;
using io::JsonWriter;

// RFC 6901
std::string pointer_of(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& member : path) {
    out += '/';
    for (const char c : member) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

// A step that has come so far down its path.
struct Pending {
  const PatchStep* step;
  std::size_t depth;

  bool is_here() const { return step->path.size() == depth + 1; }
  const std::string& next() const { return step->path[depth]; }
};

std::vector<Pending> below(const std::vector<Pending>& pending, std::string_view member) {
  std::vector<Pending> out;
  for (const Pending& one : pending) {
    if (one.next() == member && !one.is_here()) out.push_back({one.step, one.depth + 1});
  }
  return out;
}

// The last word on a member of this object, if a step has one.
const PatchStep* step_for(const std::vector<Pending>& pending, std::string_view member) {
  const PatchStep* found = nullptr;
  for (const Pending& one : pending) {
    if (one.is_here() && one.next() == member) found = one.step;
  }
  return found;
}

// Levels of a text that have lines of their own; deeper, indentation would be longer than what it indents.
constexpr int kLevels = 10;

JsonLayout layout_at(int level) { return level < kLevels ? JsonLayout::lines : JsonLayout::line; }

void copy(const JsonValue& value, const std::vector<Pending>& pending, int level, JsonWriter& json);

void copy_scalar(const JsonValue& value, JsonWriter& json) {
  switch (value.kind()) {
    case JsonKind::string: return json.value(value.text());
    case JsonKind::number: return json.verbatim(value.text());
    case JsonKind::boolean: return json.value(*value.as_bool());
    default: return json.null();
  }
}

// What steps add to an object that has no such member.
void add_missing(const std::vector<Pending>& pending, const std::vector<std::string_view>& there, JsonWriter& json) {
  std::vector<std::string_view> done = there;
  for (const Pending& one : pending) {
    if (std::ranges::find(done, one.next()) != done.end()) continue;
    done.push_back(one.next());
    if (const PatchStep* step = step_for(pending, one.next())) {
      if (step->removes) continue;
      json.key(one.next());
      json.verbatim(step->value);
    } else if (!one.step->removes) {
      json.key(one.next());
      json.begin_object();
      add_missing(below(pending, one.next()), {}, json);
      json.end_object();
    }
  }
}

void copy_object(const JsonValue& value, const std::vector<Pending>& pending, int level, JsonWriter& json) {
  json.begin_object(layout_at(level));
  std::vector<std::string_view> there;
  for (const JsonValue& member : value.items()) {
    there.push_back(member.key());
    const PatchStep* step = step_for(pending, member.key());
    if (step != nullptr && step->removes) continue;
    json.key(member.key());
    if (step != nullptr) {
      json.verbatim(step->value);
      continue;
    }
    const std::vector<Pending> inside = below(pending, member.key());
    if (!inside.empty() && member.kind() != JsonKind::object) {
      json.begin_object();
      add_missing(inside, {}, json);
      json.end_object();
    } else {
      copy(member, inside, level + 1, json);
    }
  }
  add_missing(pending, there, json);
  json.end_object();
}

void copy(const JsonValue& value, const std::vector<Pending>& pending, int level, JsonWriter& json) {
  if (value.kind() == JsonKind::object) return copy_object(value, pending, level, json);
  if (value.kind() != JsonKind::array) return copy_scalar(value, json);
  json.begin_array(layout_at(level));
  for (const JsonValue& entry : value.items()) copy(entry, {}, level + 1, json);
  json.end_array();
}

}  // namespace

std::string patch_text(const std::vector<PatchStep>& steps) {
  JsonWriter json;
  json.begin_array();
  for (const PatchStep& step : steps) {
    json.begin_object(JsonLayout::line);
    json.member("op", step.removes ? "remove" : "add");
    json.member("path", pointer_of(step.path));
    if (!step.removes) {
      json.key("value");
      json.verbatim(step.value);
    }
    json.end_object();
  }
  json.end_array();
  return json.take();
}

std::string patched(const io::JsonDocument& document, const std::vector<PatchStep>& steps) {
  std::vector<Pending> pending;
  for (const PatchStep& step : steps) pending.push_back({&step, 0});
  JsonWriter json;
  copy(document.root(), pending, 0, json);
  return json.take();
}

std::string compact_without(const JsonValue& object, std::vector<std::string_view> names) {
  std::ranges::sort(names);
  JsonWriter json(JsonLayout::line);
  json.begin_object();
  for (const JsonValue& member : object.items()) {
    if (std::ranges::binary_search(names, member.key())) continue;
    json.key(member.key());
    copy(member, {}, 1, json);
  }
  json.end_object();
  return json.take();
}

}  // namespace posenc::plan
