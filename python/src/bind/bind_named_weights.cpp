// A layer's learned tables by name, as attend takes them.
// posenc.named_weights. The library matches names with tables and gives back views; the result has the caller's own
// arrays again, in classes of weights, so that attend keeps and sees the very same memory.
#include <map>

#include "arrays/arrays.h"
#include "describe/describe_attention.h"
#include "describe/describe_plan.h"
#include "kept.h"
#include "module.h"
#include "posenc/named_weights.h"
#include "signature.h"

namespace posenc::python {
namespace {

// The arrays that were given by name, and which of them a view looks at.
// `arrays`: a mapping from str to array. Values are imported once, under the GIL.
class Given {
 public:
  explicit Given(const nb::object& arrays) {
    for (const nb::handle item : nb::iter(arrays.attr("items")())) {
      const nb::tuple pair(nb::borrow(item));
      names_.push_back(Convert<std::string>::from_python(pair[0], {"named_weights", "given"}));
      objects_.emplace_back(pair[1]);
      arrays_.emplace_back(pair[1], Place{"named_weights", names_.back()});
      weights_.push_back({names_.back(), arrays_.back().view()});
    }
  }

  std::span<const NamedWeight> weights() const { return weights_; }

  // Members as Python takes them (describe_attention.h).
  nb::object to_python(const ConstTensorView& view) const {
    if (view.empty()) return nb::none();
    std::size_t at = 0;
    // Every view that named_weights gives is one of those it was given. W and W[0] begin at one place: shapes differ.
    while (!(weights_[at].tensor == view)) ++at;
    return objects_[at];
  }
  nb::object to_python(double number) const { return nb::float_(number); }
  nb::object to_python(const std::vector<Linear>& layers) const {
    nb::list all;
    for (const Linear& layer : layers) all.append(to_python(layer));
    return all;
  }
  template <IsDescribed T>
  nb::object to_python(const T& weights) const {
    nb::dict members;
    for_each_member(description(Type<T>{}),
                    [&](const auto& member) { members[member.name] = to_python(weights.*member.pointer); });
    return nb::type<Held<T>>()(**members);
  }
  nb::object to_python(const ScoreWeights& weights) const {
    return std::visit(
        [&](const auto& one) -> nb::object {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) {
            return nb::none();
          } else {
            return to_python(one);
          }
        },
        weights);
  }

 private:
  // Of one index each: the name, the caller's object, its import and its view. Deques: `weights_` points into them.
  std::deque<std::string> names_;
  std::vector<nb::object> objects_;
  std::deque<ConstArray> arrays_;
  std::vector<NamedWeight> weights_;
};

// {"score_weights", "value_weights", "sinks"}: the keyword arguments of attend and prepare_layer.
nb::dict named_weights_call(const LayerPlan& layer, const nb::object& arrays) {
  const Given given(arrays);
  const LayerWeights weights = named_weights(layer, given.weights());
  nb::list score;
  for (const ScoreWeights& one : weights.score) score.append(given.to_python(one));
  nb::dict keywords;
  keywords["score_weights"] = nb::tuple(score);
  keywords["value_weights"] = weights.value.table.empty() ? nb::none() : given.to_python(weights.value);
  keywords["sinks"] = given.to_python(weights.sinks);
  return keywords;
}

}  // namespace

void bind_named_weights(nb::module_& m) {
  m.def("named_weights", &named_weights_call, nb::arg("layer"), nb::arg("given"),
        nb::sig(with_array_types("def named_weights(layer: LayerPlan, given: collections.abc.Mapping[str, ArrayLike]) "
                                 "-> dict[str, typing.Any]")
                    .c_str()),
        "A layer's learned tables by the names that files for `posenc attend --weights` use (docs/cli.md), as keyword "
        "arguments of attend: attend(layer, q, k, v, **named_weights(layer, given)).\n\n"
        "ValueError for a table that is needed and not given, and for a name that the layer has no table of.");
}

}  // namespace posenc::python
