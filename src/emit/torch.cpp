// torch: tensors over all tokens; tables in float64, the rest in float32, which is what the products come in.
#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/torch_text.h"

namespace posenc::code {

Spelling torch_spelling(const Expr& expr) {
  if (auto shared = python_spelling(expr)) return *shared;
  // torch.minimum takes tensors alone; clamp takes a number.
  const auto limited = [&](const char* side, const char* otherwise) {
    const int number = expr.of[1].uniform ? 1 : 0;
    if (!expr.of[0].uniform && !expr.of[1].uniform) return called(otherwise);
    Spelling out{formatted("{{{}}}.clamp({}={{{}}})", 1 - number, side, number), kAtom};
    out.needs[1 - number] = kAtom;
    return out;
  };
  switch (expr.op) {
    case Op::exponential: return called("torch.exp({0})");
    case Op::logarithm: return called("torch.log({0})");
    case Op::logarithm_1p: return called("torch.log1p({0})");
    case Op::cosine: return called("torch.cos({0})");
    case Op::floor: return called("torch.floor({0})");
    case Op::absolute: return called("torch.abs({0})");
    case Op::smaller: return limited("max", "torch.minimum({0}, {1})");
    case Op::larger: return limited("min", "torch.maximum({0}, {1})");
    case Op::choose: return called("torch.where({0}, {1}, {2})");
    case Op::single:
      return expr.uniform ? Spelling{"{0}", kAtom, {kAtom, 0, 0}} : Spelling{"{0}.float()", kAtom, {kAtom, 0, 0}};
    case Op::truncate: return Spelling{"{0}.long()", kAtom, {kAtom, 0, 0}};
    case Op::round_bfloat16: return Spelling{"{0}.bfloat16().float()", kAtom, {kAtom, 0, 0}};
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

void add_torch_table(Lines& out, const Recipe& recipe) {
  const Rotation& rotation = *recipe.rotation;
  const std::vector<std::string> length =
      rotation.of_length ? std::vector<std::string>{"length"} : std::vector<std::string>{};
  add_function(
      out, rotation.inv_freq, torch_spelling,
      {.parameters = length,
       .doc = "[PAIRS], radians per position, in float64. " + sentence(rotation.inv_freq.comment),
       .first = reads_pair(rotation.inv_freq) ? std::vector<std::string>{"p = torch.arange(PAIRS, dtype=torch.float64)"}
                                              : std::vector<std::string>{}});
  out.blank();
  out.blank();
  out.add("def cos_sin(positions" + std::string(rotation.of_length ? ", length" : "") + "):");
  add_docstring(out, cos_sin_doc(recipe) +
                         "\n\nAngles are in float64: a float32 angle of position 100000 is off by "
                         "0.004 radians.");
  std::string at = rotation.offset != 0 ? "(positions + OFFSET)" : "positions";
  at += rotation.axes.size() > 1 ? "[AXIS_OF_PAIR].T" : "[..., None]";
  out.add("angles = " + at + " * " + call_text("inv_freq", length) + ".to(positions.device)", 4);
  if (rotation.factor) {
    std::string factor = printed(*rotation.factor, torch_spelling);
    if (rotation.factor->op != Op::constant) {
      out.add("factor = " + factor, 4);
      factor = "factor";
    }
    out.add(formatted("return ({0} * angles.cos()).float(), ({0} * angles.sin()).float()", factor), 4);
  } else {
    out.add("return angles.cos().float(), angles.sin().float()", 4);
  }
}

namespace {

std::string torch_argument(const Recipe& recipe, const Parameter& parameter) {
  switch (parameter.from) {
    case From::head: return "h";
    case From::q_position: return recipe.axes > 1 ? formatted("i[{}]", parameter.axis) : "i";
    case From::k_position: return recipe.axes > 1 ? formatted("j[{}]", parameter.axis) : "j";
    case From::q_order: return "q_order[:, None]";
    case From::k_order: return "k_order[None, :]";
    case From::table: return parameter.name + ".float()";  // a table in float64 would make the scores float64
    case From::prefix:
    case From::length:
    case From::pair:
    case From::other: return parameter.name;
  }
  return {};
}

void add_torch_rotate(Lines& out, const Recipe& recipe) {
  const PairSlices slices = pair_slices(*recipe.rotation);
  out.blank();
  out.blank();
  out.add("def rotate(x, cos, sin):");
  add_docstring(out, rotate_doc(recipe, true));
  out.add("cos, sin = cos[..., None, :], sin[..., None, :]  # the same for all heads", 4);
  out.add(formatted("a, b = x[..., {}].float(), x[..., {}].float()", slices.a, slices.b), 4);
  out.add("out = x.clone()", 4);
  out.add(formatted("out[..., {}] = a * cos - b * sin", slices.a), 4);
  out.add(formatted("out[..., {}] = a * sin + b * cos", slices.b), 4);
  out.add("return out", 4);
}

void add_torch_attention(Lines& out, const Recipe& recipe) {
  const auto argument = [&](const Parameter& parameter) { return torch_argument(recipe, parameter); };
  out.blank();
  out.blank();
  out.add(def_text("attention", attention_parameters(recipe)));
  add_docstring(out, attention_doc(recipe, true));
  if (recipe.heads != recipe.kv_heads) {
    out.add("# Query head h reads KV head h // GROUP.", 4);
    out.add("k, v = k.repeat_interleave(GROUP, dim=-2), v.repeat_interleave(GROUP, dim=-2)", 4);
  }
  out.add("scores = SOFTMAX_SCALE * torch.einsum(\"...ihc,...jhc->...hij\", q.float(), k.float())", 4);
  if (recipe.reads(From::head)) out.add("h = torch.arange(HEADS, device=q.device)[:, None, None]", 4);
  if (recipe.reads(From::q_position)) out.add("i = q_positions[..., :, None]", 4);
  if (recipe.reads(From::k_position)) out.add("j = k_positions[..., None, :]", 4);
  if (recipe.query_scale) {
    out.add("scores = scores * " + call_text("query_scale", arguments_of(*recipe.query_scale, argument)), 4);
  }
  const char* cap = "scores = SOFT_CAP * torch.tanh(scores / SOFT_CAP)";
  if (recipe.cap == SoftCap::Order::before_bias) out.add(cap, 4);
  for (const Function& bias : recipe.biases) {
    out.add("scores = scores + " + call_text(bias.name, arguments_of(bias, argument)), 4);
  }
  if (recipe.cap == SoftCap::Order::after_bias) out.add(cap, 4);
  if (recipe.visible) {
    const std::vector<std::string> at = arguments_of(*recipe.visible, argument);
    out.add("scores = scores.masked_fill(~" + call_text("visible", at) + ", -torch.inf)", 4);
  }
  if (recipe.has_selection) out.add("scores = scores.masked_fill(~selected, -torch.inf)", 4);
  if (recipe.sinks) {
    out.add("# The sink is one more key, which takes its part and adds no value.", 4);
    out.add("sink = sinks.float()[:, None, None].expand(*scores.shape[:-1], 1)", 4);
    out.add("weights = torch.cat([scores, sink], dim=-1).softmax(dim=-1)[..., :-1]", 4);
  } else {
    out.add("weights = scores.softmax(dim=-1)", 4);
  }
  out.add("return torch.einsum(\"...hij,...jhc->...ihc\", weights, v.float()).to(v.dtype)", 4);
}

}  // namespace

Written torch_code(const Recipe& recipe) {
  Lines out;
  add_constants(out, recipe, {"torch.tensor(", ")", ", dtype=torch.float64)"});
  const auto add = [&](const Function& function) {
    add_function(out, function, torch_spelling, {.parameters = names_of(function.parameters), .doc = function.comment});
  };
  for (const Function& helper : recipe.helpers) add(helper);
  if (recipe.rotation) {
    add_torch_table(out, recipe);
    add_torch_rotate(out, recipe);
  }
  if (recipe.visible) add(*recipe.visible);
  if (recipe.query_scale) add(*recipe.query_scale);
  for (const Function& bias : recipe.biases) add(bias);
  add_torch_attention(out, recipe);
  add_layer(out, recipe);
  return {"attention_torch.py", python_file(recipe, "torch", "import torch", out.take()), python_functions(recipe),
          port_text(recipe, "attention_torch.py", true)};
}

}  // namespace posenc::code
