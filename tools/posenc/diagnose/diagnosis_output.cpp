#include "diagnose/diagnosis_output.h"

#include "line/exit_code.h"
#include "line/page.h"

namespace posenc::tool {
namespace {

int exit_code_of_verdict(PortVerdict verdict) {
  switch (verdict) {
    case PortVerdict::as_the_plan:
    case PortVerdict::recovered: return kOk;
    case PortVerdict::differs: return kJudged;
    case PortVerdict::cannot_tell: return kCannotTell;
  }
  return kInternal;
}

}  // namespace

int write_diagnosis(bool as_json, const std::string& json, const std::string& text, PortVerdict verdict) {
  const std::size_t first = text.find('\n');
  const Page page(output_wants_colour());
  const std::string painted = page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
  const int written = write_output(as_json ? json + "\n" : painted);
  return written != kOk ? written : exit_code_of_verdict(verdict);
}

}  // namespace posenc::tool
