// What a port's rotation did (posenc/diagnose.h), as Python sees it. diagnose() makes these; as values they can also be
// made by hand, compared and pickled.
#pragma once

#include "describe/describe_plan.h"
#include "describe/described.h"
#include "posenc/diagnose.h"
#include "posenc/diagnose_attention.h"
#include "posenc/diagnose_weights.h"

namespace posenc::python {

constexpr auto description(Type<PortFinding>) {
  using T = PortFinding;
  return described_as<T>(
      "PortFinding", "One fact, as the tensors show it.", member("fact", &T::fact),
      member("found", &T::found, "In words: 'interleaved'."),
      member("expected", &T::expected, "What the plan says; empty without one."),
      member("unexplained", &T::unexplained, "What is left of `after`, root mean square over root mean square."),
      member("confidence", &T::confidence, "From 0 to 1, among what was tried."),
      member("tokens", &T::tokens, "In how many it is seen."),
      member("channels", &T::channels, "Of a head, in how many it is seen."),
      member("first_sequence", &T::first_sequence, "Where it starts; None where it is so everywhere."),
      member("first_token", &T::first_token, "Of that sequence."),
      member("mend", &T::mend, "A config line or a change of code; empty where none is known."));
}

constexpr auto description(Type<Diagnosis>) {
  using T = Diagnosis;
  return described_as<T>(
      "Diagnosis", "What a port's rotation did to queries or keys.", member("verdict", &T::verdict),
      member("unexplained", &T::unexplained, "By what explains most, as PortFinding has it."),
      member("noise", &T::noise, "Measured or, where that is more, that of the dtype."),
      member("sequences", &T::sequences), member("tokens", &T::tokens, "Of each sequence, that were looked at."),
      member("heads", &T::heads, "That were looked at."), member("channels", &T::channels),
      member("findings", &T::findings, "What is other than the plan says; without a plan, what was recovered."),
      member("confirmed", &T::confirmed, "What is as the plan says."),
      member("undecided", &T::undecided, "What would look the same, a sentence each."),
      member("dump", &T::dump, "What to dump to decide it; empty where nothing is open."));
}

constexpr auto description(Type<BothDiagnosis>) {
  using T = BothDiagnosis;
  return described_as<T>("BothDiagnosis", "What a port's rotation did to queries and keys of one call.",
                         member("verdict", &T::verdict, "The worse of the two, 'differs' first."),
                         member("findings", &T::findings, "What concerns both: 'exchanged'."),
                         member("queries", &T::queries), member("keys", &T::keys));
}

constexpr auto description(Type<AttentionDiagnosis>) {
  using T = AttentionDiagnosis;
  return described_as<T>(
      "AttentionDiagnosis", "What a port's attention did with its queries, keys and values.",
      member("verdict", &T::verdict), member("stage", &T::stage, "The first that differs; None where none does."),
      member("unexplained", &T::unexplained, "Of that stage, or of the last one, as PortFinding has it."),
      member("allowed", &T::allowed, "By rounding of what was dumped."),
      member("queries", &T::queries, "That were looked at."), member("keys", &T::keys), member("heads", &T::heads),
      member("findings", &T::findings, "What is other than the plan says."),
      member("confirmed", &T::confirmed, "What was tried otherwise, and would be seen."),
      member("undecided", &T::undecided, "What would look the same, a sentence each."),
      member("dump", &T::dump, "What to dump to decide it; empty where nothing is open."));
}

constexpr auto description(Type<PairingDiagnosis>) {
  using T = PairingDiagnosis;
  return described_as<T>(
      "PairingDiagnosis", "In which order a checkpoint's q and k projections have their channels.",
      member("pairing", &T::pairing, "None: cannot tell."),
      member("confidence", &T::confidence, "That it is this one; one half where it cannot tell."),
      member("half", &T::half, "How much more rows of half-split pairs agree, in standard deviations."),
      member("interleaved", &T::interleaved, "The same of interleaved pairs."),
      member("kv_heads", &T::kv_heads, "Of all layers that were looked at."));
}

}  // namespace posenc::python
