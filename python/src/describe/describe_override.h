// How others are told what a setting says (posenc/override_plan.h), as Python sees it.
#pragma once

#include "describe/described.h"
#include "posenc/override_plan.h"

namespace posenc::python {

constexpr auto description(Type<OverridePatch>) {
  using T = OverridePatch;
  return described_as<T>(
      "OverridePatch", "How somebody else is told what settings of a plan say.",
      member(
          "form", &T::form,
          "'hugging_face_old' (rope_theta, rope_scaling), 'hugging_face_new' (rope_parameters), 'llama_cpp', 'vllm'."),
      member("text", &T::text, "A JSON patch (RFC 6902), or flags as a shell takes them; empty: nothing to say."),
      member("unsaid", &T::unsaid, "A sentence for each thing that this form cannot say."));
}

}  // namespace posenc::python
