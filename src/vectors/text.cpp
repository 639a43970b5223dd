// Vectors and checks as text.
#include <cmath>

#include "base/formatted.h"
#include "plan/text/text_lines.h"
#include "posenc/vectors.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2 {
namespace {

using plan::TextLines;

std::string shape_words(const std::vector<std::int64_t>& shape) { return formatted("[{}]", joined(shape, ", ")); }

void add_checked(TextLines& lines, const CheckedTensor& one) {
  const std::string all = formatted("{:<10} {}", one.name, one.passes ? "passes" : "FAILS");
  const std::string dtype(golden::dtype_word(one.dtype));
  if (one.passes) {
    lines.add(2,
              formatted("{}  largest error {:.3g}, {:.2g} of its {} bound", all, one.largest, one.over_bound, dtype));
  } else {
    lines.add(2, formatted("{}  {} of {} elements above the {} bound", all, one.above, one.elements, dtype));
    lines.add(4, formatted("worst at {}: {:.6g}, expected {:.6g} within {:.3g}{}", shape_words(one.worst), one.got,
                           one.expected, one.bound,
                           std::isfinite(one.over_bound) ? formatted(", {:.3g} times the bound", one.over_bound) : ""));
    lines.add(4, formatted("axes: {}", one.layout));
  }
  if (!one.remark.empty()) lines.add(4, one.remark);
}

void add_findings(TextLines& lines, const PortCheck& check) {
  if (check.findings.empty()) {
    lines.add(2, "nothing that is known explains it");
    return;
  }
  for (const PortFinding& finding : check.findings) {
    lines.add(2, formatted("{}: {}; expected {}", name(finding.fact), finding.found, finding.expected));
    lines.add(4, formatted("confidence {:.3g}, unexplained {:.2g}", finding.confidence, finding.unexplained));
    if (!finding.mend.empty()) lines.add(4, formatted("to mend it: {}", finding.mend));
  }
}

}  // namespace

std::string describe(const PortCheck& check) {
  TextLines lines;
  lines.add(0, check.passes ? "passes" : formatted("fails: {} is the first stage that differs", check.first_failure));
  for (const CheckedTensor& one : check.tensors) add_checked(lines, one);
  if (check.diagnosed.empty()) return lines.take();
  lines.blank();
  lines.add(0, formatted("what was done to {}", check.diagnosed));
  if (check.diagnosis) return lines.take() + describe(*check.diagnosis);
  add_findings(lines, check);
  return lines.take();
}

std::string describe(const Vectors& vectors) {
  TextLines lines;
  lines.add(0, golden::title(vectors));
  for (const std::string& fact : vectors.facts) lines.add(2, fact);
  for (const std::string& reason : vectors.left_out) lines.add(2, "left out: " + reason);
  lines.blank();
  for (const VectorTensor& tensor : vectors.tensors) {
    lines.add(2, formatted("{:<12} {:<16} {}{}", tensor.name, shape_words(tensor.shape), tensor.axes,
                           tensor.is_input ? "" : ", result"));
  }
  return lines.take();
}

}  // namespace posenc::inline v0_2
