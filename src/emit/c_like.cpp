#include "emit/c_like.h"

#include "base/formatted.h"

namespace posenc::code {
namespace {

// How tightly C's operators bind.
namespace c_binds {
constexpr int kTernary = 1;
constexpr int kAnd = 2;
constexpr int kEqual = 4;
constexpr int kCompare = 5;
constexpr int kAdd = 6;
constexpr int kMultiply = 7;
constexpr int kUnary = 8;
}  // namespace c_binds

std::string replaced(std::string_view pattern, char mark, std::string_view by) {
  std::string out;
  for (const char letter : pattern) {
    if (letter == mark) {
      out += by;
    } else {
      out += letter;
    }
  }
  return out;
}

bool is_cast_like_a_call(const Dialect& dialect) { return dialect.cast.starts_with('$'); }

// Operands in parentheses where a prefix cast would take only the first of them.
Spelling cast_spelling(const Dialect& dialect, std::string_view type) {
  const std::string pattern = c_cast(dialect, type, "{0}");
  return is_cast_like_a_call(dialect) ? called(pattern) : Spelling{pattern, c_binds::kUnary, {c_binds::kUnary, 0, 0}};
}

std::string c_call(const std::string& function, std::size_t operands) {
  std::vector<std::string> places;
  for (std::size_t at = 0; at < operands; ++at) places.push_back(formatted("{{{}}}", at));
  return function + "(" + joined(places, ", ") + ")";
}

// fmin and fmax: both operands are real, since CUDA's overloads for two types are functions of the host.
Spelling of_real(const Expr& expr, const Dialect& dialect, bool is_wide) {
  std::vector<std::string> operands;
  Spelling out = called({});
  for (std::size_t at = 0; at < 2; ++at) {
    const std::string place = formatted("{{{}}}", at);
    const bool is_whole = expr.of[at].type == Type::whole;
    operands.push_back(is_whole ? c_cast(dialect, is_wide ? "double" : "float", place) : place);
    if (is_whole && !is_cast_like_a_call(dialect)) out.needs[at] = c_binds::kUnary;
  }
  out.pattern = dialect.mathematics(expr.op, is_wide) + "(" + joined(operands, ", ") + ")";
  return out;
}

Spelling spelling(const Expr& expr, const Dialect& dialect, bool is_wide) {
  const char* real = is_wide ? "double" : "float";
  switch (expr.op) {
    case Op::whole: return {formatted("{}", expr.integer), expr.integer < 0 ? c_binds::kUnary : kAtom};
    case Op::real: return {real_text(expr.number) + (is_wide ? "" : "f"), expr.number < 0 ? c_binds::kUnary : kAtom};
    case Op::pi: return called(dialect.pi);
    case Op::name: return called(expr.text);
    case Op::constant: return called(dialect.constant(expr.text));
    case Op::element: {
      const std::string list = expr.is_list ? dialect.constant(expr.text) : expr.text;
      if (expr.of.size() == 1) return called(list + "[{0}]");
      return {list + "[{0} * " + dialect.constant("heads") + " + {1}]", kAtom, {c_binds::kMultiply, c_binds::kAdd, 0}};
    }
    case Op::call: return called(c_call(expr.text, expr.of.size()));
    case Op::add: return infix("+", c_binds::kAdd);
    case Op::subtract: return infix("-", c_binds::kAdd);
    case Op::multiply: return infix("*", c_binds::kMultiply);
    case Op::divide: {
      // Of whole numbers C's quotient would be whole.
      if (expr.of[0].type != Type::whole || expr.of[1].type != Type::whole) return infix("/", c_binds::kMultiply);
      const bool is_call = is_cast_like_a_call(dialect);
      return {c_cast(dialect, real, "{0}") + " / {1}",
              c_binds::kMultiply,
              {is_call ? kLoose : c_binds::kUnary, c_binds::kMultiply + 1, 0}};
    }
    case Op::floor_divide: return infix("/", c_binds::kMultiply);
    case Op::remainder: return infix("%", c_binds::kMultiply);
    case Op::negate: return {"-{0}", c_binds::kUnary, {c_binds::kUnary, 0, 0}};
    case Op::less: return infix("<", c_binds::kCompare);
    case Op::at_most: return infix("<=", c_binds::kCompare);
    case Op::equal: return infix("==", c_binds::kEqual);
    case Op::both: return infix("&&", c_binds::kAnd);
    case Op::choose:
      return {"{0} ? {1} : {2}", c_binds::kTernary, {c_binds::kTernary + 1, c_binds::kTernary, c_binds::kTernary}};
    case Op::smaller:
    case Op::larger:
      if (expr.type == Type::whole && !dialect.whole_limit.empty()) {
        Spelling out = called(replaced(dialect.whole_limit, '%', expr.op == Op::smaller ? "<" : ">"));
        out.needs[0] = c_binds::kAdd;
        out.needs[1] = c_binds::kAdd;
        return out;
      }
      if (expr.type == Type::whole) {
        return called(c_call(dialect.whole_functions + (expr.op == Op::smaller ? "min" : "max"), 2));
      }
      return of_real(expr, dialect, is_wide);
    case Op::absolute:
      if (expr.type == Type::whole) return called(dialect.whole_functions + "abs({0})");
      return called(c_call(dialect.mathematics(expr.op, is_wide), 1));
    case Op::power: return called(c_call(dialect.mathematics(expr.op, is_wide), 2));
    case Op::exponential:
    case Op::logarithm:
    case Op::logarithm_1p:
    case Op::cosine:
    case Op::floor: return called(c_call(dialect.mathematics(expr.op, is_wide), 1));
    case Op::single:
      if (expr.of[0].type != Type::whole && !is_wide) return {"{0}", kAtom, {kAtom, 0, 0}};
      return cast_spelling(dialect, "float");
    case Op::truncate: return cast_spelling(dialect, "int");
    case Op::round_bfloat16: return called("bfloat16({0})");
  }
  return {};
}

void collect(const Expr& expr, std::set<std::string>& names) {
  if (expr.op == Op::constant || (expr.op == Op::element && expr.is_list)) names.insert(expr.text);
  for (const Expr& operand : expr.of) collect(operand, names);
}

void collect(const Function& function, std::set<std::string>& names) {
  for (const Let& let : function.lets) collect(let.is, names);
  collect(function.result, names);
}

std::string type_of(Type type, bool is_wide) {
  switch (type) {
    case Type::whole: return "int";
    case Type::real: return is_wide ? "double" : "float";
    case Type::truth: return "bool";
  }
  return {};
}

// What attention's loop hands to a function.
std::string c_argument(const Recipe& recipe, const Parameter& parameter) {
  const auto at = [&](const char* positions, const char* count, const char* index) {
    if (recipe.axes == 1) return formatted("{}[{}]", positions, index);
    return parameter.axis == 0 ? formatted("{}[{}]", positions, index)
                               : formatted("{}[{} * {} + {}]", positions, parameter.axis, count, index);
  };
  switch (parameter.from) {
    case From::head: return "h";
    case From::q_position: return at("q_positions", "queries", "i");
    case From::k_position: return at("k_positions", "keys", "j");
    case From::q_order: return "q_order[i]";
    case From::k_order: return "k_order[j]";
    case From::table:
    case From::prefix:
    case From::length:
    case From::pair:
    case From::other: return parameter.name;
  }
  return {};
}

std::string called_for(const Recipe& recipe, const Function& function) {
  std::vector<std::string> arguments;
  for (const Parameter& parameter : function.parameters) arguments.push_back(c_argument(recipe, parameter));
  return function.name + "(" + joined(arguments, ", ") + ")";
}

}  // namespace

// The switch names all operations, so that a new one is decided upon.
std::string_view math_name(Op op) {
  switch (op) {
    case Op::power: return "pow";
    case Op::exponential: return "exp";
    case Op::logarithm: return "log";
    case Op::logarithm_1p: return "log1p";
    case Op::cosine: return "cos";
    case Op::floor: return "floor";
    case Op::absolute: return "fabs";
    case Op::smaller: return "fmin";
    case Op::larger: return "fmax";
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
    case Op::less:
    case Op::at_most:
    case Op::equal:
    case Op::both:
    case Op::choose:
    case Op::single:
    case Op::truncate:
    case Op::round_bfloat16: break;  // no functions of <math.h>
  }
  return {};
}

std::string declared(std::string_view pattern, std::string_view name) { return replaced(pattern, '@', name); }

std::string c_cast(const Dialect& dialect, std::string_view type, std::string_view value) {
  return replaced(replaced(dialect.cast, '$', type), '@', value);
}

Spell c_spelling(const Dialect& dialect, bool is_wide) {
  return [&dialect, is_wide](const Expr& expr) { return spelling(expr, dialect, is_wide); };
}

std::set<std::string> wide_constants(const Recipe& recipe) {
  std::set<std::string> names;
  if (recipe.rotation) {
    collect(recipe.rotation->inv_freq, names);
    if (recipe.rotation->factor) collect(*recipe.rotation->factor, names);
  }
  for (const Function& helper : recipe.helpers) {
    if (helper.is_wide) collect(helper, names);
  }
  return names;
}

void add_c_function(Lines& out, const Function& function, const Dialect& dialect) {
  const Spell spell = c_spelling(dialect, function.is_wide);
  std::vector<std::string> parameters;
  for (const Parameter& parameter : function.parameters) {
    parameters.push_back(parameter.from == From::table
                             ? declared(dialect.floats, parameter.name)
                             : type_of(parameter.type, function.is_wide) + " " + parameter.name);
  }
  out.blank();
  out.comment("// ", sentence(function.comment));
  out.add(
      signature(dialect.function + type_of(function.result.type, function.is_wide) + " " + function.name, parameters) +
      " {");
  const auto add = [&](const std::string& begins, const Expr& is) {
    const std::vector<std::string> lines = broken(begins + printed(is, spell) + ";", kColumns - 6);
    for (std::size_t at = 0; at < lines.size(); ++at) out.add(lines[at], at == 0 ? 2 : 6);
  };
  for (const Let& let : function.lets) {
    add("const " + type_of(let.is.type, function.is_wide) + " " + let.name + " = ", let.is);
  }
  add("return ", function.result);
  out.add("}");
}

void add_wide_helpers(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  for (const Function& helper : recipe.helpers) {
    if (helper.is_wide) add_c_function(out, helper, dialect);
  }
}

void add_score_functions(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  for (const Function& helper : recipe.helpers) {
    if (!helper.is_wide) add_c_function(out, helper, dialect);
  }
  if (recipe.visible) add_c_function(out, *recipe.visible, dialect);
  if (recipe.query_scale) add_c_function(out, *recipe.query_scale, dialect);
  for (const Function& bias : recipe.biases) add_c_function(out, bias, dialect);
}

std::string signature(std::string_view open, const std::vector<std::string>& parameters) {
  std::string line = std::string(open) + "(";
  const std::string margin(line.size() < 40 ? line.size() : 4, ' ');
  std::string out;
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    const std::string part = parameters[at] + (at + 1 < parameters.size() ? "," : ")");
    if (at > 0 && line.size() + 1 + part.size() + 2 > kColumns) {
      out += line + "\n";
      line = margin + part;
      continue;
    }
    line += (at == 0 ? "" : " ") + part;
  }
  return out + line + (parameters.empty() ? ")" : "");
}

