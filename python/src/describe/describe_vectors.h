// Golden vectors and what a port's outputs were held to (posenc/vectors.h), as Python sees them.
#pragma once

#include "describe/describe_diagnose.h"
#include "describe/describe_plan.h"
#include "describe/described.h"
#include "posenc/vectors.h"

namespace posenc::python {

constexpr auto description(Type<VectorOptions>) {
  using T = VectorOptions;
  return described_as<T>("VectorOptions", "What vectors were asked for.", member("stack", &T::stack),
                         member("layer", &T::layer), member("tokens", &T::tokens),
                         member("start", &T::start, "None: tokens stand at the edges of the layer's rules."),
                         member("length", &T::length), member("cross", &T::cross));
}

constexpr auto description(Type<VectorTensor>) {
  using T = VectorTensor;
  return described_as<T>("VectorTensor", "One input or result, in float64.", member("name", &T::name),
                         member("shape", &T::shape), member("values", &T::values, "Row-major."),
                         member("axes", &T::axes, "In words: 'tokens, heads, head_dim'."),
                         member("is_input", &T::is_input), member("is_whole", &T::is_whole));
}

constexpr auto description(Type<VectorBound>) {
  using T = VectorBound;
  return described_as<T>("VectorBound", "|port - expected| <= absolute[token] + relative |expected|.",
                         member("tensor", &T::tensor), member("relative", &T::relative),
                         member("absolute", &T::absolute, "Of each token; of scores the query's."));
}

constexpr auto description(Type<VectorBounds>) {
  using T = VectorBounds;
  return described_as<T>("VectorBounds", "Of a port that computes in that dtype.", member("dtype", &T::dtype),
                         member("unit", &T::unit, "Half a unit in the last place, relatively."),
                         member("bounds", &T::bounds));
}

constexpr auto description(Type<Vectors>) {
  using T = Vectors;
  return described_as<T>("Vectors", "Golden vectors of a layer.", member("plan", &T::plan),
                         member("options", &T::options, "As they were used."), member("stack", &T::stack),
                         member("layer", &T::layer, "That is computed, with the heads that it has here."),
                         member("plan_heads", &T::plan_heads), member("plan_kv_heads", &T::plan_kv_heads),
                         member("attention_factor", &T::attention_factor, "Of each rotation."),
                         member("facts", &T::facts, "A sentence each."),
                         member("left_out", &T::left_out, "Stages that are not there, and why."),
                         member("sources", &T::sources), member("tensors", &T::tensors, "Inputs first."),
                         member("bounds", &T::bounds));
}

constexpr auto description(Type<CheckedTensor>) {
  using T = CheckedTensor;
  return described_as<T>("CheckedTensor", "One of a port's outputs, held to its bound.", member("name", &T::name),
                         member("dtype", &T::dtype, "Whose bound it was held to."),
                         member("layout", &T::layout, "How its axes were taken."), member("passes", &T::passes),
                         member("largest", &T::largest, "Error."),
                         member("over_bound", &T::over_bound, "The largest error over its bound."),
                         member("worst", &T::worst, "Where that stands."), member("got", &T::got),
                         member("expected", &T::expected), member("bound", &T::bound), member("elements", &T::elements),
                         member("above", &T::above, "Above their bound."), member("remark", &T::remark));
}

constexpr auto description(Type<PortCheck>) {
  using T = PortCheck;
  return described_as<T>("PortCheck", "Whether a port passes, and what it did where it does not.",
                         member("passes", &T::passes), member("tensors", &T::tensors, "In the order of the stages."),
                         member("first_failure", &T::first_failure, "The first stage that fails; empty: none."),
                         member("diagnosed", &T::diagnosed, "'q', 'k', 'scores' or 'out'."),
                         member("diagnosis", &T::diagnosis, "Of the rotation."),
                         member("findings", &T::findings, "Of the attention: what was done instead."));
}

}  // namespace posenc::python
