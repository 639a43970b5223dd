// RoPE applied to queries, keys and caches.
// rotate, rotate_ (in place, and paged KV caches), rerotate. A call on one token takes about a microsecond, most of it
// spent here: hence no dict of keywords, and arrays are exchanged once each.
#include <nanobind/stl/optional.h>

#include "arrays/arrays.h"
#include "convert.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "posenc/rotate.h"
#include "quantised.h"
#include "rotate_arguments.h"
#include "signal_watch.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

// Both, or the one that was given.
nb::object results(const Rotated& q, const Rotated& k) {
  if (k.result.is_none()) return q.result;
  if (q.result.is_none()) return k.result;
  return nb::make_tuple(q.result, k.result);
}

// `out`, taken apart: where q and where k goes, or None for a new array.
struct Outs {
  nb::object q = nb::none();
  nb::object k = nb::none();
};

// One tensor: `out` is its output. Both: a pair. TypeError for another number.
Outs outs_of(nb::handle out, bool has_q, bool has_k) {
  if (out.is_none()) return {};
  if (!has_k) return {nb::borrow(out), nb::none()};
  if (!has_q) return {nb::none(), nb::borrow(out)};
  const nb::object first_two = nb::tuple(nb::borrow(out));
  if (nb::len(first_two) != 2) refuse_type({"rotate", "out"}, "be a pair, for q and k", out);
  return {first_two[0], first_two[1]};
}

// What rotate and rotate_ have in common, as it was given. table: a RotaryTable, or one for each sequence.
struct RotateHow {
  nb::handle table;
  nb::handle positions;
  nb::handle direction;
  nb::handle cu_seqlens;
  std::int64_t threads;
  nb::handle isa;
};

// block_table, first: of rotate_ alone, None without pages. Returns what results() says.
nb::object rotate(nb::handle q, nb::handle k, const Outs& outs, const RotateHow& how, nb::handle block_table,
                  nb::handle first) {
  const Tables tables(how.table, {"rotate", "table"});
  const PositionsArgument positions(how.positions, {"rotate", "positions"});
  const Numbers<std::int32_t> cu_seqlens(how.cu_seqlens, {"rotate", "cu_seqlens"});
  const Numbers<std::int32_t> blocks(block_table, {"rotate", "k_block_table"});
  const Numbers<std::int32_t> firsts(first, {"rotate", "k_first"});
  const Rotated queries(q, outs.q, {"rotate", "q"}, {"rotate", "out"});
  const Rotated keys(k, outs.k, {"rotate", "k"}, {"rotate", "out"});
  const RotateArgs args{.q = queries.out,
                        .k = keys.out,
                        .q_from = queries.x,
                        .k_from = keys.x,
                        .positions = positions.positions(),
                        .table = tables.one(),
                        .direction = Convert<Direction>::from_python(how.direction, {"rotate", "direction"}),
                        .cu_seqlens = cu_seqlens.span(),
                        .k_pages = {.block_table = blocks.span(), .first = firsts.span()},
                        .tables = tables.many(),
                        .parallel = {.threads = how.threads},
                        .isa = Convert<Isa>::from_python(how.isa, {"rotate", "isa"}),
                        .keep_going = SignalWatch()};
  // Without the GIL. Ctrl-C ends it every 16 MiB: some rows are rotated then.
  finish([&] { return rotate(args); });
  return results(queries, keys);
}

// The ways of calling: both, or one of the two; and with buffers that come back as memoryviews.
std::vector<std::string> signatures(const std::string& name, const std::string& rest, bool has_out) {
  const std::string table =
      "table: RotaryTable | collections.abc.Sequence[RotaryTable], positions: PositionsLike = 0, ";
  const auto one = [&](const std::string& tensors, const std::string& out, const std::string& result) {
    return "def " + name + "(" + tensors + table + (has_out ? "out: " + out + " | None = None, " : "") + rest +
           ") -> " + result;
  };
  return {one("q: ArrayT, k: None = None, *, ", "ArrayT", "ArrayT"),
          one("q: None = None, *, k: ArrayT, ", "ArrayT", "ArrayT"),
          one("q: ArrayT, k: OtherT, *, ", "tuple[ArrayT, OtherT]", "tuple[ArrayT, OtherT]"),
          one("q: ArrayLike | None = None, k: ArrayLike | None = None, *, ", "typing.Any", "typing.Any")};
}