std::string Factor::times(const Dialect& dialect, const std::string& value) const {
  if (name.empty()) return c_cast(dialect, "float", value);
  const std::string product = name + " * " + value;
  return c_cast(dialect, "float", is_cast_like_a_call(dialect) ? product : "(" + product + ")");
}

Factor factor_of(const Recipe& recipe, const Dialect& dialect) {
  if (!recipe.rotation->factor) return {};
  const std::string text = printed(*recipe.rotation->factor, c_spelling(dialect, true));
  if (recipe.rotation->factor->op == Op::constant) return {{}, text};
  return {"const double factor = " + text + ";", "factor"};
}

std::string position_text(const Recipe& recipe, const Dialect& dialect, const std::string& axis) {
  const Rotation& rotation = *recipe.rotation;
  std::string at = rotation.axes.size() > 1 ? "positions[" + axis + " * tokens + i]" : "positions[i]";
  if (rotation.offset != 0) at = "(" + at + " + " + dialect.constant("offset") + ")";
  return at;
}

void add_pair_body(Lines& out, const Recipe& recipe, const Dialect& dialect, int indent, bool is_back) {
  const Rotation& rotation = *recipe.rotation;
  const auto name = [&](const char* constant_name) { return dialect.constant(constant_name); };
  const std::string token = c_cast(dialect, dialect.size, "i");
  const std::string first = rotation.first_channel == 0 ? "" : " + " + name("first_channel");
  const char* sign = is_back ? "-" : "";
  out.add("const float c = cosines[" + token + " * " + name("pairs") + " + p];", indent);
  out.add("const float s = " + std::string(sign) + "sines[" + token + " * " + name("pairs") + " + p];", indent);
  out.add(declared(dialect.row_out, "head") + " = &x[(" + token + " * heads + h) * " + name("head_dim") + first + "];",
          indent);
  std::string a;
  std::string b;
  switch (rotation.pairing) {
    case Pairing::half:
      a = "head[p]";
      b = "head[p + " + name("pairs") + "]";
      break;
    case Pairing::interleaved:
      a = "head[2 * p]";
      b = "head[2 * p + 1]";
      break;
  }
  out.add("const float a = " + a + ", b = " + b + ";", indent);
  out.add(a + " = a * c - b * s;", indent);
  out.add(b + " = a * s + b * c;", indent);
}

