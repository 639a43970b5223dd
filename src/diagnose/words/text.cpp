// A diagnosis as text: the verdict, what was found, what is as it should be, and what is open.
#include <string>

#include "base/formatted.h"
#include "diagnose/words/findings_text.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2 {
namespace port {
namespace {

using plan::TextLines;

// "from token 4097 of sequence 0 on"
std::string place_words(const PortFinding& finding) {
  if (!finding.first_token) return "";
  return formatted(", from token {} of sequence {} on", *finding.first_token, finding.first_sequence.value_or(0));
}

void add_finding(TextLines& lines, const PortFinding& finding) {
  const std::string expected = finding.expected.empty() ? "" : formatted("; expected {}", finding.expected);
  lines.add(2, formatted("{}: {}{}{}", name(finding.fact), finding.found, place_words(finding), expected));
  const std::string channels = finding.channels > 0 ? " and " + counted(finding.channels, "channel") : "";
  lines.add(4, formatted("confidence {:.3g}, unexplained {:.2g}; seen in {}{}", finding.confidence, finding.unexplained,
                         counted(finding.tokens, "token"), channels));
  if (!finding.mend.empty()) lines.add(4, formatted("to mend it: {}", finding.mend));
}

}  // namespace

std::string counted(std::int64_t count, std::string_view thing) {
  return formatted("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string verdict_line(PortVerdict verdict, const std::vector<PortFinding>& findings) {
  std::vector<std::string> facts;
  for (const PortFinding& finding : findings) {
    const std::string fact(name(finding.fact));
    if (facts.empty() || facts.back() != fact) facts.push_back(fact);
  }
  const bool differs = verdict == PortVerdict::differs && !facts.empty();
  return formatted("{}{}", name(verdict), differs ? ": " + joined(facts, ", ") : "");
}

void add_findings(TextLines& lines, const std::vector<PortFinding>& findings, const std::vector<PortFinding>& confirmed,
                  const std::vector<std::string>& undecided, const std::string& dump) {
  if (!findings.empty()) {
    lines.blank();
    lines.add(0, "found");
    for (const PortFinding& finding : findings) add_finding(lines, finding);
  }
  if (!confirmed.empty()) {
    lines.blank();
    lines.add(0, "as the plan says");
    for (const PortFinding& finding : confirmed) {
      lines.add(2, formatted("{}: {}", name(finding.fact), finding.found));
    }
  }
  if (!undecided.empty() || !dump.empty()) {
    lines.blank();
    lines.add(0, "open");
    for (const std::string& sentence : undecided) lines.add(2, sentence);
    if (!dump.empty()) lines.add(2, formatted("to decide it: {}", dump));
  }
}

}  // namespace port

std::string describe(const Diagnosis& diagnosis) {
  using port::counted;
  plan::TextLines lines;
  lines.add(0, port::verdict_line(diagnosis.verdict, diagnosis.findings));
  lines.add(2, formatted("looked at {} of {}, {} of {}; noise {:.2g}, unexplained {:.2g}",
                         counted(diagnosis.sequences, "sequence"), counted(diagnosis.tokens, "token"),
                         counted(diagnosis.heads, "head"), counted(diagnosis.channels, "channel"), diagnosis.noise,
                         diagnosis.unexplained));
  port::add_findings(lines, diagnosis.findings, diagnosis.confirmed, diagnosis.undecided, diagnosis.dump);
  return lines.take();
}

}  // namespace posenc::inline v0_2
