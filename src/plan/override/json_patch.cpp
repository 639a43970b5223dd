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

void copy(const JsonValue& value, JsonWriter& json) {
  switch (value.kind()) {
    case JsonKind::string: return json.value(value.text());
    case JsonKind::number: return json.verbatim(value.text());
    case JsonKind::boolean: return json.value(*value.as_bool());
    case JsonKind::null: return json.null();
    case JsonKind::array:
      json.begin_array();
      for (const JsonValue& entry : value.items()) copy(entry, json);
      return json.end_array();
    case JsonKind::object:
      json.begin_object();
      for (const JsonValue& member : value.items()) {
        json.key(member.key());
        copy(member, json);
      }
      return json.end_object();
  }
}

std::string quoted(std::string_view text) {
  JsonWriter json;
  json.value(text);
  return json.take();
}

// An object whose members come one by one: what is before the next is "{" or ", ".
class ObjectText {
 public:
  explicit ObjectText(std::string& out) : out_(out) { out_ += '{'; }
  void key(std::string_view json) {
    out_ += is_empty_ ? "" : ", ";
    out_ += json;
    out_ += ": ";
    is_empty_ = false;
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool is_empty_ = true;
};

bool has(const JsonValue& object, const std::string& member) {
  const auto found = object.find(member);
  return !found || *found;  // a key that stands twice is there
}

// What steps add to an object that has no such member; nothing: to a new one.
void add_missing(const std::vector<Pending>& pending, const std::optional<JsonValue>& object, ObjectText& text,
                 std::string& out) {
  std::vector<std::string_view> done;
  for (const Pending& one : pending) {
    if (std::ranges::find(done, one.next()) != done.end() || (object && has(*object, one.next()))) continue;
    done.push_back(one.next());
    if (const PatchStep* step = step_for(pending, one.next())) {
      if (step->removes) continue;
      text.key(quoted(one.next()));
      out += step->value;
    } else if (!one.step->removes) {
      text.key(quoted(one.next()));
      ObjectText inside(out);
      add_missing(below(pending, one.next()), {}, inside, out);
      inside.end();
    }
  }
}

// Behind the string whose opening quote stands at `at`, in a text that was parsed.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
  return at + 1;
}

std::size_t behind_value(std::string_view text, std::size_t at) {
  if (text[at] == '"') return behind_string(text, at);
  if (text[at] != '{' && text[at] != '[') return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  for (std::size_t depth = 0;;) {
    at = text.find_first_of("\"{}[]", at);
    if (text[at] == '"') {
      at = behind_string(text, at);
      continue;
    }
    depth = text[at] == '{' || text[at] == '[' ? depth + 1 : depth - 1;
    ++at;
    if (depth == 0) return at;
  }
}

// What no step is for stands as `text` has it, byte for byte: written anew, characters may take six times as many.
void patch(std::string_view text, const JsonValue& object, const std::vector<Pending>& pending, std::string& out) {
  ObjectText patched(out);
  auto at = static_cast<std::size_t>(object.offset());
  for (const JsonValue& member : object.items()) {
    const std::size_t key = text.find('"', at);
    const auto value = static_cast<std::size_t>(member.offset());
    at = behind_value(text, value);
    const PatchStep* step = step_for(pending, member.key());
    if (step != nullptr && step->removes) continue;
    patched.key(text.substr(key, behind_string(text, key) - key));
    if (step != nullptr) {
      out += step->value;
      continue;
    }
    const std::vector<Pending> inside = below(pending, member.key());
    if (inside.empty()) {
      out += text.substr(value, at - value);
    } else if (member.kind() == JsonKind::object) {
      patch(text, member, inside, out);
    } else {
      ObjectText made(out);
      add_missing(inside, {}, made, out);
      made.end();
    }
  }
  add_missing(pending, object, patched, out);
  patched.end();
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

std::string patched(std::string_view text, const io::JsonDocument& document, const std::vector<PatchStep>& steps) {
  std::vector<Pending> pending;
  std::size_t size = text.size();
  for (const PatchStep& step : steps) {
    pending.push_back({&step, 0});
    size += step.value.size();
  }
  std::string out;
  out.reserve(size);  // nearly all: the text is large where the file is
  patch(text, document.root(), pending, out);
  return out;
}

std::string compact_without(const JsonValue& object, std::vector<std::string_view> names) {
  std::ranges::sort(names);
  JsonWriter json(JsonLayout::line);
  json.begin_object();
  for (const JsonValue& member : object.items()) {
    if (std::ranges::binary_search(names, member.key())) continue;
    json.key(member.key());
    copy(member, json);
  }
  json.end_object();
  return json.take();
}

}  // namespace posenc::plan
