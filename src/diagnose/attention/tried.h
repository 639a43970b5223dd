// What a port's attention may have done instead of what the layer says: the plan first, then one thing changed each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "diagnose/attention/made.h"
#include "diagnose/hypothesis.h"
#include "diagnose/precision/formats.h"

namespace posenc::inline v0_2::port {

// Weights in a short format before values are summed by them: as they are, or over the largest of their row, as kernels
// have them that divide by the sum last.
struct RoundedWeights {
  ShortFormat format{};
  bool of_largest = false;
};

// Parts are shared between hypotheses that have them alike.
struct AttentionTried {
  std::optional<Change> change{};  // none: the plan
  std::shared_ptr<const Scores> content;
  double content_times = 1.0;
  std::shared_ptr<const Scores> bias;
  std::optional<SoftCap> cap{};
  std::shared_ptr<const Seen> seen;
  std::vector<double> sinks{};  // [heads] or empty
  std::shared_ptr<const std::vector<double>> v;
  KvHeads v_of{};  // of values
  std::optional<RoundedWeights> weights_in{};
  std::optional<ShortFormat> out_in{};
  bool out_by_heads = false;  // the output was dumped as [heads, queries, value_dim] whatever its shape says
  AttentionStage first = AttentionStage::scores;  // the first stage that the change is seen in
  bool of_mask = false;                           // the change is one of the mask
  std::size_t fitted = 0;                         // so many of its numbers were fitted to the dump
};

template <typename Part>
std::shared_ptr<const Part> kept(Part part) {
  return std::make_shared<const Part>(std::move(part));
}

// `of` with a change, which is first seen in that stage.
inline AttentionTried changed(AttentionTried of, Change change, AttentionStage first = AttentionStage::scores) {
  of.change = std::move(change);
  of.first = first;
  return of;
}

std::vector<AttentionTried> tried_attention(const AttentionDumpArgs& args, const DumpedAttention& dumped);

}  // namespace posenc::inline v0_2::port
