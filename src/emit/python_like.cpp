#include "emit/python_like.h"

#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "emit/back_ends.h"

namespace posenc::code {

std::optional<Spelling> python_spelling(const Expr& expr) {
  switch (expr.op) {
    case Op::whole: return Spelling{formatted("{}", expr.integer), expr.integer < 0 ? python::kUnary : kAtom};
    case Op::real: return Spelling{real_text(expr.number), expr.number < 0 ? python::kUnary : kAtom};
    case Op::name: return called(expr.text);
    case Op::constant: return called(upper(expr.text));
    case Op::call: {
      std::vector<std::string> places;
      for (std::size_t at = 0; at < expr.of.size(); ++at) places.push_back(formatted("{{{}}}", at));
      return called(call_text(expr.text, places));
    }
    case Op::add: return infix("+", python::kAdd);
    case Op::subtract: return infix("-", python::kAdd);
    case Op::multiply: return infix("*", python::kMultiply);
    case Op::divide: return infix("/", python::kMultiply);
    case Op::floor_divide: return infix("//", python::kMultiply);
    case Op::remainder: return infix("%", python::kMultiply);
    case Op::negate: return Spelling{"-{0}", python::kUnary, {python::kUnary, 0, 0}};
    case Op::power: return Spelling{"{0} ** {1}", python::kPower, {python::kPower + 1, python::kPower, 0}};
    case Op::less: return infix("<", python::kCompare);
    case Op::at_most: return infix("<=", python::kCompare);
    case Op::equal: return infix("==", python::kCompare);
    case Op::both: return infix("&", python::kBitAnd);
    case Op::element:
      if (expr.is_list) {
        // Of a list over the pairs, p is all of them.
        const bool is_all = expr.of[0].op == Op::name && expr.of[0].text == "p";
        return is_all ? called(upper(expr.text)) : called(upper(expr.text) + "[{0}]");
      }
      return called(expr.text + (expr.of.size() == 1 ? "[{0}]" : "[{0}, {1}]"));
    case Op::choose:
      if (expr.uniform || expr.of[0].uniform) {
        return Spelling{
            "{1} if {0} else {2}", python::kTernary, {python::kTernary + 1, python::kTernary + 1, python::kTernary}};
      }
      break;
    case Op::pi: return called("math.pi");
    case Op::exponential:
      if (expr.uniform) return called("math.exp({0})");
      break;
    case Op::logarithm:
      if (expr.uniform) return called("math.log({0})");
      break;
    case Op::logarithm_1p:
      if (expr.uniform) return called("math.log1p({0})");
      break;
    case Op::cosine:
      if (expr.uniform) return called("math.cos({0})");
      break;
    case Op::floor:
      if (expr.uniform) return called("math.floor({0})");
      break;
    case Op::absolute:
      if (expr.uniform) return called("abs({0})");
      break;
    case Op::smaller:
      if (expr.uniform) return called("min({0}, {1})");
      break;
    case Op::larger:
      if (expr.uniform) return called("max({0}, {1})");
      break;
    case Op::single:
    case Op::truncate:
    case Op::round_bfloat16: break;
  }
  return {};
}

std::string call_text(std::string_view function, const std::vector<std::string>& arguments) {
  return std::string(function) + "(" + joined(arguments, ", ") + ")";
}

std::string def_text(std::string_view function, const std::vector<std::string>& parameters) {
  std::string line = "def " + call_text(function, parameters) + ":";
  if (line.size() <= kColumns) return line;
  line = "def " + std::string(function) + "(";
  for (const std::string& part : broken(joined(parameters, ", "), kColumns - 4)) line += "\n    " + part;
  return line + "\n):";
}

void add_constants(Lines& out, const Recipe& recipe, const ListWords& list, std::string_view annotation) {
  for (const Constant& one : recipe.constants) {
    std::string line = upper(one.name);
    std::vector<std::string> elements;
    std::string_view close = list.close_whole;
    if (const auto* whole = std::get_if<std::int64_t>(&one.value)) {
      line += std::string(annotation) + formatted(" = {}", *whole);
    } else if (const auto* number = std::get_if<double>(&one.value)) {
      line += std::string(annotation) + " = " + real_text(*number);
    } else if (const auto* numbers = std::get_if<std::vector<double>>(&one.value)) {
      close = list.close_real;
      for (const double element : *numbers) elements.push_back(real_text(element));
    } else {
      for (const std::int64_t element : std::get<std::vector<std::int64_t>>(one.value)) {
        elements.push_back(formatted("{}", element));
      }
    }
    if (elements.empty()) {
      add_noted(out, line, "  # ", "# ", one.note);
      continue;
    }
    if (!one.note.empty()) out.comment("# ", one.note);
    const std::string open = line + " = " + std::string(list.open) + "[";
    out.add(list_text(elements, open, "]" + std::string(close), 0, 4));
  }
}

std::string python_file(const Recipe& recipe, std::string_view language, std::string_view imports,
                        const std::string& body) {
  std::string text =
      header(recipe, "# ", language,
             recipe.norm_follows ? order_of_calls(recipe)
             : recipe.rotation   ? "layer() is all of it: q and k are rotated by cos_sin and rotate, and "
                                   "attention makes the output. Keys of a cache are rotated once, by their "
                                   "own positions."
                                 : "There is one function, attention.");
  if (body.find("math.") != std::string::npos) text += "import math\n\n";
  return text + std::string(imports) + "\n\n" + body;
}

void add_docstring(Lines& out, std::string_view text, int indent) {
  const std::vector<std::string> lines = wrapped(text, kColumns - 3 - static_cast<std::size_t>(indent));
  const bool is_short = lines.size() == 1 && lines[0].size() + 6 + static_cast<std::size_t>(indent) <= kColumns;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    out.add((at == 0 ? "\"\"\"" : "") + lines[at] + (is_short ? "\"\"\"" : ""), indent);
  }
  if (!is_short) out.add("\"\"\"", indent);
}