void add_query_body(Lines& out, const Recipe& recipe, const Dialect& dialect, int indent) {
  const auto name = [&](const char* constant_name) { return dialect.constant(constant_name); };
  const auto mathematics = [&](Op op) { return dialect.mathematics(op, false); };
  const std::string query = c_cast(dialect, dialect.size, "i");
  const std::string key = c_cast(dialect, dialect.size, "j");
  const auto add = [&](const std::string& line, int more = 0) { out.add(line, indent + more); };
  add(declared(dialect.row, "query") + " = &q[(" + query + " * " + name("heads") + " + h) * " + name("head_dim") +
      "];");
  add(declared(dialect.row_out, "sum") + " = &out[(" + query + " * " + name("heads") + " + h) * " + name("value_dim") +
      "];");
  add("for (int c = 0; c < " + name("value_dim") + "; ++c) sum[c] = 0;");
  add("// An online softmax: `sum` and `total` are over the keys so far, by exp(score - largest).");
  if (recipe.sinks) {
    add("float largest = sinks[h], total = 1;  // the sink takes its part, and adds no value");
  } else {
    add("float largest = -" + dialect.infinity + ", total = 0;");
  }
  std::string scale = name("softmax_scale");
  if (recipe.query_scale) {
    add("const float scale = " + scale + " * " + called_for(recipe, *recipe.query_scale) + ";");
    scale = "scale";
  }
  const bool is_grouped = recipe.heads != recipe.kv_heads;
  const std::string kv_head = is_grouped ? "h / " + name("group") : "h";
  add("for (int j = 0; j < keys; ++j) {");
  if (recipe.visible) add("if (!" + called_for(recipe, *recipe.visible) + ") continue;", 2);
  if (recipe.has_selection) add("if (!selected[" + query + " * keys + j]) continue;", 2);
  const std::string row = "(" + key + " * " + name("kv_heads") + " + " + kv_head + ")";
  add(declared(dialect.row, "key") + " = &k[" + row + " * " + name("head_dim") + "];", 2);
  add(declared(dialect.row, "value") + " = &v[" + row + " * " + name("value_dim") + "];", 2);
  add("float score = 0;", 2);
  add("for (int c = 0; c < " + name("head_dim") + "; ++c) score += query[c] * key[c];", 2);
  add("score *= " + scale + ";", 2);
  const std::string cap = "score = " + name("soft_cap") + " * " + dialect.tanh + "(score / " + name("soft_cap") + ");";
  if (recipe.cap == SoftCap::Order::before_bias) add(cap, 2);
  for (const Function& bias : recipe.biases) add("score += " + called_for(recipe, bias) + ";", 2);
  if (recipe.cap == SoftCap::Order::after_bias) add(cap, 2);
  const std::string exponential = mathematics(Op::exponential);
  add("const float most = " + mathematics(Op::larger) + "(largest, score);", 2);
  add("const float kept = " + exponential + "(largest - most), weight = " + exponential + "(score - most);", 2);
  add("for (int c = 0; c < " + name("value_dim") + "; ++c) sum[c] = sum[c] * kept + weight * value[c];", 2);
  add("total = total * kept + weight;", 2);
  add("largest = most;", 2);
  add("}");
  add("for (int c = 0; c < " + name("value_dim") + "; ++c) sum[c] /= total;");
}

