// A diagnosis of attention as text and as JSON (posenc/diagnose_attention.h).
#include "base/formatted.h"
#include "diagnose/words/findings_text.h"
#include "posenc/diagnose_attention.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kAttentionDiagnosisSchemaVersion = 1;

}  // namespace

std::string describe(const AttentionDiagnosis& diagnosis) {
  using port::counted;
  plan::TextLines lines;
  lines.add(0, port::verdict_line(diagnosis.verdict, diagnosis.findings));
  lines.add(2, formatted("looked at {}, {} and {}; unexplained {:.2g}, rounding makes up to {:.2g}",
                         diagnosis.queries == 1 ? std::string("1 query") : formatted("{} queries", diagnosis.queries),
                         counted(diagnosis.keys, "key"), counted(diagnosis.heads, "head"), diagnosis.unexplained,
                         diagnosis.allowed));
  if (diagnosis.stage) {
    const bool is_out = *diagnosis.stage == AttentionStage::out;
    lines.add(2, formatted("first different: {}", is_out ? "the output" : std::string(name(*diagnosis.stage))));
  }
  port::add_findings(lines, diagnosis.findings, diagnosis.confirmed, diagnosis.undecided, diagnosis.dump);
  return lines.take();
}

std::string to_json(const AttentionDiagnosis& diagnosis) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kAttentionDiagnosisSchemaVersion);
  json.member("verdict", name(diagnosis.verdict));
  if (diagnosis.stage) {
    json.member("stage", name(*diagnosis.stage));
  } else {
    json.null_member("stage");
  }
  json.member("unexplained", diagnosis.unexplained);
  json.member("allowed", diagnosis.allowed);
  json.member("queries", diagnosis.queries);
  json.member("keys", diagnosis.keys);
  json.member("heads", diagnosis.heads);
  port::write_findings(json, diagnosis.findings, diagnosis.confirmed, diagnosis.undecided, diagnosis.dump);
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