namespace {

// In parentheses where it takes several lines.
void add_statement(Lines& out, const std::string& begins, const std::string& expression) {
  if (4 + begins.size() + expression.size() <= kColumns) {
    out.add(begins + expression, 4);
    return;
  }
  out.add(begins + "(", 4);
  for (const std::string& line : broken(expression, kColumns - 8)) out.add(line, 8);
  out.add(")", 4);
}

bool reads_pair(const Expr& expr) {
  if (expr.op == Op::element && expr.is_list) return false;  // the whole list stands for its elements
  return (expr.op == Op::name && expr.text == "p") || std::ranges::any_of(expr.of, reads_pair);
}

}  // namespace

bool reads_pair(const Function& function) {
  return reads_pair(function.result) ||
         std::ranges::any_of(function.lets, [](const Let& let) { return reads_pair(let.is); });
}

void add_function(Lines& out, const Function& function, const Spell& spell, const PythonFunction& as) {
  out.blank();
  out.blank();
  if (!as.decorator.empty()) out.add(as.decorator);
  out.add(def_text(function.name, as.parameters));
  add_docstring(out, as.doc);
  for (const std::string& line : as.first) out.add(line, 4);
  for (const Let& let : function.lets) add_statement(out, let.name + " = ", printed(let.is, spell));
  add_statement(out, "return ", printed(function.result, spell));
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const Parameter& parameter : parameters) out.push_back(parameter.name);
  return out;
}

std::vector<std::string> attention_parameters(const Recipe& recipe) {
  std::vector<std::string> out{"q", "k", "v"};
  if (recipe.visible) out.insert(out.end(), {"q_order", "k_order"});
  if (recipe.reads(From::q_position)) out.emplace_back("q_positions");
  if (recipe.reads(From::k_position)) out.emplace_back("k_positions");
  for (const Table& table : recipe.tables) out.push_back(table.name);
  if (recipe.reads(From::prefix)) out.emplace_back("prefix");
  return out;
}

std::string attention_doc(const Recipe& recipe, bool has_batches) {
  const char* more = has_batches ? "..., " : "";
  std::string text = formatted(
      "[{0}queries, HEADS, VALUE_DIM] of q [{0}queries, HEADS, HEAD_DIM], k [{0}keys, "
      "KV_HEADS, HEAD_DIM] and v [{0}keys, KV_HEADS, VALUE_DIM].\n",
      more);
  if (recipe.rotation) text += "\nq and k are rotated already.";
  if (recipe.visible) {
    text +=
        "\nq_order [queries], k_order [keys]: places in the sequence, which the mask counts by; of text the "
        "positions.";
  }
  const char* what = recipe.axes > 1 ? "[axes, {}]: coordinates of the tokens." : "[{}]: positions of the tokens.";
  const auto say = [&](const char* name, const char* tokens) {
    std::string shape = what;
    text += "\n" + std::string(name) + " " + shape.replace(shape.find("{}"), 2, tokens);
  };
  if (recipe.reads(From::q_position)) say("q_positions", "queries");
  if (recipe.reads(From::k_position)) say("k_positions", "keys");
  for (const Table& table : recipe.tables) text += "\n" + table.name + " " + table.shape + ": " + table.comment + ".";
  if (recipe.reads(From::prefix)) text += "\nprefix: how many tokens at the front all may see.";
  return text;
}