std::vector<AttentionParameter> c_parameters(const Recipe& recipe) {
  using Kind = AttentionParameter::Kind;
  std::vector<AttentionParameter> out{{"q", Kind::floats, "[queries, heads, head_dim]"},
                                      {"k", Kind::floats, "[keys, kv_heads, head_dim]"},
                                      {"v", Kind::floats, "[keys, kv_heads, value_dim]"}};
  if (recipe.visible) {
    out.push_back({"q_order", Kind::wholes,
                   "[queries], k_order [keys]: places in the sequence, from 0, which the mask counts by; of text the "
                   "positions"});
    out.push_back({"k_order", Kind::wholes, ""});
  }
  const std::string more = recipe.axes > 1 ? "[axes, " : "[";
  if (recipe.reads(From::q_position)) out.push_back({"q_positions", Kind::wholes, more + "queries]"});
  if (recipe.reads(From::k_position)) out.push_back({"k_positions", Kind::wholes, more + "keys]"});
  for (const Table& table : recipe.tables) {
    out.push_back({table.name, table.is_mask ? Kind::truths : Kind::floats, table.shape + ": " + table.comment});
  }
  if (recipe.reads(From::prefix)) out.push_back({"prefix", Kind::whole, "tokens at the front that all may see"});
  out.push_back({"out", Kind::out, "[queries, heads, value_dim]"});
  return out;
}

