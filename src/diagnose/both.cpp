// diagnose_both() of posenc/diagnose.h: each tensor by itself, then what queries and keys tell of each other.
#include <algorithm>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/findings.h"
#include "diagnose/words/findings_text.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kBothSchemaVersion = 1;

// The worse first.
int rank(PortVerdict verdict) {
  switch (verdict) {
    case PortVerdict::differs: return 0;
    case PortVerdict::cannot_tell: return 1;
    case PortVerdict::recovered: return 2;
    case PortVerdict::as_the_plan: return 3;
  }
  return 0;
}

PortVerdict worse(PortVerdict a, PortVerdict b) { return rank(a) <= rank(b) ? a : b; }

// Whether nothing known made the tensor of what is said to be before it.
bool is_unrelated(const Diagnosis& d) {
  return d.verdict == PortVerdict::cannot_tell ||
         (d.verdict == PortVerdict::differs && std::ranges::any_of(d.findings, port::is_open));
}

bool is_explained(const Diagnosis& d) {
  const bool open = std::ranges::any_of(d.findings, port::is_open);
  return d.verdict == PortVerdict::as_the_plan || d.verdict == PortVerdict::recovered ||
         (d.verdict == PortVerdict::differs && !d.findings.empty() && !open);
}

bool same_shape(const ConstTensorView& a, const ConstTensorView& b) { return a.rank == b.rank && a.shape == b.shape; }

// A permutation of channels, and nothing else.
const PortFinding* only_order(const Diagnosis& d) {
  if (d.verdict != PortVerdict::differs || d.findings.size() != 1) return nullptr;
  const PortFinding& finding = d.findings.front();
  return finding.fact == PortFact::channel_order && port::is_permutation(finding) ? &finding : nullptr;
}

void forgive_order(BothDiagnosis& both) {
  const PortFinding* of_queries = only_order(both.queries);
  const PortFinding* of_keys = only_order(both.keys);
  if (of_queries == nullptr || of_keys == nullptr || of_queries->found != of_keys->found) return;
  const std::string sentence =
      formatted("channels of queries and keys come out in another order alike ({}), which leaves scores as they are",
                of_queries->found);
  for (Diagnosis* d : {&both.queries, &both.keys}) {
    d->verdict = PortVerdict::as_the_plan;
    d->findings.clear();
    d->undecided.push_back(sentence);
  }
}

}  // namespace

BothDiagnosis diagnose_both(const DiagnoseArgs& queries, const DiagnoseArgs& keys) {
  BothDiagnosis out{.queries = diagnose(queries), .keys = diagnose(keys)};
  const bool fits = same_shape(queries.before, keys.before) && same_shape(queries.after, keys.after);
  if (fits && is_unrelated(out.queries) && is_unrelated(out.keys)) {
    DiagnoseArgs crossed = queries;
    crossed.after = keys.after;
    DiagnoseArgs other = keys;
    other.after = queries.after;
    Diagnosis of_queries = diagnose(crossed);
    Diagnosis of_keys = diagnose(other);
    if (is_explained(of_queries) && is_explained(of_keys)) {
      out.findings.push_back({.fact = PortFact::exchanged,
                              .found = "queries come out as keys, and keys as queries",
                              .expected = "each as itself",
                              .unexplained = std::max(of_queries.unexplained, of_keys.unexplained),
                              .confidence = 1.0 - 1e-6,
                              .tokens = of_queries.tokens * of_queries.sequences,
                              .channels = of_queries.channels,
                              .mend = "look at the order in which a joint projection is split"});
      out.queries = std::move(of_queries);
      out.keys = std::move(of_keys);
    }
  }
  forgive_order(out);
  out.verdict = out.findings.empty() ? worse(out.queries.verdict, out.keys.verdict) : PortVerdict::differs;
  return out;
}

std::string describe(const BothDiagnosis& diagnosis) {
  plan::TextLines lines;
  std::vector<PortFinding> all = diagnosis.findings;
  for (const Diagnosis* d : {&diagnosis.queries, &diagnosis.keys}) {
    if (d->verdict == PortVerdict::differs) all.insert(all.end(), d->findings.begin(), d->findings.end());
  }
  lines.add(0, port::verdict_line(diagnosis.verdict, all));
  port::add_findings(lines, diagnosis.findings, {}, {}, "");
  return lines.take() + "\nqueries: " + describe(diagnosis.queries) + "\nkeys: " + describe(diagnosis.keys);
}

std::string to_json(const BothDiagnosis& diagnosis) {
  io::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kBothSchemaVersion);
  json.member("verdict", name(diagnosis.verdict));
  port::write_list(json, "findings", diagnosis.findings);
  json.key("queries");
  port::write_diagnosis(json, diagnosis.queries);
  json.key("keys");
  port::write_diagnosis(json, diagnosis.keys);
  json.end_object();
  return json.take();
}

}  // namespace posenc::inline v0_2
