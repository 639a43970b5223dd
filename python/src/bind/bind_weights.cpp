// Learned tables of the schemes: structs of arrays that somebody else owns.
// Linear first, which others have as a member.
#include "describe/describe_attention.h"
#include "describe/held_type.h"
#include "module.h"

namespace posenc::python {
namespace {

// A class of weights for each alternative of ScoreWeights but std::monostate.
template <typename V>
struct AllHeld;
template <typename... Ts>
struct AllHeld<std::variant<std::monostate, Ts...>> {
  static void bind(nb::module_& m) { (bind_held<Ts>(m), ...); }
};

}  // namespace

void bind_weights(nb::module_& m) {
  bind_held<Linear>(m);
  AllHeld<ScoreWeights>::bind(m);
}

}  // namespace posenc::python
