// io::JsonDocument: any text gives a document or a sound error within the memory that is promised; every value of a
// document answers every question; and what is written of it reads back as the same.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "support/heap_probe.h"
#include "support/write_json_value.h"

namespace posenc::fuzz {
namespace {

using io::JsonDocument;
using io::JsonKind;
using io::JsonValue;

constexpr std::string_view kName = "fuzz.json";

template <typename T>
void ask(const Result<T>& answer, std::string_view text) {
  if (!answer) must_be_sound(answer.error(), text, kName);
}

// An error counts the lines before its place: asked of every value, that takes quadratic time. So a few values are
// asked, of one document in as many.
constexpr int kAskedForErrors = 8;
constexpr std::uint64_t kDocuments = 4;

void ask_everything(const JsonValue& value, std::string_view text) {
  ask(value.as_bool(), text);
  ask(value.as_double(), text);
  ask(value.as_int(), text);
  ask(value.as_string(), text);
  must_be_sound(value.error(ErrorKind::type, "another value"), text, kName);
}

void ask_number(const JsonValue& value) {
  const Result<double> number = value.as_double();
  const Result<std::int64_t> whole = value.as_int();
  must(!number || std::isfinite(*number), "a number is finite");
  // Where both answer they agree: an integer beyond 2^53 is the double that is nearest.
  must(!whole || (number && *number == static_cast<double>(*whole)), "an integer is its double");
}

void walk(const JsonValue& value, std::string_view text, int& asked) {
  must(value.offset() >= 0 && value.offset() < static_cast<std::int64_t>(text.size()), "a value lies in the text");
  if (asked++ < kAskedForErrors) ask_everything(value, text);
  if (value.kind() == JsonKind::number) ask_number(value);
  const std::vector<JsonValue> items = value.items();
  must(value.size() == static_cast<std::int64_t>(items.size()), "a container has as many items as it says");
  for (const JsonValue& item : items) {
    if (value.kind() == JsonKind::object) {
      const auto found = value.find(item.key());
      ask(found, text);
      must(!found || (*found && (*found)->offset() == item.offset()), "a key that stands once finds its value");
    }
    walk(item, text, asked);
  }
}

// The same but for numbers that JSON cannot hold, which were written as null.
bool same(const JsonValue& a, const JsonValue& b) {
  const bool no_number = a.kind() == JsonKind::number && !a.as_double();
  if (no_number) return b.is_null();
  if (a.kind() != b.kind() || a.key() != b.key() || a.size() != b.size()) return false;
  if (a.kind() == JsonKind::number) return *a.as_double() == *b.as_double();
  if (a.kind() == JsonKind::boolean) return *a.as_bool() == *b.as_bool();
  if (a.text() != b.text()) return false;
  const std::vector<JsonValue> left = a.items();
  const std::vector<JsonValue> right = b.items();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!same(left[i], right[i])) return false;
  }
  return true;
}

void write_and_read_again(const JsonDocument& document) {
  io::JsonWriter json;
  test::write_json_value(document.root(), json);
  const std::string written = json.take();
  const Result<JsonDocument> again = JsonDocument::parse(written, kName);
  must(again.ok(), "what is written can be read");
  must(same(document.root(), again->root()), "what is written reads as the same");
  must(document.duplicates().size() == again->duplicates().size(), "what is written has the same duplicate keys");
}

}  // namespace

void run_one(std::string_view bytes) {
  const test::HeapProbe probe;
  const Result<JsonDocument> document = JsonDocument::parse(bytes, kName);
  const auto bound = test::json_heap_bound(static_cast<std::int64_t>(bytes.size()));
  must(probe.peak_growth() <= bound, "parsing takes at most 24 bytes per byte and 1 MiB");
  if (!document) return must_be_sound(document.error(), bytes, kName);
  int asked = hash(bytes) % kDocuments == 0 ? 0 : kAskedForErrors;
  walk(document->root(), bytes, asked);
  write_and_read_again(*document);
}

}  // namespace posenc::fuzz
