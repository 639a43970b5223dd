// NumPy: arrays over all tokens, in float64 where the arrays are.
#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/python_like.h"

namespace posenc::code {
namespace {

Spelling numpy_spelling(const Expr& expr) {
  if (auto shared = python_spelling(expr)) return *shared;
  switch (expr.op) {
    case Op::exponential: return called("np.exp({0})");
    case Op::logarithm: return called("np.log({0})");
    case Op::logarithm_1p: return called("np.log1p({0})");
    case Op::cosine: return called("np.cos({0})");
    case Op::floor: return called("np.floor({0})");
    case Op::absolute: return called("np.abs({0})");
    case Op::smaller: return called("np.minimum({0}, {1})");
    case Op::larger: return called("np.maximum({0}, {1})");
    case Op::choose: return called("np.where({0}, {1}, {2})");
    case Op::single: return called("np.float32({0})");
    case Op::truncate: return Spelling{"{0}.astype(int)", kAtom, {kAtom, 0, 0}};
    case Op::round_bfloat16: return called("bfloat16({0})");
    case Op::whole:
    case Op::real:
    case Op::pi:
    case Op::name:
    case Op::constant:
    case Op::element:
    case Op::call:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::floor_divide:
    case Op::remainder:
    case Op::negate:
    case Op::power:
    case Op::less:
    case Op::at_most:
    case Op::equal:
    case Op::both: break;  // python_spelling's
  }
  return {};
}

// An argument of a function that attention calls: i and j are there as columns and rows of a matrix.
std::string numpy_argument(const Recipe& recipe, const Parameter& parameter) {
  switch (parameter.from) {
    case From::head: return "h";
    case From::q_position: return recipe.axes > 1 ? formatted("i[{}]", parameter.axis) : "i";
    case From::k_position: return recipe.axes > 1 ? formatted("j[{}]", parameter.axis) : "j";
    case From::q_order: return "q_order[:, None]";
    case From::k_order: return "k_order[None, :]";
    case From::table:
    case From::prefix:
    case From::length:
    case From::pair:
    case From::other: return parameter.name;
  }
  return {};
}

void add_numpy_rotation(Lines& out, const Recipe& recipe) {
  const Rotation& rotation = *recipe.rotation;
  const Spell spell = numpy_spelling;
  const std::vector<std::string> length =
      rotation.of_length ? std::vector<std::string>{"length"} : std::vector<std::string>{};
  add_function(out, rotation.inv_freq, spell,
               {.parameters = length,
                .doc = "[PAIRS], radians per position. " + sentence(rotation.inv_freq.comment),
                .first = reads_pair(rotation.inv_freq) ? std::vector<std::string>{"p = np.arange(PAIRS)"}
                                                       : std::vector<std::string>{}});
  out.blank();
  out.blank();
  out.add("def cos_sin(positions" + std::string(rotation.of_length ? ", length" : "") + "):");
  add_docstring(out, cos_sin_doc(recipe));
  std::string at = "np.asarray(positions, dtype=float)";
  if (rotation.offset != 0) at = "(" + at + " + OFFSET)";
  at += recipe.rotation->axes.size() > 1 ? "[AXIS_OF_PAIR].T" : "[..., None]";
  out.add("angles = " + at + " * " + call_text("inv_freq", length), 4);
  if (rotation.factor) {
    std::string factor = printed(*rotation.factor, spell);
    if (rotation.factor->op != Op::constant) {
      out.add("factor = " + factor, 4);
      factor = "factor";
    }
    out.add(formatted("return {0} * np.cos(angles), {0} * np.sin(angles)", factor), 4);
  } else {
    out.add("return np.cos(angles), np.sin(angles)", 4);
  }
  const PairSlices slices = pair_slices(rotation);
  out.blank();
  out.blank();
  out.add("def rotate(x, cos, sin):");
  add_docstring(out, rotate_doc(recipe, true));
  out.add("cos, sin = cos[..., None, :], sin[..., None, :]  # the same for all heads", 4);
  out.add(formatted("a, b = x[..., {}], x[..., {}]", slices.a, slices.b), 4);
  out.add("out = x.copy()", 4);
  out.add(formatted("out[..., {}] = a * cos - b * sin", slices.a), 4);
  out.add(formatted("out[..., {}] = a * sin + b * cos", slices.b), 4);
  out.add("return out", 4);
}

void add_numpy_attention(Lines& out, const Recipe& recipe) {
  const auto argument = [&](const Parameter& parameter) { return numpy_argument(recipe, parameter); };
  out.blank();
  out.blank();
  out.add(def_text("attention", attention_parameters(recipe)));
  add_docstring(out, attention_doc(recipe, true));
  if (recipe.heads != recipe.kv_heads) {
    out.add("k, v = np.repeat(k, GROUP, axis=-2), np.repeat(v, GROUP, axis=-2)  # head h: KV head h // GROUP", 4);
  }
  out.add("scores = SOFTMAX_SCALE * np.einsum(\"...ihc,...jhc->...hij\", q, k)", 4);
  if (recipe.reads(From::head)) out.add("h = np.arange(HEADS)[:, None, None]", 4);
  if (recipe.reads(From::q_position)) out.add("i = q_positions[..., :, None]", 4);
  if (recipe.reads(From::k_position)) out.add("j = k_positions[..., None, :]", 4);
  if (recipe.query_scale) {
    out.add("scores = scores * " + call_text("query_scale", arguments_of(*recipe.query_scale, argument)), 4);
  }
  const char* cap = "scores = SOFT_CAP * np.tanh(scores / SOFT_CAP)";
  if (recipe.cap == SoftCap::Order::before_bias) out.add(cap, 4);
  for (const Function& bias : recipe.biases) {
    out.add("scores = scores + " + call_text(bias.name, arguments_of(bias, argument)), 4);
  }
  if (recipe.cap == SoftCap::Order::after_bias) out.add(cap, 4);
  if (recipe.visible) {
    std::vector<std::string> at = arguments_of(*recipe.visible, argument);
    out.add("scores = np.where(" + call_text("visible", at) + ", scores, -np.inf)", 4);
  }
  if (recipe.has_selection) out.add("scores = np.where(selected, scores, -np.inf)", 4);
  if (recipe.sinks) {
    out.add("largest = np.maximum(scores.max(axis=-1, keepdims=True), sinks[:, None, None])", 4);
    out.add("weights = np.exp(scores - largest)", 4);
    out.add("total = weights.sum(axis=-1, keepdims=True) + np.exp(sinks[:, None, None] - largest)", 4);
    out.add("weights = weights / total  # the sink takes its part, and adds no value", 4);
  } else {
    out.add("weights = np.exp(scores - scores.max(axis=-1, keepdims=True))", 4);
    out.add("weights = weights / weights.sum(axis=-1, keepdims=True)", 4);
  }
  out.add("return np.einsum(\"...hij,...jhc->...ihc\", weights, v)", 4);
}

}  // namespace

Written numpy_code(const Recipe& recipe) {
  Lines out;
  add_constants(out, recipe, {"np.array(", ")", ")"});
  if (uses(recipe, Op::round_bfloat16)) {
    out.blank();
    out.blank();
    out.add("def bfloat16(x):");
    add_docstring(out, "To the nearest bfloat16, ties to even.");
    out.add("bits = np.asarray(x, dtype=np.float32).view(np.uint32)", 4);
    out.add("bits = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)", 4);
    out.add("return bits.view(np.float32).astype(float)", 4);
  }
  const auto add = [&](const Function& function) {
    add_function(out, function, numpy_spelling, {.parameters = names_of(function.parameters), .doc = function.comment});
  };
  for (const Function& helper : recipe.helpers) add(helper);
  if (recipe.rotation) add_numpy_rotation(out, recipe);
  if (recipe.visible) add(*recipe.visible);
  if (recipe.query_scale) add(*recipe.query_scale);
  for (const Function& bias : recipe.biases) add(bias);
  add_numpy_attention(out, recipe);
  add_layer(out, recipe);
  return {"attention_numpy.py", python_file(recipe, "NumPy", "import numpy as np", out.take()),
          python_functions(recipe), port_text(recipe, "attention_numpy.py", false)};
}

}  // namespace posenc::code
