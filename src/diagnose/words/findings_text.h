// Findings as text and as JSON, of rotations and of attention alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_writer.h"
#include "plan/text/text_lines.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2::port {

std::string counted(std::int64_t count, std::string_view thing);  // "1 token", "2 tokens"
// "differs: base, scaling"
std::string verdict_line(PortVerdict verdict, const std::vector<PortFinding>& findings);
// "found", "as the plan says" and "open", each with its paragraph where it has anything.
void add_findings(plan::TextLines& lines, const std::vector<PortFinding>& findings,
                  const std::vector<PortFinding>& confirmed, const std::vector<std::string>& undecided,
                  const std::string& dump);

void write_list(io::JsonWriter& json, std::string_view key, const std::vector<PortFinding>& findings);
void write_diagnosis(io::JsonWriter& json, const Diagnosis& diagnosis);

// "findings", "confirmed", "undecided" and "dump".
void write_findings(io::JsonWriter& json, const std::vector<PortFinding>& findings,
                    const std::vector<PortFinding>& confirmed, const std::vector<std::string>& undecided,
                    const std::string& dump);

}  // namespace posenc::inline v0_2::port
