// Arguments that the library takes as views, and what has to stay alive while it looks at them.
// A binding builds a struct of views member by member; a Kept beside it has the imported arrays, converted lists and
// classes of weights that the views point to. They are in deques: adding one leaves all others where they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays/arrays.h"
#include "convert.h"
#include "describe/describe_attention.h"
#include "describe/described.h"
#include "posenc/attention.h"

namespace posenc::python {

// Numbers and flags: copied, nothing needs to be kept.
template <typename T>
concept IsNumber = std::is_arithmetic_v<T> || std::is_same_v<T, std::optional<std::int64_t>> ||
    std::is_same_v<T, std::optional<double>>;

// Learned tables, as a Python class: the struct of views, and the arrays that were given for them.
template <typename T>
struct Held;

// take(to, object, place) sets `to` from a Python object: None is an empty view where `to` is one. Errors name `place`.
class Kept {
 public:
  void take(ConstTensorView& to, nb::handle h, const Place& place) { to = arrays_.emplace_back(h, place).view(); }
  // The same, of bool and nothing else, or of anything but bool: 0 hides a key in a mask, and changes nothing in a
  // bias.
  void take_mask(ConstTensorView& to, nb::handle h, const Place& place) {
    const ConstArray& array = arrays_.emplace_back(h, place, Bools::taken);
    if (!h.is_none() && !array.is_of_bool()) {
      refuse(place, "be of bool, True where a key is seen,",
             "of numbers: pass what is added to scores (0 and -inf) as bias=");
    }
    to = array.view();
  }
  void take_bias(ConstTensorView& to, nb::handle h, const Place& place) {
    const ConstArray& array = arrays_.emplace_back(h, place, Bools::taken);
    if (array.is_of_bool()) {
      refuse(place, "be of numbers, which are added to scores,", "of bool: pass which keys are seen as attn_mask=");
    }
    to = array.view();
  }
  void take(std::span<const std::int32_t>& to, nb::handle h, const Place& place) {
    to = words_.emplace_back(h, place).span();
  }
  void take(std::span<const std::int64_t>& to, nb::handle h, const Place& place) {
    to = longs_.emplace_back(h, place).span();
  }
  void take(Positions& to, nb::handle h, const Place& place) { to = positions_.emplace_back(h, place).positions(); }
  void take(std::optional<Positions>& to, nb::handle h, const Place& place) {
    if (!h.is_none()) take(to.emplace(), h, place);
  }
  template <IsNumber T>
  void take(T& to, nb::handle h, const Place& place) {
    to = Convert<T>::from_python(h, place);
  }
  // A class of weights as a member of another (XlNetWeights.positions, FireWeights.hidden): its views are copied, and
  // the Python object that has their arrays is kept. TypeError for any other class.
  template <IsDescribed T>
  void take(T& to, nb::handle h, const Place& place);
  // MlpBiasWeights.layers.
  void take(std::vector<Linear>& to, nb::handle h, const Place& place) {
    for (const nb::handle layer : nb::iter(h)) take(to.emplace_back(), layer, place);
  }

  // Members of `to` that `keywords` names, which are taken out of it.
  template <typename T>
  void take_members(T& to, nb::dict& keywords, const char* where) {
    for_each_member(description(Type<T>{}), [&](const auto& member) {
      if (!keywords.contains(member.name)) return;
      const nb::object given = keywords[member.name];
      PyDict_DelItemString(keywords.ptr(), member.name);
      take(to.*member.pointer, given, {where, member.name});
    });
  }

 private:
  // In this order: tables and masks, cu_seqlens and segments, orders, positions, weights within weights.
  std::deque<ConstArray> arrays_;
  std::deque<Numbers<std::int32_t>> words_;
  std::deque<Numbers<std::int64_t>> longs_;
  std::deque<PositionsArgument> positions_;
  std::vector<nb::object> objects_;
};

template <typename T>
struct Held {
  // What the library is given; what its views point to; and the objects as they were given, by member, to be read
  // again.
  T value{};
  Kept kept;
  nb::dict given;
};

template <IsDescribed T>
void Kept::take(T& to, nb::handle h, const Place& place) {
  if (!nb::isinstance<Held<T>>(h)) refuse_type(place, std::string("be ") + description(Type<T>{}).name, h);
  to = nb::inst_ptr<Held<T>>(h)->value;
  objects_.push_back(nb::borrow(h));
}

}  // namespace posenc::python
