// What somebody's rotation did: queries or keys before and after it, held against what a layer's plan says.
//
//   const Diagnosis d = diagnose({.before = q, .after = rotated, .plan = &plan, .rotate = &layer.rotate[0]});
//   if (d.verdict != PortVerdict::as_the_plan) report(describe(d));
//
// Measured first: over the heads of a token, each pair of channels was turned by one angle and scaled by one number,
// c = sum conj(x) y / sum |x|^2 in complex numbers. Which channels pair, and what the angles are, is then explained: by
// the plan, by the plan with one thing changed, or by what is recovered without it. A hypothesis holds where it leaves
// no more than rounding, the noise of the tensors and float32 angles leave, in every pair and every token. docs/
// diagnose.md has the derivation and how often each fault is named.
//
// Thread safety: a function of its arguments, on the caller's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

enum class PortVerdict : std::uint8_t {
  as_the_plan,
  differs,
  cannot_tell,  // what holds and what would be wrong look the same in these tensors: Diagnosis::dump says what to take
  recovered,    // there is no plan, and `findings` is what explains the tensors
};

// What can be other than a plan says. From `scale` on they are facts of a whole attention, which no rotation shows.
enum class PortFact : std::uint8_t {
  pairing,
  first_channel,
  dim,
  channel_order,  // channels of a head come out in another order than they went in
  layout,         // tokens and heads
  axes,           // which coordinate rotates which pair
  base,
  scaling,
  attention_factor,
  offset,     // positions count from another number
  step,       // positions count in other steps than 1
  positions,  // positions are others in another way: restarts, wrapped, clamped, rounded
  direction,
  repeated,   // several tokens have one position
  exchanged,  // q and k
  norm,       // beside the rotation
  precision,  // of angles or of cos and sin
  rotation,   // none, twice, or one that nothing known explains
  scale,
  soft_cap,
  mask,
  window,
  sinks,
  slopes,
  buckets,
  kv_heads,
  value,
};

struct PortFinding {
  PortFact fact = PortFact::rotation;
  std::string found;     // "interleaved"
  std::string expected;  // "half"; empty without a plan
  // What is left of `after` where this is so: root mean square over root mean square.
  double unexplained = 0.0;
  // From 0 to 1: how probable this is among what was tried, all of it equally probable before, given the noise.
  double confidence = 0.0;
  std::int64_t tokens = 0;                       // in how many tokens it is seen
  std::int64_t channels = 0;                     // and in how many channels of a head
  std::optional<std::int64_t> first_sequence{};  // where it starts, if it is not so everywhere
  std::optional<std::int64_t> first_token{};     // of that sequence
  std::string mend;                              // a config line or a change of code; empty where none is known
  bool operator==(const PortFinding&) const = default;
};

struct Diagnosis {
  PortVerdict verdict = PortVerdict::cannot_tell;
  double unexplained = 0.0;  // by what explains most; as in PortFinding
  double noise = 0.0;        // measured or, where that is more, that of the dtype; as `unexplained`
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;  // of each sequence, that were looked at
  std::int64_t heads = 0;   // that were looked at
  std::int64_t channels = 0;
  std::vector<PortFinding> findings;   // what is other than the plan says; without a plan, what was recovered
  std::vector<PortFinding> confirmed;  // what is as the plan says
  std::vector<std::string> undecided;  // what would look the same, a sentence each
  std::string dump;                    // what to dump to decide it; empty where nothing is open
  bool operator==(const Diagnosis&) const = default;
};

struct DiagnoseArgs {
  ConstTensorView before{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], of any dtype
  ConstTensorView after{};   // of the same shape, or of that with tokens and heads exchanged; of any dtype
  // A rotation of a plan; and the plan, whose other rotations are what a port may have done instead.
  const Rotate* rotate = nullptr;
  const Plan* plan = nullptr;
  std::optional<std::int64_t>
      length{};  // of the sequence, for rules that depend on it; else the plan's, or by position
  // Of each sequence's first token. Omitted: not known, and 0 is as good as the plan.
  std::optional<std::int64_t> start{};
  // Instead of a start: [axes, tokens] or [axes, batch * tokens].
  std::span<const double> positions{};
};

// Throws Error for tensors that do not fit each other or the rotation, for positions that do not fit, and for a NaN or
// an infinity, with where it stands. Of tensors with more than 2^22 elements the first heads are looked at, and of
// more than 2^22 channels of one head the first tokens.
POSENC_API Diagnosis diagnose(const DiagnoseArgs& args);

// Queries and keys of one call, and what only both of them together show.
struct BothDiagnosis {
  PortVerdict verdict = PortVerdict::cannot_tell;  // the worse of the two, differs first
  // What concerns both: `exchanged`, where one came out in place of the other. Then queries and keys are diagnosed as
  // they came out, so that what else is wrong is named too.
  std::vector<PortFinding> findings;
  Diagnosis queries;
  Diagnosis keys;
  bool operator==(const BothDiagnosis&) const = default;
};

// As diagnose() of each. Channels that come out in another order alike leave all scores as they are: these are as the
// plan then, with a sentence about it in `undecided`.
POSENC_API BothDiagnosis diagnose_both(const DiagnoseArgs& queries, const DiagnoseArgs& keys);

POSENC_API std::string_view name(PortVerdict verdict) noexcept;
POSENC_API std::string_view name(PortFact fact) noexcept;

// The verdict on the first line, then what was found and how to mend it. Plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const Diagnosis& diagnosis);
POSENC_API std::string describe(const BothDiagnosis& diagnosis);

// {"schema_version", "verdict", "unexplained", "noise", "sequences", "tokens", "heads", "channels", "findings":
// [{"fact", "found", "expected", "unexplained", "confidence", "tokens", "channels", "first_sequence", "first_token",
// "mend"}], "confirmed": [the same], "undecided": [], "dump"}
POSENC_API std::string to_json(const Diagnosis& diagnosis);
// {"schema_version", "verdict", "findings", "queries": as above, "keys": as above}
POSENC_API std::string to_json(const BothDiagnosis& diagnosis);

}  // namespace posenc::inline v0_2
