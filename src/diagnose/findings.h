// From explanations to what is reported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/expectation.h"
#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

// What is expected of channels that come out in another order.
inline constexpr std::string_view kChannelsStay = "channels stay where they are";

// What was found of the channels before any angle was looked at, and what the report is made of.
struct Report {
  const Expectation& expected;
  const ChannelPairs& pairs;
  const MeasuredTable& table;
  std::vector<Change> shape{};  // layout, pairing, order of channels, norm
};

void add_explained(const Report& report, const Explained& explained, Diagnosis& out);
// Nothing known explains it: what is known of where it fails.
void add_unexplained(const Report& report, Diagnosis& out);

// Whether a finding says that nothing known explains the tensors.
bool is_open(const PortFinding& finding);

// Whether it says that nothing known explains the angles, or that frequencies, amplitudes, steps or roundings are others: what
// steps of eight bits may feign.
bool is_of_numbers(const PortFinding& finding);

// Whether a channel_order finding is one of where channels stand, not of which frequencies they have.
bool is_permutation(const PortFinding& finding);

// What is wrong beside the angles, of tables that are explained or not.
// `explained`: what holds, or null; its lengths are not counted as what heads do not share.
void add_unsound(const Report& report, Diagnosis& out, const Hypothesis* explained);

PortFinding finding_of(const Report& report, const Change& change, double confidence, double rest);

// Root mean square of what is left over that of after.
double share_of(const MeasuredTable& table, double rest);

}  // namespace posenc::inline v0_2::port
