// Keys and values on their way into a cache, and weights for the other pairing.
// rotate_into_cache, permute_pairing and the order of channels behind it. Both write into the caller's arrays and make
// none.
#include "arrays/arrays.h"
#include "convert.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "norm_argument.h"
#include "posenc/cache.h"
#include "posenc/pairing.h"
#include "quantised.h"
#include "rotate_arguments.h"
#include "signal_watch.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

// k and v are read, the caches written. Ctrl-C ends it between rows: some are stored then.
void cache_call(nb::handle k, nb::handle v, nb::handle k_cache, nb::handle v_cache, nb::handle slots, nb::handle table,
                nb::handle positions, const NormArgument& norm, nb::handle cu_seqlens, std::int64_t threads,
                nb::handle isa) {
  const char* where = "rotate_into_cache";
  const ConstArray keys(k, {where, "k"});
  const ConstArray values(v, {where, "v"});
  const bool codes_of_keys = is_quantised(k_cache);
  const bool codes_of_values = is_quantised(v_cache);
  const Array key_cache(codes_of_keys ? nb::none() : nb::borrow(k_cache), {where, "k_cache"});
  const Array value_cache(codes_of_values ? nb::none() : nb::borrow(v_cache), {where, "v_cache"});
  QuantisedArgument key_codes, value_codes;
  if (codes_of_keys) key_codes = QuantisedArgument(k_cache, {where, "k_cache"}, true);
  if (codes_of_values) value_codes = QuantisedArgument(v_cache, {where, "v_cache"}, true);
  const Numbers<std::int64_t> rows(slots, {where, "slots"});
  const Numbers<std::int32_t> sequences(cu_seqlens, {where, "cu_seqlens"});
  const PositionsArgument places(positions, {where, "positions"});
  // None: keys are not rotated, and positions are not read.
  const std::optional<Tables> tables =
      table.is_none() ? std::nullopt : std::optional<Tables>(std::in_place, table, Place{where, "table"});
  CacheArgs args{.k = keys.view(), .v = values.view(), .positions = places.positions()};
  if (tables) args.table = tables->one();
  if (tables) args.tables = tables->many();
  args.norm = norm.norm;
  args.k_cache = key_cache.view();
  args.v_cache = value_cache.view();
  args.k_quantised = key_codes.view();
  args.v_quantised = value_codes.view();
  args.slots = rows.span();
  args.cu_seqlens = sequences.span();
  args.parallel.threads = threads;
  args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  args.keep_going = SignalWatch();
  finish([&] { return rotate_into_cache(args); });
}

// In place; returns x itself, for calls within an expression. There is no keep_going: weights are permuted once.
nb::object permute_call(nb::handle x, const RotaryLayout& layout, nb::handle to) {
  const Array rows(x, {"permute_pairing", "x"});
  const PermuteArgs args{
      .x = rows.view(), .layout = layout, .to = Convert<Pairing>::from_python(to, {"permute_pairing", "to"})};
  {
    const nb::gil_scoped_release released;
    permute_pairing(args);
  }
  return nb::borrow(x);
}

}  // namespace

void bind_cache(nb::module_& m) {
  const std::string signature =
      "def rotate_into_cache(k: ArrayLike, v: ArrayLike | None = None, *, k_cache: ArrayLike | Quantised, "
      "v_cache: ArrayLike | Quantised | None = None, slots: IndicesLike, "
      "table: RotaryTable | collections.abc.Sequence[RotaryTable] | None = None, positions: PositionsLike = 0, "
      "norm: QkNorm | None = None, norm_epsilon: float = 1e-6, norm_weight: ArrayLike | None = None, "
      "norm_bias: ArrayLike | None = None, weight_plus_one: bool = False, cu_seqlens: IndicesLike | None = None, " +
      how_signature() + ") -> None";
  m.def(
      "rotate_into_cache",
      [](nb::handle k, nb::handle v, nb::handle k_cache, nb::handle v_cache, nb::handle slots, nb::handle table,
         nb::handle positions, nb::handle norm, double epsilon, nb::handle weight, nb::handle bias, bool plus_one,
         nb::handle cu_seqlens, Whole<"rotate_into_cache", "threads"> threads, nb::handle isa) {
        cache_call(k, v, k_cache, v_cache, slots, table, positions,
                   {norm, epsilon, weight, bias, plus_one, "rotate_into_cache"}, cu_seqlens, threads, isa);
      },
      nb::arg("k"), nb::arg("v").none() = nb::none(), nb::kw_only(), nb::arg("k_cache"),
      nb::arg("v_cache") = nb::none(), nb::arg("slots").none(), nb::arg("table") = nb::none(),
      nb::arg("positions").none() = 0, nb::arg("norm") = nb::none(), nb::arg("norm_epsilon") = 1e-6,
      nb::arg("norm_weight") = nb::none(), nb::arg("norm_bias") = nb::none(), nb::arg("weight_plus_one") = false,
      nb::arg("cu_seqlens") = nb::none(), nb::arg("threads") = 0, nb::arg("isa") = "automatic",
      nb::sig(with_array_types(signature).c_str()),
      "Keys normalised, rotated, converted and stored in a KV cache, with values, in one pass over memory.\n\n"
      "k: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; v likewise, with heads and channels of its "
      "own. k_cache, v_cache: written, [rows, heads, head_dim], or paged [blocks, block_size, heads, head_dim]. slots: "
      "int64, the row for each token, in paged caches block * block_size + place; -1: not stored. Without a table keys "
      "are not rotated. norm: layer.qk_norm, with norm_weight [head_dim] or [heads * head_dim] if and only if it is "
      "weighted. Each tensor is float32, float16 or bfloat16 of its own; caches may be Quantised. ValueError, before "
      "anything is written, for "
      "what does not fit.");
  m.def(
      "pairing_order",
      [](const RotaryLayout& layout, nb::handle to) {
        const auto pairing = Convert<Pairing>::from_python(to, {"pairing_order", "to"});
        return Convert<std::vector<std::int64_t>>::to_python(pairing_order(layout, pairing), {});
      },
      nb::arg("layout"), nb::arg("to"),
      nb::sig("def pairing_order(layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> tuple[int, ...]"),
      "[head_dim]: channel c of the result is channel order[c] of what it is made from. layout: of the source.");
  def(m,
      {"def permute_pairing(x: ArrayT, layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> ArrayT",
       "def permute_pairing(x: ArrayLike, layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> "
       "typing.Any"},
      "Rows of a q or k projection [heads * head_dim, ...], their bias or norm weights, for the other pairing, in "
      "place; returns x. layout: of what x is now. Bit by bit: there and back is the identity. "
      "ValueError for rows that are no whole heads.",
      &permute_call, nb::arg("x"), nb::arg("layout"), nb::arg("to"));
}

}  // namespace posenc::python