// What must be given is None where it is not, and refused by name: shorter than nanobind's list of all signatures.
// Signatures are built here, four for each function, since Python's types cannot say "q, k or both".
void bind_rotate_calls(nb::module_& m) {
  const std::string shared =
      "direction: " + Convert<Direction>::type() + " = 'forward', cu_seqlens: IndicesLike | None = None, ";
  def(
      m, signatures("rotate", shared + how_signature(), true),
      "RoPE applied to queries and keys by their positions: RoFormer, arXiv 2104.09864.\n\n"
      "q, k: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim] of float32, float16 or bfloat16, any "
      "strides but adjacent channels; one of them may be omitted. Returns new arrays of the caller's library, q "
      "alone, "
      "k alone or the pair; or writes into `out` (for both, a pair), which may be the input itself.\n\n"
      "table: a RotaryTable, or one for each sequence. positions: that of the first token of each sequence; or "
      "coordinates [axes, rows] of int64, int32 or float64. direction: with attention factor a, 'forward' is a R, "
      "'inverse' R^T / a, 'transpose' a R^T, the backward pass of 'forward'. cu_seqlens: int32 [sequences + 1], where "
      "packed sequences begin.\n\n"
      "ValueError, before anything is written, for what does not fit. The GIL is released.",
      [](nb::handle q, nb::handle k, nb::handle table, nb::handle positions, nb::handle direction,
         nb::handle cu_seqlens, nb::handle out, Whole<"rotate", "threads"> threads, nb::handle isa) {
        return rotate(q, k, outs_of(out, !q.is_none(), !k.is_none()),
                      {table, positions, direction, cu_seqlens, threads, isa}, nb::none(), nb::none());
      },
      nb::arg("q").none() = nb::none(), nb::arg("k").none() = nb::none(), nb::kw_only(), nb::arg("table") = nb::none(),
      nb::arg("positions").none() = 0, nb::arg("direction") = "forward", nb::arg("cu_seqlens") = nb::none(),
      nb::arg("out") = nb::none(), nb::arg("threads") = 0, nb::arg("isa") = "automatic");
  def(
      m,
      signatures(
          "rotate_",
          shared + "k_block_table: IndicesLike | None = None, k_first: IndicesLike | None = None, " + how_signature(),
          false),
      "rotate in place. With k_block_table, int32 [sequences, blocks], k is a paged cache [blocks, block_size, heads, "
      "head_dim] of the packed sequences, whose rows begin with token k_first[s] (default: 0).",
      [](nb::handle q, nb::handle k, nb::handle table, nb::handle positions, nb::handle direction,
         nb::handle cu_seqlens, nb::handle block_table, nb::handle first, Whole<"rotate", "threads"> threads,
         nb::handle isa) {
        return rotate(q, k, {nb::borrow(q), nb::borrow(k)}, {table, positions, direction, cu_seqlens, threads, isa},
                      block_table, first);
      },
      nb::arg("q").none() = nb::none(), nb::arg("k").none() = nb::none(), nb::kw_only(), nb::arg("table") = nb::none(),
      nb::arg("positions").none() = 0, nb::arg("direction") = "forward", nb::arg("cu_seqlens") = nb::none(),
      nb::arg("k_block_table") = nb::none(), nb::arg("k_first") = nb::none(), nb::arg("threads") = 0,
      nb::arg("isa") = "automatic");
}

