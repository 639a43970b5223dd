// May a cache be moved, spliced, shared (posenc/cache/reuse.h), as Python sees it.
#pragma once

#include "describe/described.h"
#include "posenc/cache/reuse.h"

namespace posenc::python {

constexpr auto description(Type<ReuseReason>) {
  using T = ReuseReason;
  return described_as<T>("ReuseReason", "Why a layer's cache can be used so, or not.", member("fact", &T::fact),
                         member("effect", &T::effect, "What it makes of the verdict."),
                         member("text", &T::text, "A sentence, with the numbers of this layer."));
}

constexpr auto description(Type<ReuseVerdict>) {
  using T = ReuseVerdict;
  return described_as<T>(
      "ReuseVerdict", "Whether what an operation leaves of a layer's cache is what the model would have made.",
      member("reuse", &T::reuse), member("reasons", &T::reasons, "Those that decide first."),
      member(
          "reach", &T::reach,
          "Keys are off at most so many tokens behind an edge (before it too, where tokens see those after them); 0: "
          "nowhere; None: everywhere."),
      member("period", &T::period, "Exact, as far as positions go, where tokens move by multiples of it; 0: by none."),
      member("exact_below", &T::exact_below, "Of period 0: positions below it are all the same to the schemes."));
}

}  // namespace posenc::python
