// q, k, v, learned tables and inputs of attention: from Python's objects to the library's structs of views.
#include "attend_arguments.h"

#include <string>

#include "describe/describe_attention.h"

namespace posenc::python {
namespace {

// The alternative of ScoreWeights that this is.
// Holds T5Weights as Held<T5Weights> (kept.h), and so on: each alternative's class is tried in turn. std::monostate, a
// term without learned tables, is None.
template <typename V>
struct TakeOne;
template <typename... Ts>
struct TakeOne<std::variant<std::monostate, Ts...>> {
  static void take(ScoreWeights& to, nb::handle h, Kept& kept, const Place& place) {
    if (h.is_none()) return;
    const bool is_taken = ((nb::isinstance<Held<Ts>>(h) && (kept.take(to.emplace<Ts>(), h, place), true)) || ...);
    if (!is_taken) refuse_type(place, "be weights of a score term, or None", h);
  }
};

}  // namespace

WeightArguments::WeightArguments(const char* where, nb::handle score, nb::handle value, nb::handle sinks) {
  if (!score.is_none()) {
    for (const nb::handle weights : nb::iter(score)) {
      TakeOne<ScoreWeights>::take(weights_.score.emplace_back(), weights, kept_, {where, "score_weights"});
    }
  }
  // None leaves the struct empty, which is "omitted" to the library.
  if (!value.is_none()) kept_.take(weights_.value, value, {where, "value_weights"});
  kept_.take(weights_.sinks, sinks, {where, "sinks"});
}

AttendArguments::AttendArguments(const char* where, nb::handle q, nb::handle k, nb::handle v, nb::dict& keywords,
                                 bool takes_codes)
    : weights_(where, popped(keywords, "score_weights"), popped(keywords, "value_weights"), popped(keywords, "sinks")) {
  kept_.take(q_, given(q, {where, "q"}), {where, "q"});
  const auto take = [&](ConstTensorView& x, QuantisedArgument& codes, nb::handle h, const char* name) {
    if (takes_codes && is_quantised(h)) {
      codes = QuantisedArgument(h, {where, name}, false);
    } else {
      kept_.take(x, given(h, {where, name}), {where, name});
    }
  };
  take(k_, k_codes_, k, "k");
  take(v_, v_codes_, v, "v");
  kept_.take_mask(inputs_.attn_mask, popped(keywords, "attn_mask"), {where, "attn_mask"});
  kept_.take_bias(inputs_.bias, popped(keywords, "bias"), {where, "bias"});
  kept_.take_members(inputs_, keywords, where);
}

std::vector<std::int64_t> AttendArguments::lse_shape() const {
  const auto rank = static_cast<std::size_t>(q_.rank);
  return {q_.shape.begin(), q_.shape.begin() + static_cast<std::ptrdiff_t>(rank - 1)};
}

std::vector<std::int64_t> AttendArguments::out_shape(std::int64_t channels) const {
  std::vector<std::int64_t> shape = lse_shape();
  shape.push_back(channels);
  return shape;
}

nb::object popped(nb::dict& keywords, const char* name) {
  if (!keywords.contains(name)) return nb::none();
  nb::object value = keywords[name];
  PyDict_DelItemString(keywords.ptr(), name);
  return value;
}

void require_empty(const nb::dict& keywords, const char* where) {
  for (const auto [key, given] : keywords) {
    throw nb::type_error((std::string(where) + "() has no argument '" + nb::cast<std::string>(key) + "'").c_str());
  }
}

const char* const kWeightsSignature =
    "score_weights: collections.abc.Iterable[typing.Any] = (), value_weights: ShawWeights | None = None, "
    "sinks: ArrayLike | None = None, ";

const char* const kWeightsDoc =
    "Learned tables:\n"
    "  score_weights: one for each of layer.score, or None where a term has none. value_weights: of ShawValues.\n"
    "  sinks: [heads], where layer.sinks.\n";

const char* const kInputsSignature =
    "q_positions: PositionsLike | None = None, "
    "k_positions: PositionsLike | None = None, q_order: IndicesLike | None = None, "
    "k_order: IndicesLike | None = None, cu_seqlens_q: IndicesLike | None = None, "
    "cu_seqlens_k: IndicesLike | None = None, prefix: int = 0, attn_mask: ArrayLike | None = None, "
    "bias: ArrayLike | None = None, q_segments: IndicesLike | None = None, k_segments: IndicesLike | None = None, "
    "log_forget: ArrayLike | None = None, row_gate: ArrayLike | None = None, length: int | None = None, "
    "q_rotated: bool = False, k_rotated: bool = False";

const char* const kInputsDoc =
    "What changes from call to call; all may be omitted but where a scheme or a mask needs them:\n"
    "  q_positions, k_positions: as positions of rotate; default: the order.\n"
    "  q_order, k_order: int64 [rows], the index of a token in its sequence, for masks; default: keys are counted "
    "from "
    "0, and the last query is at the last key.\n"
    "  cu_seqlens_q, cu_seqlens_k: int32 [sequences + 1], packed sequences, rank 3 only.\n"
    "  prefix: tokens at the front that all attend to, for the mask 'prefix'.\n"
    "  attn_mask: of bool, True: attend, besides the plan's mask; bias: of numbers, added to the scores; both "
    "[queries, "
    "keys] up to rank 4, axes of 1 broadcast. A mask is copied.\n"
    "  q_segments, k_segments: int32 [rows], XLNet. log_forget: [key rows, heads], at most 0. row_gate: [query rows, "
    "heads].\n"
    "  length: of the sequences, for rules that depend on it.\n"
    "  q_rotated, k_rotated: by the rotation of the plan, already.";

}  // namespace posenc::python