void add_attention_comment(Lines& out, const Recipe& recipe) {
  out.comment(
      "// ", recipe.rotation ? "Attention over q and k that are rotated already. Row-major:" : "Attention. Row-major:");
  for (const AttentionParameter& parameter : c_parameters(recipe)) {
    if (!parameter.comment.empty()) out.comment("//   ", parameter.name + " " + parameter.comment);
  }
  if (!recipe.sinks) out.comment("// ", "A query that sees no key gets NaN.");
}

void add_rotate_comment(Lines& out, const Recipe& recipe) {
  const Rotation& rotation = *recipe.rotation;
  const std::string first = rotation.first_channel == 0 ? "" : formatted("{} + ", rotation.first_channel);
  std::string text;
  switch (rotation.pairing) {
    case Pairing::half:
      text = formatted("Half-split (NeoX, rotate_half): channel {}p rotates with {}p + {}", first, first,
                       rotation.dim / 2);
      break;
    case Pairing::interleaved:
      text = formatted("Interleaved (GPT-J): channel {}2p rotates with {}2p + 1", first, first);
      break;
  }
  if (rotation.dim != recipe.head_dim) text += formatted(", {} of {} channels", rotation.dim, recipe.head_dim);
  out.comment("// ", text + ". In place: x [tokens, heads, head_dim]; of q all heads, of k the KV heads.");
}

std::vector<EmittedFunction> c_functions(const Recipe& recipe, bool has_sizes) {
  std::vector<EmittedFunction> out;
  if (recipe.rotation) {
    std::vector<std::string> table{"positions"};
    std::vector<std::string> rotate{"heads", "x", "cosines", "sines"};
    if (has_sizes) {
      table.insert(table.begin(), "tokens");
      rotate.insert(rotate.begin(), "tokens");
    }
    if (recipe.rotation->of_length) table.emplace_back("length");
    table.insert(table.end(), {"cosines", "sines"});
    out.push_back({"cos_sin", table});
    out.push_back({"rotate", rotate});
    if (recipe.unrotates_output) out.push_back({"rotate_back", rotate});
  }
  std::vector<std::string> attention;
  if (has_sizes) attention = {"queries", "keys"};
  for (const AttentionParameter& parameter : c_parameters(recipe)) attention.push_back(parameter.name);
  out.push_back({"attention", attention});
  return out;
}

}  // namespace posenc::code
