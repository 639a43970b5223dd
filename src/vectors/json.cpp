// PortCheck -> JSON (posenc/vectors.h).
#include "io/json/json_writer.h"
#include "posenc/vectors.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2 {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kPortCheckSchemaVersion = 1;

void write_word_or_null(JsonWriter& json, std::string_view key, const std::string& text) {
  if (text.empty()) {
    json.null_member(key);
  } else {
    json.member(key, text);
  }
}

void write_checked(JsonWriter& json, const CheckedTensor& one) {
  json.begin_object();
  json.member("name", one.name);
  json.member("dtype", golden::dtype_word(one.dtype));
  json.member("axes", one.layout);
  json.member("passes", one.passes);
  json.member("largest", one.largest);
  json.member("over_bound", one.over_bound);
  json.key("worst");
  json.numbers(std::span(one.worst));
  json.member("got", one.got);
  json.member("expected", one.expected);
  json.member("bound", one.bound);
  json.member("elements", one.elements);
  json.member("above", one.above);
  write_word_or_null(json, "remark", one.remark);
  json.end_object();
}

void write_finding(JsonWriter& json, const PortFinding& finding) {
  json.begin_object();
  json.member("fact", name(finding.fact));
  json.member("found", finding.found);
  json.member("expected", finding.expected);
  json.member("unexplained", finding.unexplained);
  json.member("confidence", finding.confidence);
  write_word_or_null(json, "mend", finding.mend);
  json.end_object();
}

// On one line: within strings line breaks are escaped.
std::string on_one_line(const std::string& json) {
  std::string out;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] != '\n') {
      out += json[at];
      continue;
    }
    while (at + 1 < json.size() && json[at + 1] == ' ') ++at;
    if (out.back() == ',') out += ' ';
  }
  return out;
}

}  // namespace

std::string to_json(const PortCheck& check) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", kPortCheckSchemaVersion);
  json.member("passes", check.passes);
  write_word_or_null(json, "first_failure", check.first_failure);
  json.key("tensors");
  json.begin_array();
  for (const CheckedTensor& one : check.tensors) write_checked(json, one);
  json.end_array();
  write_word_or_null(json, "diagnosed", check.diagnosed);
  json.key("diagnosis");
  if (check.diagnosis) {
    json.verbatim(on_one_line(to_json(*check.diagnosis)));
  } else {
    json.null();
  }
  json.key("findings");
  json.begin_array();
  for (const PortFinding& finding : check.findings) write_finding(json, finding);
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
