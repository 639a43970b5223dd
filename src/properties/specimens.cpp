// The list of measured schemes, gathered from the alternatives of every stage's variant, and how one is made at a size.
// docs/properties.md is its table.
#include "properties/specimens.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::properties {
namespace {

constexpr std::uint64_t kSeed = 2104'09864;  // any; RoFormer's number

void append(std::vector<Entry>& list, std::vector<Entry> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

template <typename... Schemes>
void append_all(std::vector<Entry>& list, Kind<std::variant<Schemes...>>) {
  (append(list, entries_of(Kind<Schemes>{})), ...);
}

// The order of the tables in docs/properties.md. Each variant lists its alternatives itself, so that a new scheme
// without an entries_of() is an error of the compiler.
std::vector<Entry> all_entries() {
  std::vector<Entry> list;
  append_all(list, Kind<InputScheme>{});
  append(list, no_positions());
  append_all(list, Kind<decltype(Rotate::scheme)>{});
  append_all(list, Kind<Scaling>{});
  append_all(list, Kind<Regions>{});
  append_all(list, Kind<ScoreTerm>{});
  append_all(list, Kind<QueryScale>{});
  append_all(list, Kind<ValueScheme>{});
  return list;
}

}  // namespace

std::int64_t Size::side() const {
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(places)));
  while (side * side < places) ++side;
  return side;
}

LayerPlan plain_layer(const Size& size) {
  return {.heads = size.heads,
          .kv_heads = size.heads,
          .head_dim = size.head_dim,
          .value_dim = size.head_dim,
          .softmax_scale = 1 / std::sqrt(static_cast<double>(size.head_dim))};
}

Linear random_linear(Tables& tables, std::int64_t outputs, std::int64_t inputs) {
  return {.weight = tables.normal({outputs, inputs}, 1 / std::sqrt(static_cast<double>(inputs))),
          .bias = tables.normal({outputs})};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = all_entries();
  return list;
}

const Entry& entry(std::string_view where, std::string_view name) {
  for (const Entry& one : entries()) {
    if (one.scheme.name == name) return one;
  }
  throw Error(where, {"scheme", "be one of measured_schemes()", formatted("'{}'", name)});
}

// tables_ is declared first: the specimen's weights view it.
Made::Made(const Entry& entry, const Size& size) : tables_(kSeed), specimen_(entry.make(size, tables_)) {
  specimen_.size = size;
}

}  // namespace posenc::properties

namespace posenc::inline v0_2 {

const std::vector<MeasuredScheme>& measured_schemes() {
  static const std::vector<MeasuredScheme> list = [] {
    std::vector<MeasuredScheme> out;
    for (const properties::Entry& one : properties::entries()) out.push_back(one.scheme);
    return out;
  }();
  return list;
}

}  // namespace posenc::inline v0_2
