// A plan's facts as a tree of values under their JSON keys, and what differs between two such trees.
//
// FactTree is a visitor of fields.h, so a field of a plan is here as soon as it is in its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "plan/json/fields.h"
#include "plan/json/plan_names.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct Fact {
  std::string key;
  std::string json = "null";
  std::string words = "none";
  std::vector<double> numbers{};  // of a real number, or of a list of numbers
  bool is_real = false;           // those are doubles
  std::string_view kind{};        // of a variant: the alternative
  bool has_members = false;       // an object or a list of objects
  std::vector<Fact> members{};
};

struct FactDifference {
  std::string path;  // "rotate/0/base"
  Fact a;
  Fact b;
};

// What differs, in the order of A's members. An object is one difference where the other side has none, or another
// kind of it; else its members are compared.
std::vector<FactDifference> differing(const Fact& a, const Fact& b);

class FactTree : public OptionalFields<FactTree> {
 public:
  template <typename T>
  void field(std::string_view key, const T& what, Range = {}) {
    add(key, fact(what));
  }
  template <typename T>
  void nullable(std::string_view key, const std::optional<T>& what, Range = {}) {
    add(key, what ? fact(*what) : Fact{});
  }
  void text(std::string_view key, const std::string& what) { add(key, what.empty() ? Fact{} : fact(what)); }

  // Compared elsewhere: stack by stack, layer by layer, and what only one of them has.
  void field(std::string_view, const std::vector<Stack>&, Range = {}) {}
  void field(std::string_view, const std::vector<LayerPlan>&, Range = {}) {}
  void field(std::string_view, const std::vector<ValueSource>&, Range = {}) {}
  void field(std::string_view, const std::vector<Warning>&, Range = {}) {}
  void field(std::string_view key, const std::vector<std::string>& what, Range = {});

  // Everything that was visited, as one object.
  Fact take(std::string_view kind = {});

 private:
  void add(std::string_view key, Fact fact);

  static Fact fact(bool what);
  static Fact fact(std::int64_t what);
  static Fact fact(double what);
  static Fact fact(const std::string& what);
  static Fact fact(const std::vector<std::int64_t>& what);
  static Fact fact(const std::vector<std::int32_t>& what);
  static Fact fact(const std::vector<double>& what);
  static Fact fact(const Rotate& what);

  template <typename E>
  requires std::is_enum_v<E>
  static Fact fact(E what) { return fact(std::string(enum_name(what))); }

  template <typename T>
  requires std::is_class_v<T>
  static Fact fact(const T& what) {
    FactTree tree;
    fields(tree, what);
    return tree.take();
  }

  template <typename... T>
  static Fact fact(const std::variant<T...>& what) {
    return std::visit(
        [&](const auto& alternative) {
          if constexpr (std::is_same_v<std::decay_t<decltype(alternative)>, std::monostate>) {
            return Fact{};
          } else {
            FactTree tree;
            tree.kind_key_ = kKindKey<std::variant<T...>>;
            fields(tree, alternative);
            return tree.take(kind_name(what));
          }
        },
        what);
  }

  template <typename T>
  static Fact fact(const std::vector<T>& what) {
    FactTree tree;
    for (const T& element : what) tree.add(std::to_string(tree.members_.size()), fact(element));
    return tree.take_list();
  }
  Fact take_list();

  std::string_view kind_key_ = "kind";
  std::vector<Fact> members_;
};

// All facts of a layer but its index.
Fact layer_facts(const LayerPlan& layer);
Fact stack_facts(const Stack& stack);
Fact plan_facts(const Plan& plan);

}  // namespace posenc::plan
