// Triton: a program for each token and head, and for each query and head; tables are made by torch.
#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/torch_text.h"

namespace posenc::code {
namespace {

// Inside a kernel, where Python's own mathematics is not at hand.
Spelling triton_spelling(const Expr& expr) {
  const auto of_float = [&](const char* function) {
    if (expr.of[0].type != Type::whole) return called(std::string(function) + "({0})");
    Spelling out = called(std::string(function) + "({0}.to(tl.float32))");
    out.needs[0] = kAtom;
    return out;
  };
  switch (expr.op) {
    case Op::exponential: return of_float("tl.exp");
    case Op::logarithm: return of_float("tl.log");
    case Op::logarithm_1p: return {"tl.log(1.0 + {0})", kAtom, {python::kAdd + 1, 0, 0}};
    case Op::cosine: return of_float("tl.cos");
    case Op::floor: return called("tl.floor({0})");
    case Op::absolute: return called("tl.abs({0})");
    case Op::smaller: return called("tl.minimum({0}, {1})");
    case Op::larger: return called("tl.maximum({0}, {1})");
    case Op::choose: return called("tl.where({0}, {1}, {2})");
    case Op::power:
      if (expr.of[0].op == Op::real && expr.of[0].number == 2.0) return called("tl.exp2({1})");
      return {expr.of[0].type == Type::whole ? "tl.exp({1} * tl.log({0}.to(tl.float32)))" : "tl.exp({1} * tl.log({0}))",
              kAtom,
              {expr.of[0].type == Type::whole ? kAtom : kLoose, python::kMultiply, 0}};
    case Op::single:
      if (expr.uniform) return {"{0}", kAtom, {kAtom, 0, 0}};
      return {"{0}.to(tl.float32)", kAtom, {kAtom, 0, 0}};
    case Op::truncate: return {"{0}.to(tl.int32)", kAtom, {kAtom, 0, 0}};
    case Op::round_bfloat16: return called("bfloat16({0})");
    case Op::element:
      if (expr.of.size() == 1) return {"tl.load(" + expr.text + " + {0})", kAtom, {python::kAdd + 1, 0, 0}};
      return {"tl.load(" + expr.text + " + {0} * HEADS + {1})", kAtom, {python::kMultiply, python::kAdd + 1, 0}};
    case Op::whole:
    case Op::real:
    case Op::pi:
    case Op::name:
    case Op::constant:
    case Op::call:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::floor_divide:
    case Op::remainder:
    case Op::negate:
    case Op::less:
    case Op::at_most:
    case Op::equal:
    case Op::both: break;
  }
  // Without the functions of plain numbers, of which these have none.
  return python_spelling(expr).value_or(Spelling{});
}

std::string position_name(const Recipe& recipe, const char* letter, std::int64_t axis) {
  return recipe.axes == 1 ? std::string(letter) : formatted("{}_{}", letter, axis);
}

std::string triton_argument(const Recipe& recipe, const Parameter& parameter) {
  switch (parameter.from) {
    case From::head: return "h";
    case From::q_position: return position_name(recipe, "i", parameter.axis);
    case From::k_position: return position_name(recipe, "j", parameter.axis);
    case From::q_order: return "q_place";
    case From::k_order: return "k_place";
    case From::table:
    case From::prefix:
    case From::length:
    case From::pair:
    case From::other: return parameter.name;
  }
  return {};
}

// The axes that attention itself reads.
std::vector<std::int64_t> axes_read(const Recipe& recipe, From from) {
  std::vector<bool> is_read(static_cast<std::size_t>(recipe.axes));
  const auto mark = [&](const Function& function) {
    for (const Parameter& parameter : function.parameters) {
      if (parameter.from == from) is_read[static_cast<std::size_t>(parameter.axis)] = true;
    }
  };
  for (const Function& bias : recipe.biases) mark(bias);
  if (recipe.query_scale) mark(*recipe.query_scale);
  std::vector<std::int64_t> out;
  for (std::size_t axis = 0; axis < is_read.size(); ++axis) {
    if (is_read[axis]) out.push_back(static_cast<std::int64_t>(axis));
  }
  return out;
}

std::int64_t power_of_two(std::int64_t at_least) {
  std::int64_t out = 1;
  while (out < at_least) out *= 2;
  return out;
}

void add_rotate_kernel(Lines& out, const Recipe& recipe) {
  const Rotation& rotation = *recipe.rotation;
  const std::string first = rotation.first_channel == 0 ? "" : " + FIRST_CHANNEL";
  const char* a = "p";
  const char* b = "p + PAIRS";
  switch (rotation.pairing) {
    case Pairing::half: break;
    case Pairing::interleaved:
      a = "2 * p";
      b = "2 * p + 1";
      break;
  }
  out.blank();
  out.blank();
  out.add("@triton.jit\ndef rotate_kernel(x, cos, sin, heads):");
  add_docstring(out, "One token and head, in place.");
  out.add("i, h = tl.program_id(0), tl.program_id(1)", 4);
  out.add("p = tl.arange(0, PAIR_BLOCK)", 4);
  out.add("inside = p < PAIRS", 4);
  out.add("c = tl.load(cos + i * PAIRS + p, mask=inside)", 4);
  out.add("s = tl.load(sin + i * PAIRS + p, mask=inside)", 4);
  out.add("head = x + (i * heads + h) * HEAD_DIM" + first, 4);
  out.add(formatted("a = tl.load(head + {}, mask=inside).to(tl.float32)", a), 4);
  out.add(formatted("b = tl.load(head + {}, mask=inside).to(tl.float32)", b), 4);
  out.add(formatted("tl.store(head + {}, a * c - b * s, mask=inside)", a), 4);
  out.add(formatted("tl.store(head + {}, a * s + b * c, mask=inside)", b), 4);
  out.blank();
  out.blank();
  out.add("def rotate(x, cos, sin):");
  add_docstring(out, rotate_doc(recipe, false));
  out.add("out = x.contiguous().clone()", 4);
  out.add("rotate_kernel[x.shape[0], x.shape[1]](out, cos.contiguous(), sin.contiguous(), x.shape[1])", 4);
  out.add("return out", 4);
}

void add_attention_kernel(Lines& out, const Recipe& recipe) {
  const auto argument = [&](const Parameter& parameter) { return triton_argument(recipe, parameter); };
  const std::vector<std::string> given = attention_parameters(recipe);
  std::vector<std::string> parameters{"out"};
  parameters.insert(parameters.end(), given.begin(), given.end());
  parameters.insert(parameters.end(), {"queries", "keys"});
  out.blank();
  out.blank();
  out.add("@triton.jit\n" + def_text("attention_kernel", parameters));
  add_docstring(out, "One query and head, by an online softmax over blocks of keys.");
  const auto add = [&](const std::string& line, int more = 0) { out.add(line, 4 + more); };
  add("row, h = tl.program_id(0), tl.program_id(1)");
  add("c = tl.arange(0, HEAD_BLOCK)");
  add("d = tl.arange(0, VALUE_BLOCK)");
  add("query = tl.load(q + (row * HEADS + h) * HEAD_DIM + c, mask=c < HEAD_DIM, other=0.0)");
  add("query = query.to(tl.float32)");
  if (recipe.visible) add("q_place = tl.load(q_order + row)");
  for (const std::int64_t axis : axes_read(recipe, From::q_position)) {
    const std::string at = axis == 0 ? "row" : formatted("{} * queries + row", axis);
    add(position_name(recipe, "i", axis) + " = tl.load(q_positions + " + at + ")");
  }
  std::string scale = "SOFTMAX_SCALE";
  if (recipe.query_scale) {
    add("scale = SOFTMAX_SCALE * " + call_text("query_scale", arguments_of(*recipe.query_scale, argument)));
    scale = "scale";
  }
  add("sum = tl.zeros([VALUE_BLOCK], dtype=tl.float32)");
  if (recipe.sinks) {
    add("largest = tl.load(sinks + h).to(tl.float32)  # the sink takes its part, and adds no value");
    add("total = 1.0");
  } else {
    add("largest = -1e30  # instead of -inf, of which differences are NaN");
    add("total = 0.0");
  }
  add("for start in range(0, keys, KEY_BLOCK):");
  add("n = start + tl.arange(0, KEY_BLOCK)", 4);
  add("seen = n < keys", 4);
  std::vector<std::string> loads;
  const auto load = [&](const std::string& name, const std::string& from, const std::string& at) {
    add(name + " = tl.load(" + from + " + " + at + ", mask=n < keys, other=0)", 4);
  };
  for (const std::int64_t axis : axes_read(recipe, From::k_position)) {
    load(position_name(recipe, "j", axis), "k_positions", axis == 0 ? "n" : formatted("{} * keys + n", axis));
  }
  if (recipe.visible) {
    load("k_place", "k_order", "n");
    add("seen = seen & " + call_text("visible", arguments_of(*recipe.visible, argument)), 4);
  }
  if (recipe.has_selection) {
    add("seen = seen & (tl.load(selected + row * keys + n, mask=n < keys, other=0) != 0)", 4);
  }
  const std::string kv_head = recipe.heads == recipe.kv_heads ? "h" : "h // GROUP";
  add("head = n[:, None] * KV_HEADS + " + kv_head, 4);
  add("key = tl.load(k + head * HEAD_DIM + c, mask=seen[:, None] & (c < HEAD_DIM), other=0.0)", 4);
  add("value = tl.load(v + head * VALUE_DIM + d, mask=seen[:, None] & (d < VALUE_DIM), other=0.0)", 4);
  add("score = tl.sum(query * key.to(tl.float32), axis=1) * " + scale, 4);
  // tanh(x) = 2 sigmoid(2 x) - 1: Triton's own functions have none.
  const char* cap = "score = SOFT_CAP * (2.0 * tl.sigmoid(2.0 * score / SOFT_CAP) - 1.0)  # by tanh";
  if (recipe.cap == SoftCap::Order::before_bias) add(cap, 4);
  for (const Function& bias : recipe.biases) {
    add("score = score + " + call_text(bias.name, arguments_of(bias, argument)), 4);
  }
  if (recipe.cap == SoftCap::Order::after_bias) add(cap, 4);
  add("score = tl.where(seen, score, -1e30)", 4);
  add("most = tl.maximum(largest, tl.max(score, axis=0))", 4);
  add("kept = tl.exp(largest - most)", 4);
  add("weight = tl.where(seen, tl.exp(score - most), 0.0)", 4);
  add("sum = sum * kept + tl.sum(weight[:, None] * value.to(tl.float32), axis=0)", 4);
  add("total = total * kept + tl.sum(weight, axis=0)", 4);
  add("largest = most", 4);
  add("tl.store(out + (row * HEADS + h) * VALUE_DIM + d, sum / total, mask=d < VALUE_DIM)");

  out.blank();
  out.blank();
  out.add(def_text("attention", given));
  add_docstring(out, attention_doc(recipe, false));
  out.add("queries, keys = q.shape[0], k.shape[0]", 4);
  out.add("out = torch.empty(queries, HEADS, VALUE_DIM, dtype=v.dtype, device=v.device)", 4);
  std::vector<std::string> handed{"out"};
  for (const std::string& one : given) {
    if (one == "prefix") {
      handed.push_back(one);
    } else {
      handed.push_back(one == "selected" ? "selected.to(torch.int8).contiguous()" : one + ".contiguous()");
    }
  }
  handed.insert(handed.end(), {"queries", "keys"});
  out.add("attention_kernel[queries, HEADS](", 4);
  for (const std::string& one : handed) out.add(one + ",", 8);
  out.add(")", 4);
  out.add("return out", 4);
}

}  // namespace

Written triton_code(const Recipe& recipe) {
  Lines out;
  add_constants(out, recipe, {"torch.tensor(", ")", ", dtype=torch.float64)"}, ": tl.constexpr");
  if (recipe.rotation) {
    out.add(formatted("PAIR_BLOCK: tl.constexpr = {}  # a power of two, from PAIRS up",
                      power_of_two(recipe.rotation->dim / 2)));
  }
  out.add(formatted("HEAD_BLOCK: tl.constexpr = {}  # likewise, from HEAD_DIM up", power_of_two(recipe.head_dim)));
  out.add(formatted("VALUE_BLOCK: tl.constexpr = {}  # from VALUE_DIM up", power_of_two(recipe.value_dim)));
  out.add("KEY_BLOCK: tl.constexpr = 32  # keys at a time");
  if (uses(recipe, Op::round_bfloat16)) {
    out.add("\n\n@triton.jit\ndef bfloat16(x):");
    add_docstring(out, "To the nearest bfloat16, ties to even: of a float32, by its bits.");
    out.add("bits = x.to(tl.uint32, bitcast=True)", 4);
    out.add("bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000", 4);
    out.add("return bits.to(tl.float32, bitcast=True)", 4);
  }
  const auto add = [&](const Function& function) {
    add_function(out, function, triton_spelling,
                 {.decorator = "@triton.jit", .parameters = names_of(function.parameters), .doc = function.comment});
  };
  for (const Function& helper : recipe.helpers) {
    if (helper.is_wide) {
      add_function(out, helper, torch_spelling, {.parameters = names_of(helper.parameters), .doc = helper.comment});
    } else {
      add(helper);
    }
  }
  if (recipe.rotation) {
    add_torch_table(out, recipe);
    add_rotate_kernel(out, recipe);
  }
  if (recipe.visible) add(*recipe.visible);
  if (recipe.query_scale) add(*recipe.query_scale);
  for (const Function& bias : recipe.biases) add(bias);
  add_attention_kernel(out, recipe);
  add_layer(out, recipe);
  return {"attention_triton.py",
          python_file(recipe, "Triton", "import torch\nimport triton\nimport triton.language as tl", out.take()),
          python_functions(recipe), port_text(recipe, "attention_triton.py", true)};
}

}  // namespace posenc::code
