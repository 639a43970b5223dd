// Plans with one value changed: a visitor of plan/json/fields.h that counts values and changes the n-th, whatever the
// fields of a plan are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "plan/json/fields.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "posenc/plan.h"

namespace posenc::test {

using plan::attention_fields;
using plan::fields;

class OneChange {
 public:
  explicit OneChange(std::size_t target) : left_(target) {}

  // Where the value stands that was changed; nothing when there are not so many.
  const std::optional<std::string>& where() const { return where_; }

  template <typename T>
  void field(std::string_view key, T& what, plan::Range = {}) {
    const std::string outer = path_;
    path_ += "/" + std::string(key);
    visit(what);
    path_ = outer;
  }
  template <typename T>
  void nullable(std::string_view key, std::optional<T>& what, plan::Range = {}) {
    if (what) field(key, *what);
    const std::string outer = path_;
    path_ += "/" + std::string(key);
    if (is_next()) what = what ? std::nullopt : std::optional<T>(T{});
    path_ = outer;
  }
  template <typename T>
  void given(std::string_view key, std::optional<T>& what, plan::Range = {}) {
    nullable(key, what);
  }
  template <typename T>
  void unless(std::string_view key, T& what, const T&) {
    field(key, what);
  }
  void text(std::string_view key, std::string& what) { field(key, what); }

 private:
  bool is_next() {
    if (where_ || left_-- != 0) return false;
    where_ = path_;
    return true;
  }

  void visit(bool& what) {
    if (is_next()) what = !what;
  }
  void visit(std::int64_t& what) {
    if (is_next()) what += 1;
  }
  void visit(double& what) {
    if (is_next()) what = what * 1.5 + 1;
  }
  void visit(std::string& what) {
    if (is_next()) what += "x";
  }
  template <typename E>
  requires std::is_enum_v<E>
  void visit(E& what) {
    const auto count = plan::kEnumNames<E>.size();
    if (is_next()) what = static_cast<E>((static_cast<std::size_t>(what) + 1) % count);
  }
  void visit(std::vector<double>& what) {
    if (is_next()) what.back() = what.back() * 1.5 + 1;
  }
  void visit(std::vector<std::int64_t>& what) {
    if (is_next()) what.push_back(7);
  }
  template <typename T>
  requires std::is_class_v<T>
  void visit(T& what) { fields(*this, what); }

  // Another alternative is the change of the whole; else one of its values changes.
  template <typename... T>
  void visit(std::variant<T...>& what) {
    std::visit(
        [&](auto& alternative) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(alternative)>, std::monostate>) {
            fields(*this, alternative);
          }
        },
        what);
    if (!is_next()) return;
    using First = std::variant_alternative_t<0, std::variant<T...>>;
    if (what.index() != 0) {
      what.template emplace<First>();
    } else {
      what.template emplace<1>();
    }
  }

  template <typename T>
  void visit(std::vector<T>& what) {
    for (std::size_t at = 0; at < what.size(); ++at) field(std::to_string(at), what[at]);
    if (what.empty()) return;
    const std::string outer = path_;
    path_ += "/" + std::to_string(what.size() - 1);
    if (is_next()) what.pop_back();
    path_ = outer;
  }
  // Layers are told by their places, and are never taken away: their number is another test's.
  void visit(std::vector<Stack>& what) { each(what); }
  void visit(std::vector<LayerPlan>& what) { each(what); }
  template <typename T>
  void each(std::vector<T>& what) {
    for (std::size_t at = 0; at < what.size(); ++at) field(std::to_string(at), what[at]);
  }
  void visit(Stack& stack) {
    field("input", stack.input);
    field("layers", stack.layers);
  }
  void visit(LayerPlan& layer) {
    if (plan::must_attend(layer.kind)) {
      if (layer.kind == LayerKind::attention) field("kind", layer.kind);  // becomes cross_attention
      attention_fields(*this, layer);
    }
  }
  // All of these are one difference; the last number of a path says nothing of it.
  void visit(std::vector<ValueSource>& what) {
    if (!what.empty() && is_next()) what.front().from += "x";
  }
  void visit(std::vector<Warning>& what) {
    if (!what.empty() && is_next()) what.front().message += "x";
  }
  void visit(std::vector<std::string>& what) {
    if (is_next()) what.emplace_back("/a key of its own");
  }

  void visit(Rotate& rotate) {
    Rope& rope = std::visit(
        [](auto& scheme) -> Rope& {
          if constexpr (std::is_same_v<std::decay_t<decltype(scheme)>, XPos>) {
            return scheme.rope;
          } else {
            return scheme;
          }
        },
        rotate.scheme);
    field("role", rotate.role);
    field("heads", rotate.heads);
    field("head_dim", rope.head_dim);
    Pairing pairing = rope.pairing;
    field("pairing", pairing);
    rope.pairing = pairing;
    field("base", rope.base);
    field("scaling", rope.scaling);
    if (rope.axes.of_pair.empty()) field("axes", rope.axes.names);
    field("rotation_direction", rope.rotation_direction);
    field("offset", rotate.offset);
    if (auto* xpos = std::get_if<XPos>(&rotate.scheme)) field("scale_base", xpos->scale_base);
  }

  std::size_t left_;
  std::string path_;
  std::optional<std::string> where_;
};

// The path of the n-th value of `plan`, which is changed; nothing when there are not so many.
inline std::optional<std::string> change_value(Plan& plan, std::size_t n) {
  OneChange change(n);
  fields(change, plan);
  return change.where();
}

// Every rotation with the other pairing and twice the base.
inline Plan with_other_rotations(Plan plan) {
  for (Stack& stack : plan.stacks) {
    for (LayerPlan& layer : stack.layers) {
      for (Rotate& rotate : layer.rotate) {
        Rope rope = posenc::rope(rotate);
        rope.pairing = rope.pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
        rope.base *= 2;
        if (auto* xpos = std::get_if<XPos>(&rotate.scheme)) {
          xpos->rope = rope;
        } else {
          rotate.scheme = rope;
        }
      }
    }
  }
  return plan;
}

// Whether every rotation passes check() at the plan's length and at `length`.
inline bool is_sound(const Plan& plan, std::optional<std::int64_t> length = {}) {
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        if (check(rope(rotate), plan.length) || check(rope(rotate), length)) return false;
      }
    }
  }
  return true;
}

}  // namespace posenc::test