// Keys at then -> keys at now. layer: whose keys they are, or None; the library refuses what cannot be rotated again.
nb::object rotate_again(nb::handle k, nb::handle from_table, nb::handle from_positions, nb::handle to_table,
                        nb::handle to_positions, nb::handle cu_seqlens, nb::handle layer, nb::handle out,
                        Whole<"rerotate", "threads"> threads, nb::handle isa) {
  const char* where = "rerotate";
  if (is_quantised(k)) {  // which the library refuses, and says what to do instead
    const QuantisedArgument codes(k, {where, "k"}, false);
    const RerotateArgs args{.k_quantised = codes.view()};
    (void)rerotate(args);
  }
  const Tables from(from_table, {where, "from_table"});
  const Tables to(to_table, {where, "to_table"});
  const PositionsArgument then(from_positions, {where, "from_positions"});
  const PositionsArgument now(to_positions, {where, "to_positions"});
  const Numbers<std::int32_t> sequences(cu_seqlens, {where, "cu_seqlens"});
  const Rotated keys(k, out, {where, "k"}, {where, "out"});
  const LayerPlan* of = layer.is_none() ? nullptr : &Convert<LayerPlan>::from_python(layer, {where, "layer"});
  const RerotateArgs args{.k = keys.out,
                          .k_from = keys.x,
                          .from_table = from.one(),
                          .from_positions = then.positions(),
                          .to_table = to.one(),
                          .to_positions = now.positions(),
                          .cu_seqlens = sequences.span(),
                          .from_tables = from.many(),
                          .to_tables = to.many(),
                          .layer = of,
                          .parallel = {.threads = threads},
                          .isa = Convert<Isa>::from_python(isa, {where, "isa"}),
                          .keep_going = SignalWatch()};
  finish([&] { return rerotate(args); });
  return keys.result;
}

void bind_rerotate(nb::module_& m) {
  const auto signature = [](const std::string& array, const std::string& result) {
    const std::string tables = "RotaryTable | collections.abc.Sequence[RotaryTable]";
    return "def rerotate(k: " + array + ", *, from_table: " + tables +
           ", from_positions: PositionsLike, to_table: " + tables +
           ", to_positions: PositionsLike, cu_seqlens: IndicesLike | None = None, " +
           "layer: LayerPlan | None = None, out: " + array + " | None = None, " + how_signature() + ") -> " + result;
  };
  def(m, {signature("ArrayT", "ArrayT"), signature("ArrayLike", "typing.Any")},
      "Cached keys re-rotated from one position to another: R_to(to) R_from(from)^-1 k.\n\n"
      "A shift of a cache is the case of one table; a change of base, rule or attention factor that of two. `layer`: "
      "whose keys they are; ValueError where rerotation_obstacle(layer) says so. Else as rotate.",
      &rotate_again, nb::arg("k"), nb::kw_only(), nb::arg("from_table") = nb::none(),
      nb::arg("from_positions") = nb::none(), nb::arg("to_table") = nb::none(), nb::arg("to_positions") = nb::none(),
      nb::arg("cu_seqlens") = nb::none(), nb::arg("layer") = nb::none(), nb::arg("out") = nb::none(),
      nb::arg("threads") = 0, nb::arg("isa") = "automatic");
  m.def(
      "rerotation_obstacle",
      [](nb::handle of) -> std::optional<std::string> {
        if (nb::isinstance<LayerPlan>(of)) return rerotation_obstacle(*nb::inst_ptr<LayerPlan>(of));
        return rerotation_obstacle(Convert<CacheFormat>::from_python(of, {"rerotation_obstacle", "layer"}));
      },
      nb::arg("layer"),
      nb::sig(
          ("def rerotation_obstacle(layer: LayerPlan | " + Convert<CacheFormat>::type() + ") -> str | None").c_str()),
      "Why cached keys of a layer, or those that are quantised in a format, cannot be re-rotated, or None.");
}

}  // namespace

void bind_rotate(nb::module_& m) {
  bind_rotate_calls(m);
  bind_rerotate(m);
}

}  // namespace posenc::python
