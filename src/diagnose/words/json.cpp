// Diagnosis -> JSON (posenc/diagnose.h).
#include "diagnose/words/findings_text.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2 {
namespace port {
namespace {

using io::JsonWriter;

constexpr std::int64_t kDiagnosisSchemaVersion = 1;

void write_place(JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& value) {
  json.key(key);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_text_or_null(JsonWriter& json, std::string_view key, const std::string& text) {
  if (text.empty()) {
    json.null_member(key);
  } else {
    json.member(key, text);
  }
}

}  // namespace

void write_list(io::JsonWriter& json, std::string_view key, const std::vector<PortFinding>& findings) {
  json.key(key);
  json.begin_array();
  for (const PortFinding& finding : findings) {
    json.begin_object();
    json.member("fact", name(finding.fact));
    json.member("found", finding.found);
    write_text_or_null(json, "expected", finding.expected);
    json.member("unexplained", finding.unexplained);
    json.member("confidence", finding.confidence);
    json.member("tokens", finding.tokens);
    json.member("channels", finding.channels);
    write_place(json, "first_sequence", finding.first_sequence);
    write_place(json, "first_token", finding.first_token);
    write_text_or_null(json, "mend", finding.mend);
    json.end_object();
  }
  json.end_array();
}

void write_findings(JsonWriter& json, const std::vector<PortFinding>& findings,
                    const std::vector<PortFinding>& confirmed, const std::vector<std::string>& undecided,
                    const std::string& dump) {
  write_list(json, "findings", findings);
  write_list(json, "confirmed", confirmed);
  json.key("undecided");
  json.begin_array();
  for (const std::string& sentence : undecided) json.value(sentence);
  json.end_array();
  write_text_or_null(json, "dump", dump);
}

void write_diagnosis(io::JsonWriter& json, const Diagnosis& diagnosis) {
  json.begin_object();
  json.member("schema_version", kDiagnosisSchemaVersion);
  json.member("verdict", name(diagnosis.verdict));
  json.member("unexplained", diagnosis.unexplained);
  json.member("noise", diagnosis.noise);
  json.member("sequences", diagnosis.sequences);
  json.member("tokens", diagnosis.tokens);
  json.member("heads", diagnosis.heads);
  json.member("channels", diagnosis.channels);
  write_findings(json, diagnosis.findings, diagnosis.confirmed, diagnosis.undecided, diagnosis.dump);
  json.end_object();
}

}  // namespace port

std::string to_json(const Diagnosis& diagnosis) {
  io::JsonWriter json;
  port::write_diagnosis(json, diagnosis);
  return json.take();
}

}  // namespace posenc::inline v0_2
