// Gradients that a backward pass is asked for: which, and the arrays that they are written to.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/written.h"
#include "module.h"
#include "posenc/attend_backward.h"
#include "posenc/named_weights.h"

namespace posenc::python {

inline std::vector<std::int64_t> view_shape(const ConstTensorView& x) {
  return {x.shape.begin(), x.shape.begin() + x.rank};
}

// Gradients of one call, in the order in which they were asked for.
class AskedGradients {
 public:
  // `where`: the call, for errors.
  explicit AskedGradients(const char* where) : where_(where), place_{where, "d_weights"} {}

  // True: a new array of the library of `like`, of that dtype and shape; an array: itself; False or None: no gradient.
  TensorView take(nb::dict& keywords, const char* name, bool by_default, nb::handle like, DType dtype,
                  const std::vector<std::int64_t>& shape) {
    const nb::object given = popped(keywords, name);
    const bool is_flag = given.is_none() || PyBool_Check(given.ptr()) != 0;
    if (given.is_none() ? !by_default : given.ptr() == Py_False) return {};
    const nb::object to = is_flag ? nb::none() : given;
    return keep(result_, name, Written(to, like, dtype, shape, {where_, name}));
  }
  // True: all, new ones of `like`'s library; or a mapping from names to arrays.
  void take_weights(const nb::object& given, nb::handle like, const LayerPlan& layer, const LayerWeights& weights) {
    if (given.is_none() || given.ptr() == Py_False) return;
    nb::dict results;
    if (given.ptr() == Py_True) {
      for (const std::string& name : gradient_names(layer, weights)) {
        add(results, name, Written(nb::none(), like, DType::f32, gradient_shape(layer, weights, name), place_));
      }
    } else {
      for (const nb::handle item : nb::iter(given.attr("items")())) {
        const nb::tuple pair(nb::borrow(item));
        if (pair[1].is_none()) refuse_type(place_, "be arrays", pair[1]);
        add(results, Convert<std::string>::from_python(pair[0], place_),
            Written(pair[1], like, DType::f32, {}, place_));
      }
    }
    result_["d_weights"] = results;
  }
  std::span<const NamedGradient> named() const { return named_; }
  const nb::dict& result() const { return result_; }

 private:
  TensorView keep(nb::dict& results, const char* name, Written&& written) {
    results[name] = written.object;
    return written_.emplace_back(std::move(written)).view;
  }
  void add(nb::dict& results, const std::string& name, Written&& written) {
    const std::string& kept = names_.emplace_back(name);
    named_.push_back({kept, keep(results, kept.c_str(), std::move(written))});
  }

  const char* where_;
  Place place_;
  std::deque<Written> written_;
  std::deque<std::string> names_;
  std::vector<NamedGradient> named_;
  nb::dict result_;
};

}  // namespace posenc::python
