// How a batch is dealt to ranks, and what each then has to do. Rows are shown as memoryviews of the sharding's memory.
#include <nanobind/ndarray.h>

#include "arrays/arrays.h"
#include "describe/describe_plan.h"
#include "describe/describe_shard.h"
#include "describe/fact_type.h"
#include "module.h"
#include "signature.h"

namespace posenc::python {
namespace {

template <typename T>
nb::object shown(const std::vector<T>& values, std::initializer_list<std::size_t> shape, nb::handle owner) {
  const nb::ndarray<const T, nb::memview, nb::device::cpu> view(values.data(), shape, owner);
  return nb::cast(view, nb::rv_policy::reference);
}

// A member of T, [size], as a memoryview.
template <typename T, typename Number>
auto list_of(std::vector<Number> T::*member) {
  return [member](nb::handle self) {
    const std::vector<Number>& values = nb::inst_ptr<T>(self)->*member;
    return shown(values, {values.size()}, self);
  };
}

template <auto kMember>
auto matrix_of() {
  return [](nb::handle self) {
    const ShardWork& work = *nb::inst_ptr<ShardWork>(self);
    return shown(work.*kMember, {static_cast<std::size_t>(work.query_ranks), static_cast<std::size_t>(work.key_ranks)},
                 self);
  };
}

Sharding shard_call(std::int64_t ranks, nb::handle dealing, std::int64_t tokens, nb::handle cu_seqlens,
                    nb::handle order, nb::handle positions, nb::handle rank_tokens, std::int64_t block,
                    const Mask* mask, std::int64_t prefix, nb::handle token_work) {
  const char* where = "shard";
  const Numbers<std::int32_t> ends(cu_seqlens, {where, "cu_seqlens"});
  const Numbers<std::int64_t> orders(order, {where, "order"});
  const Numbers<std::int64_t> of_ranks(rank_tokens, {where, "rank_tokens"});
  const Numbers<double> work(token_work, {where, "token_work"});
  const PositionsArgument places(positions.is_none() ? nb::object(nb::int_(0)) : nb::borrow(positions),
                                 {where, "positions"});
  ShardArgs args{.ranks = ranks,
                 .dealing = Convert<Dealing>::from_python(dealing, {where, "dealing"}),
                 .tokens = tokens,
                 .cu_seqlens = ends.span(),
                 .order = orders.span(),
                 .rank_tokens = of_ranks.span(),
                 .block = block,
                 .prefix = prefix,
                 .token_work = work.span()};
  if (!positions.is_none()) args.positions = places.positions();
  if (mask != nullptr) args.mask = *mask;
  const nb::gil_scoped_release released;
  return shard(args);
}

void bind_sharding(nb::module_& m) {
  const auto ints = nb::sig("def rows(self) -> memoryview");
  nb::class_<Shard>(m, "Shard", nb::is_final(), "What one rank holds. Nothing is copied.")
      .def_prop_ro("rows", list_of(&Shard::rows), nb::for_getter(ints), "[rows], int64: of the batch, ascending.")
      .def_prop_ro("order", list_of(&Shard::order), nb::for_getter(nb::sig("def order(self) -> memoryview")),
                   "[rows], int64.")
      .def_prop_ro("documents", list_of(&Shard::documents),
                   nb::for_getter(nb::sig("def documents(self) -> memoryview")), "[rows], int32.")
      .def_prop_ro("cu_seqlens", list_of(&Shard::cu_seqlens),
                   nb::for_getter(nb::sig("def cu_seqlens(self) -> memoryview")),
                   "[documents + 1], int32, of these rows: a document of which the rank has nothing is empty.")
      .def_prop_ro(
          "positions",
          [](nb::handle self) {
            const Shard& own = *nb::inst_ptr<Shard>(self);
            const std::size_t axes = own.rows.empty() ? 0 : own.positions.size() / own.rows.size();
            return shown(own.positions, {axes, own.rows.size()}, self);
          },
          nb::for_getter(nb::sig("def positions(self) -> memoryview")),
          "[axes, rows], float64; [0, rows] where the batch has none but its orders.");
  nb::class_<Sharding>(m, "Sharding", nb::is_final(), "How the tokens of a batch are dealt to ranks.")
      .def_ro("tokens", &Sharding::tokens)
      .def_ro("documents", &Sharding::documents)
      .def_ro("axes", &Sharding::axes, "Of positions; 0 where the batch has none but its orders.")
      .def_prop_ro(
          "ranks",
          [](nb::handle self) {
            nb::list ranks;
            for (const Shard& one : nb::inst_ptr<Sharding>(self)->ranks) {
              ranks.append(nb::cast(&one, nb::rv_policy::reference_internal, self));
            }
            return nb::tuple(ranks);
          },
          nb::for_getter(nb::sig("def ranks(self) -> tuple[Shard, ...]")))
      .def_prop_ro(
          "places", list_of(&Sharding::places), nb::for_getter(nb::sig("def places(self) -> memoryview")),
          "[tokens], int64, the inverse: row t of the batch is row places[t] of the ranks' rows, one rank after "
          "another.");
  nb::class_<ShardWork>(m, "ShardWork", nb::is_final(), "What a mask permits between the ranks' queries and keys.")
      .def_prop_ro("pairs", matrix_of<&ShardWork::pairs>(), nb::for_getter(nb::sig("def pairs(self) -> memoryview")),
                   "[ranks of queries, ranks of keys], int64: of a query and a key that it sees.")
      .def_prop_ro("tiles", matrix_of<&ShardWork::tiles>(), nb::for_getter(nb::sig("def tiles(self) -> memoryview")),
                   "Of 64 queries and 64 keys of a document, as they lie on their ranks, of which any is seen.")
      .def_prop_ro(
          "tile_imbalance", [](const ShardWork& work) { return tile_imbalance(work); },
          "The largest count of a rank by the mean: 1 where all have as many.")
      .def_prop_ro(
          "pair_imbalance", [](const ShardWork& work) { return pair_imbalance(work); }, "Likewise of pairs.");
  bind_fact<RankCost>(m);
}

Mask mask_of(const Mask* mask) { return mask != nullptr ? *mask : Mask{}; }

}  // namespace

void bind_shard(nb::module_& m) {
  bind_sharding(m);
  def(m,
      {"def shard(ranks: int, *, dealing: " + Convert<Dealing>::type() +
       " = 'zigzag', tokens: int = 0, cu_seqlens: IndicesLike | None = None, order: IndicesLike | None = None, "
       "positions: PositionsLike | None = None, rank_tokens: IndicesLike | None = None, block: int = 0, "
       "mask: Mask | None = None, prefix: int = 0, token_work: collections.abc.Iterable[float] | None = None) -> "
       "Sharding"},
      "How a batch of `tokens` tokens, or of packed sequences (documents) that end at cu_seqlens, is dealt to "
      "ranks.\n\n"
      "contiguous: in order, rank_tokens each or alike; zigzag: each document in 2 ranks parts, of which a rank has "
      "one "
      "and the one as far from the end; striped: blocks of `block` tokens in turn (1 by default); balanced: blocks (64 "
      "by "
      "default), as many to each rank, so that the tiles that `mask` (causal by default) leaves to them add up alike, "
      "or "
      "token_work, [tokens], for masks that are no function of orders.\n\n"
      "order: [tokens], of masks; default: counted from 0 in each document. positions: [axes, tokens]; default: the "
      "order. Both stay with their tokens. ValueError for what does not fit.",
      &shard_call, nb::arg("ranks"), nb::kw_only(), nb::arg("dealing") = "zigzag", nb::arg("tokens") = 0,
      nb::arg("cu_seqlens") = nb::none(), nb::arg("order") = nb::none(), nb::arg("positions") = nb::none(),
      nb::arg("rank_tokens") = nb::none(), nb::arg("block") = 0, nb::arg("mask").none() = nb::none(),
      nb::arg("prefix") = 0, nb::arg("token_work") = nb::none());
  m.def(
      "joined", [](const Sharding& sharding, std::int64_t neighbours) { return joined(sharding, neighbours); },
      nb::arg("sharding"), nb::arg("neighbours"),
      nb::sig("def joined(sharding: Sharding, neighbours: int) -> Sharding"),
      "Neighbours as one rank each, so many at a time: what they hold together.");
  m.def(
      "list_runs",
      [](const Sharding& sharding) {
        nb::list made;
        for (const auto& [owner, first, count] : list_runs(sharding)) made.append(nb::make_tuple(owner, first, count));
        return nb::tuple(made);
      },
      nb::arg("sharding"), nb::sig("def list_runs(sharding: Sharding) -> tuple[tuple[int, int, int], ...]"),
      "Neighbouring rows of the batch that lie on one rank, in order: the rank, the first of them among its rows, and "
      "how many. ValueError as runs_of has it.");
  m.def(
      "runs_of",
      [](const Sharding& sharding) {
        ShardRuns made = runs_of(sharding);
        return nb::make_tuple(nb::cast(std::move(made.runs)),
                              Convert<std::vector<std::int64_t>>::to_python(made.owners, {}));
      },
      nb::arg("sharding"), nb::sig("def runs_of(sharding: Sharding) -> tuple[Sharding, tuple[int, ...]]"),
      "Neighbouring rows of the batch that lie on one rank, in order, as if each run were a rank, and the rank of "
      "each: how "
      "keys travel for schemes that sum along them. ValueError for more than 2 of a rank and document, and for orders "
      "that "
      "do not ascend in a document.");
  m.def(
      "shard_work",
      [](const Sharding& queries, const Sharding& keys, const Mask* mask, std::int64_t prefix) {
        const nb::gil_scoped_release released;
        return shard_work(queries, keys, mask_of(mask), prefix);
      },
      nb::arg("queries"), nb::arg("keys"), nb::kw_only(), nb::arg("mask").none() = nb::none(), nb::arg("prefix") = 0,
      nb::sig("def shard_work(queries: Sharding, keys: Sharding, *, mask: Mask | None = None, prefix: int = 0) -> "
              "ShardWork"),
      "Scores and tiles of them that a mask (causal by default) permits, between the queries of each rank and the keys "
      "of each. keys: the queries' sharding, or another of the same documents, of cross attention.");
  m.def(
      "shard_cost",
      [](const LayerPlan& layer, const Sharding& queries, const Sharding& keys, std::int64_t prefix, nb::handle mode,
         std::int64_t ulysses_ranks, std::int64_t query_bytes, std::int64_t key_bytes, bool has_forget_gates,
         bool has_row_gates, bool has_segments, bool sums_along_keys) {
        const ContextMode how = Convert<ContextMode>::from_python(mode, {"shard_cost", "mode"});
        nb::list out;
        for (const RankCost& one : shard_cost(layer, queries, keys, layer.mask, prefix,
                                              {.mode = how,
                                              .ulysses_ranks = ulysses_ranks,
                                              .query_bytes = query_bytes,
                                              .key_bytes = key_bytes,
                                              .has_forget_gates = has_forget_gates,
                                              .has_row_gates = has_row_gates,
                                              .has_segments = has_segments,
                                              .sums_along_keys = sums_along_keys})) {
          out.append(nb::cast(one, nb::rv_policy::copy));
        }
        return nb::tuple(out);
      },
      nb::arg("layer"), nb::arg("queries"), nb::arg("keys"), nb::kw_only(), nb::arg("prefix") = 0,
      nb::arg("mode") = "ring", nb::arg("ulysses_ranks") = 1, nb::arg("query_bytes") = 4, nb::arg("key_bytes") = 4,
      nb::arg("has_forget_gates") = false, nb::arg("has_row_gates") = false, nb::arg("has_segments") = false,
      nb::arg("sums_along_keys") = false,
      nb::sig(("def shard_cost(layer: LayerPlan, queries: Sharding, keys: Sharding, *, prefix: int = 0, mode: " +
               Convert<ContextMode>::type() +
               " = 'ring', ulysses_ranks: int = 1, query_bytes: int = 4, key_bytes: int = 4, has_forget_gates: bool = "
               "False, has_row_gates: bool = False, has_segments: bool = False, sums_along_keys: bool = False) -> "
               "tuple[RankCost, ...]")
                  .c_str()),
      "What each rank computes, sends and holds, by mode, of a layer's sizes and mask. query_bytes, key_bytes: of an "
      "element of q and the output, of k and v. ulysses_ranks: hybrid, of each group that deals heads.");
  m.def(
      "heads_of_rank",
      [](std::int64_t heads, std::int64_t ranks, std::int64_t place) {
        const HeadRange own = heads_of_rank(heads, ranks, place);
        return nb::make_tuple(own.first, own.end);
      },
      nb::arg("heads"), nb::arg("ranks"), nb::arg("place"),
      nb::sig("def heads_of_rank(heads: int, ranks: int, place: int) -> tuple[int, int]"),
      "First and end of the heads that the place-th of so many ranks computes, where heads are dealt.");
  m.def(
      "kv_heads_of",
      [](std::int64_t first, std::int64_t end, std::int64_t group) {
        const HeadRange own = kv_heads_of({first, end}, group);
        return nb::make_tuple(own.first, own.end);
      },
      nb::arg("first"), nb::arg("end"), nb::arg("group"),
      nb::sig("def kv_heads_of(first: int, end: int, group: int) -> tuple[int, int]"),
      "First and end of the KV heads that heads `first` up to `end` read, of `group` heads each.");
}

}  // namespace posenc::python
