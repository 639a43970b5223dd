// What may be done with a KV cache, and views of one. What names a model: posenc/_cache.py.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arrays/arrays.h"
#include "describe/describe_cache.h"
#include "describe/describe_plan.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/cache/study_cache.h"
#include "posenc/cache/view.h"

namespace posenc::python {
namespace {

// A memoryview of its own memory, of any shape: `type` as in the module struct.
template <typename T>
nb::object array_of(const std::vector<T>& numbers, const char* type, const std::vector<std::int64_t>& shape) {
  const nb::object memory =
      nb::module_::import_("builtins").attr("memoryview")(nb::bytes(numbers.data(), numbers.size() * sizeof(T)));
  if (numbers.empty()) return memory.attr("cast")(type);  // a shape with a 0 is refused
  nb::list sizes;
  for (const std::int64_t size : shape) sizes.append(size);
  return memory.attr("cast")(type, sizes);
}

std::int64_t whole(nb::handle given, const char* where, const char* field) {
  return Convert<std::int64_t>::from_python(given, {where, field});
}

nb::dict rows_of(const nb::iterable& views, nb::handle queries) {
  std::vector<CacheView> all;
  for (const nb::handle view : views) all.push_back(nb::cast<const CacheView&>(view));
  const Numbers<std::int64_t> asking(queries, {"view_rows", "queries"});
  const ViewRows rows = view_rows(all, asking.span());
  const std::int64_t axes = all.front().axes();  // view_rows refuses none
  nb::dict out;
  const auto flat = [](const auto& list) { return std::vector<std::int64_t>{std::ssize(list)}; };
  out["block_table"] =
      array_of(rows.block_table, "i", {std::ssize(all), std::ssize(rows.block_table) / std::ssize(all)});
  out["cu_seqlens_q"] = array_of(rows.cu_seqlens_q, "i", flat(rows.cu_seqlens_q));
  out["cu_seqlens_k"] = array_of(rows.cu_seqlens_k, "i", flat(rows.cu_seqlens_k));
  out["q_positions"] = array_of(rows.q_positions, "q", {axes, std::ssize(rows.q_order)});
  out["k_positions"] = array_of(rows.k_positions, "q", {axes, std::ssize(rows.k_order)});
  out["q_order"] = array_of(rows.q_order, "q", flat(rows.q_order));
  out["k_order"] = array_of(rows.k_order, "q", flat(rows.k_order));
  return out;
}

void bind_view(nb::module_& m) {
  nb::class_<CacheView>(
      m, "CacheView", nb::is_final(),
      "Which rows of a KV cache a sequence's tokens lie in, and where each stands. The keys are stored "
      "before RoPE; tokens are moved, dropped, spliced and reordered, and no key is touched. attend "
      "takes what view_rows makes of it. Blocks belong to the caller.")
      .def(
          "__init__",
          [](CacheView* self, nb::handle block_size, nb::handle axes) {
            new (self) CacheView(whole(block_size, "CacheView", "block_size"), whole(axes, "CacheView", "axes"));
          },
          nb::arg("block_size"), nb::arg("axes") = 1,
          nb::sig("def __init__(self, block_size: int, axes: int = 1) -> None"),
          "block_size: rows of a block. axes: coordinates of a token (M-RoPE has 3).")
      .def_prop_ro("block_size", &CacheView::block_size)
      .def_prop_ro("axes", &CacheView::axes)
      .def_prop_ro("runs", &CacheView::runs, "Tokens in rows that follow each other, at positions that do.")
      .def_prop_ro("next_position", &CacheView::next_position, "Where the next token stands; 0 without tokens.")
      .def("__len__", [](const CacheView& self) { return self.tokens(); })
      .def(
          "append",
          [](CacheView& self, nb::handle slot, nb::handle count, nb::handle coordinates) {
            constexpr const char* kWhere = "CacheView.append";
            if (coordinates.is_none() == count.is_none()) {
              refuse({kWhere, "count"}, "be given, or coordinates", count.is_none() ? "neither" : "both");
            }
            if (coordinates.is_none()) return self.append(whole(slot, kWhere, "slot"), whole(count, kWhere, "count"));
            const Numbers<std::int64_t> at(coordinates, {kWhere, "coordinates"});
            self.append(whole(slot, kWhere, "slot"), at.span());
          },
          nb::arg("slot"), nb::arg("count").none() = nb::none(), nb::kw_only(),
          nb::arg("coordinates").none() = nb::none(),
          nb::sig("def append(self, slot: int, count: int | None = None, *, coordinates: posenc._arrays.IndicesLike | "
                  "None = None) -> "
                  "None"),
          "Tokens at the end, stored in rows slot, slot + 1, ...: `count` of them from next_position on, or with "
          "coordinates of their own, [axes, tokens].")
      .def(
          "shift", [](CacheView& self, nb::handle by) { self.shift(whole(by, "CacheView.shift", "by")); },
          nb::arg("by"), nb::sig("def shift(self, by: int) -> None"), "All tokens so many positions further.")
      .def(
          "erase",
          [](CacheView& self, nb::handle first, nb::handle count, bool close) {
            constexpr const char* kWhere = "CacheView.erase";
            self.erase(whole(first, kWhere, "first"), whole(count, kWhere, "count"),
                       close ? CacheGap::closed : CacheGap::open);
          },
          nb::arg("first"), nb::arg("count"), nb::kw_only(), nb::arg("close") = true,
          nb::sig("def erase(self, first: int, count: int, *, close: bool = True) -> None"),
          "Those tokens are no longer there. close: those behind them move up; else they stay where they stand.")
      .def(
          "passage",
          [](const CacheView& self, nb::handle first, nb::handle count) {
            constexpr const char* kWhere = "CacheView.passage";
            return self.passage(whole(first, kWhere, "first"), whole(count, kWhere, "count"));
          },
          nb::arg("first"), nb::arg("count"), nb::sig("def passage(self, first: int, count: int) -> CacheView"),
          "Those tokens as a view of their own, where they stand.")
      .def(
          "insert",
          [](CacheView& self, nb::handle at, const CacheView& passage) {
            self.insert(whole(at, "CacheView.insert", "at"), passage);
          },
          nb::arg("at"), nb::arg("passage"), nb::sig("def insert(self, at: int, passage: CacheView) -> None"),
          "The tokens of another view before token `at`, or behind the last; those behind them move on.")
      .def(
          "__eq__",
          [](const CacheView& self, nb::handle other) {
            return nb::isinstance<CacheView>(other) && self == nb::cast<const CacheView&>(other);
          },
          nb::arg("other"), nb::sig("def __eq__(self, other: object) -> bool"));
  m.def(
      "view_rows", rows_of, nb::arg("views"), nb::arg("queries"),
      nb::sig("def view_rows(views: collections.abc.Iterable[CacheView], queries: posenc._arrays.IndicesLike) -> "
              "dict[str, memoryview]"),
      "What attend takes of views, a sequence each, by the names of its arguments: block_table, cu_seqlens_q and _k, "
      "q_positions and k_positions, q_order and k_order. queries: of each view, how many of its last tokens ask, whose "
      "keys are in the cache already. For causal layers.");
}

}  // namespace

void bind_cache_view(nb::module_& m) {
  bind_value<ReuseReason>(m);
  bind_value<ReuseVerdict>(m);
  m.def(
      "_reuse_verdict",
      [](const Plan& plan, nb::handle layer, nb::handle operation, nb::handle keys, nb::handle stack,
         nb::handle reader) {
        constexpr const char* kWhere = "reuse_verdict";
        const ReuseOptions options{.keys = Convert<StoredKeys>::from_python(keys, {kWhere, "keys"}),
                                   .stack = Convert<std::optional<std::string>>::from_python(stack, {kWhere, "stack"}),
                                   .reader = reader.is_none() ? nullptr : &nb::cast<const Plan&>(reader)};
        return reuse_verdict(plan, whole(layer, kWhere, "layer"),
                             Convert<CacheOperation>::from_python(operation, {kWhere, "operation"}), options);
      },
      nb::arg("plan"), nb::arg("layer"), nb::arg("operation"), nb::kw_only(), nb::arg("keys"), nb::arg("stack").none(),
      nb::arg("reader").none(),
      nb::sig(
          "def _reuse_verdict(plan: Plan, layer: int, operation: str, *, keys: str, stack: str | None, reader: Plan | "
          "None) -> ReuseVerdict"));
  m.def(
      "_study_cache",
      [](const Plan& plan, nb::handle stack, bool simulate, nb::handle shift_by) {
        return to_json(study_cache(
            plan, {.stack = Convert<std::optional<std::string>>::from_python(stack, {"study_cache", "stack"}),
                   .simulate = simulate,
                   .shift_by = whole(shift_by, "study_cache", "shift_by")}));
      },
      nb::arg("plan"), nb::kw_only(), nb::arg("stack").none(), nb::arg("simulate"), nb::arg("shift_by"),
      nb::sig("def _study_cache(plan: Plan, *, stack: str | None, simulate: bool, shift_by: int) -> str"));
  bind_view(m);
}

}  // namespace posenc::python
