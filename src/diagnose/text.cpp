// A diagnosis as text: the verdict, what was found, what is as it should be, and what is open.
#include <string>

#include "base/formatted.h"
#include "plan/text/text_lines.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2 {
namespace {

using plan::TextLines;

std::string counted(std::int64_t count, std::string_view thing) {
  return formatted("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// "from token 4097 of sequence 0 on"
std::string place_words(const PortFinding& finding) {
  if (!finding.first_token) return "";
  return formatted(", from token {} of sequence {} on", *finding.first_token, finding.first_sequence.value_or(0));
}

void add_finding(TextLines& lines, const PortFinding& finding) {
  const std::string expected = finding.expected.empty() ? "" : formatted("; expected {}", finding.expected);
  lines.add(2, formatted("{}: {}{}{}", name(finding.fact), finding.found, place_words(finding), expected));
  lines.add(4, formatted("confidence {:.3g}, unexplained {:.2g}; seen in {} and {}", finding.confidence,
                         finding.unexplained, counted(finding.tokens, "token"), counted(finding.channels, "channel")));
  if (!finding.mend.empty()) lines.add(4, formatted("to mend it: {}", finding.mend));
}

std::string verdict_line(const Diagnosis& diagnosis) {
  std::vector<std::string> facts;
  for (const PortFinding& finding : diagnosis.findings) {
    const std::string fact(name(finding.fact));
    if (facts.empty() || facts.back() != fact) facts.push_back(fact);
  }
  const bool differs = diagnosis.verdict == PortVerdict::differs && !facts.empty();
  return formatted("{}{}", name(diagnosis.verdict), differs ? ": " + joined(facts, ", ") : "");
}

}  // namespace

std::string describe(const Diagnosis& diagnosis) {
  TextLines lines;
  lines.add(0, verdict_line(diagnosis));
  lines.add(2, formatted("looked at {} of {}, {} of {}; noise {:.2g}, unexplained {:.2g}",
                         counted(diagnosis.sequences, "sequence"), counted(diagnosis.tokens, "token"),
                         counted(diagnosis.heads, "head"), counted(diagnosis.channels, "channel"), diagnosis.noise,
                         diagnosis.unexplained));
  if (!diagnosis.findings.empty()) {
    lines.blank();
    lines.add(0, "found");
    for (const PortFinding& finding : diagnosis.findings) add_finding(lines, finding);
  }
  if (!diagnosis.confirmed.empty()) {
    lines.blank();
    lines.add(0, "as the plan says");
    for (const PortFinding& finding : diagnosis.confirmed) {
      lines.add(2, formatted("{}: {}", name(finding.fact), finding.found));
    }
  }
  if (!diagnosis.undecided.empty() || !diagnosis.dump.empty()) {
    lines.blank();
    lines.add(0, "open");
    for (const std::string& sentence : diagnosis.undecided) lines.add(2, sentence);
    if (!diagnosis.dump.empty()) lines.add(2, formatted("to decide it: {}", diagnosis.dump));
  }
  return lines.take();
}

}  // namespace posenc::inline v0_2
