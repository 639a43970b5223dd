// Which layer of a plan the vectors are of, and the same layer with fewer heads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "posenc/plan.h"
#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

inline constexpr std::string_view kMake = "make_vectors";

struct LayerChoice {
  std::size_t stack = 0;  // in Plan::stacks
  std::size_t place = 0;  // in Stack::layers
};

// Throws Error of make_vectors.
[[noreturn]] void refuse(std::string field, std::string must, std::string is);

// Throws Error for a stack or a layer that is not there, that does not attend, or that must be said.
LayerChoice choose_layer(const Plan& plan, const VectorOptions& options);

// The layer with two KV heads and as many query heads for each as before; with all of its heads where a rule numbers
// them (ALiBi's slopes, Sandwich), since another number of heads would be another rule.
LayerPlan with_fewer_heads(LayerPlan layer);

}  // namespace posenc::inline v0_2::golden
