// Learned tables of the schemes: structs of arrays that somebody else owns.
#include "convert.h"
#include "describe_attention.h"
#include "kept.h"
#include "module.h"
#include "signature.h"

namespace posenc::python {
namespace {

// What a member takes.
std::string taken(Type<ConstTensorView>) { return "ArrayLike | None"; }
std::string taken(Type<double>) { return Convert<double>::taken(); }
std::string taken(Type<std::vector<Linear>>) { return "collections.abc.Iterable[Linear]"; }
template <IsDescribed T>
std::string taken(Type<T>) {
  return description(Type<T>{}).name;
}

template <typename T>
void bind_held(nb::module_& m) {
  const auto described = description(Type<T>{});
  nb::class_<Held<T>> bound(m, described.name, nb::is_final(), described.doc);
  std::string arguments;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    arguments.append(arguments.empty() ? ", *, " : ", ")
        .append(member.name)
        .append(": ")
        .append(taken(Type<M>{}))
        .append(" = ...");
    bound.def_prop_ro(
        member.name,
        [name = member.name](const Held<T>& self) -> nb::object {
          return self.given.contains(name) ? nb::object(self.given[name]) : nb::none();
        },
        member.doc);
  });
  bound.def(
      "__init__",
      [name = described.name](Held<T>* self, const nb::kwargs& keywords) {
        new (self) Held<T>;
        nb::dict rest;
        rest.update(keywords);
        self->given.update(keywords);
        self->kept.take_members(self->value, rest, name);
        for (const auto [key, given] : rest) {
          const std::string message = std::string(name) + "() has no argument '" + nb::cast<std::string>(key) + "'";
          self->~Held<T>();
          throw nb::type_error(message.c_str());
        }
      },
      nb::sig(with_array_types("def __init__(self" + arguments + ") -> None").c_str()));
}

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