bool has_layer(const Recipe& recipe) { return recipe.rotation && !recipe.norm_follows; }

std::vector<std::string> layer_parameters(const Recipe& recipe) {
  std::vector<std::string> out = attention_parameters(recipe);
  if (recipe.rotation) {
    std::size_t at = recipe.visible ? 5 : 3;
    for (const char* positions : {"q_positions", "k_positions"}) {
      if (at == out.size() || out[at] != positions)
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), positions);
      ++at;
    }
    if (recipe.rotation->of_length) out.emplace_back("length");
  }
  return out;
}

void add_layer(Lines& out, const Recipe& recipe) {
  if (!has_layer(recipe)) return;
  out.blank();
  out.blank();
  out.add(def_text("layer", layer_parameters(recipe)));
  add_docstring(out, "Rotates q and k and attends: all that the layer does, of q, k and v as they are projected.");
  const std::string length = recipe.rotation->of_length ? ", length" : "";
  const bool is_reused = recipe.rotates_values;
  if (is_reused) {
    out.add("q_table, k_table = cos_sin(q_positions" + length + "), cos_sin(k_positions" + length + ")", 4);
    out.add("q, k, v = rotate(q, *q_table), rotate(k, *k_table), rotate(v, *k_table)", 4);
  } else {
    out.add("q = rotate(q, *cos_sin(q_positions" + length + "))", 4);
    out.add("k = rotate(k, *cos_sin(k_positions" + length + "))", 4);
  }
  const std::string call = call_text("attention", attention_parameters(recipe));
  if (recipe.unrotates_output) {
    out.add("out = " + call, 4);
    out.add("return rotate(out, q_table[0], -q_table[1])  # back, by the inverse", 4);
  } else {
    out.add("return " + call, 4);
  }
}

std::string cos_sin_doc(const Recipe& recipe) {
  const Rotation& rotation = *recipe.rotation;
  std::string text = "Of every token and pair: [..., tokens, PAIRS] each.\n\npositions: ";
  if (rotation.axes.size() > 1) {
    std::vector<std::string> names;
    for (const std::string& axis : rotation.axes) names.push_back(harmless(axis));
    text += "[axes, tokens], the axes " + joined(names, ", ") + ".";
  } else {
    text += "[..., tokens].";
  }
  if (rotation.of_length) text += " length: of the sequence, in tokens: the largest position + 1.";
  return text;
}

std::string rotate_doc(const Recipe& recipe, bool has_batches) {
  const Rotation& rotation = *recipe.rotation;
  const std::string first = rotation.first_channel == 0 ? "" : formatted("{} + ", rotation.first_channel);
  std::string text = rotation.pairing == Pairing::half
                         ? formatted("Half-split (NeoX, rotate_half): channel {}p rotates with {}p + {}", first, first,
                                     rotation.dim / 2)
                         : formatted("Interleaved (GPT-J): channel {}2p rotates with {}2p + 1", first, first);
  if (rotation.dim != recipe.head_dim) text += formatted(", {} of {} channels", rotation.dim, recipe.head_dim);
  return text + formatted(".\n\nx: [{}tokens, heads, HEAD_DIM].", has_batches ? "..., " : "");
}

PairSlices pair_slices(const Rotation& rotation) {
  const std::int64_t first = rotation.first_channel;
  const std::int64_t end = first + rotation.dim;
  switch (rotation.pairing) {
    case Pairing::half: {
      const std::int64_t middle = first + rotation.dim / 2;
      return {first == 0 ? formatted(":{}", middle) : formatted("{}:{}", first, middle),
              formatted("{}:{}", middle, end)};
    }
    case Pairing::interleaved: return {formatted("{}:{}:2", first, end), formatted("{}:{}:2", first + 1, end)};
  }
  return {};
}

std::vector<EmittedFunction> python_functions(const Recipe& recipe) {
  std::vector<EmittedFunction> out;
  if (recipe.rotation) {
    std::vector<std::string> parameters{"positions"};
    if (recipe.rotation->of_length) parameters.emplace_back("length");
    out.push_back({"cos_sin", parameters});
    out.push_back({"rotate", {"x", "cos", "sin"}});
  }
  out.push_back({"attention", attention_parameters(recipe)});
  if (has_layer(recipe)) out.push_back({"layer", layer_parameters(recipe)});
  return out;
}

}  // namespace posenc::code
