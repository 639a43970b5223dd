#include "emit/expression.h"

#include <algorithm>
#include <utility>

namespace posenc::code {
namespace {

Type wider(const Expr& a, const Expr& b) {
  return a.type == Type::real || b.type == Type::real ? Type::real : Type::whole;
}

Expr made(Op op, Type type, std::vector<Expr> of) {
  const bool uniform = std::ranges::all_of(of, [](const Expr& operand) { return operand.uniform; });
  return {.op = op, .type = type, .of = std::move(of), .uniform = uniform};
}

Expr of_two(Op op, Expr a, Expr b) {
  const Type type = wider(a, b);
  return made(op, type, {std::move(a), std::move(b)});
}

Expr of_one(Op op, Type type, Expr a) { return made(op, type, {std::move(a)}); }

}  // namespace

Expr whole(std::int64_t value) { return {.op = Op::whole, .type = Type::whole, .integer = value}; }
Expr real(double value) { return {.op = Op::real, .type = Type::real, .number = value}; }
Expr pi() { return {.op = Op::pi, .type = Type::real}; }
Expr name(std::string text, Type type, bool uniform) {
  return {.op = Op::name, .type = type, .text = std::move(text), .uniform = uniform};
}
Expr constant(std::string text, Type type) { return {.op = Op::constant, .type = type, .text = std::move(text)}; }

Expr list_element(std::string list, Expr index, Type type) {
  Expr out = of_one(Op::element, type, std::move(index));
  out.text = std::move(list);
  out.is_list = true;
  return out;
}

Expr element(std::string table, Expr index) {
  Expr out = of_one(Op::element, Type::real, std::move(index));
  out.text = std::move(table);
  return out;
}

Expr element(std::string table, Expr row, Expr column, std::int64_t columns) {
  Expr out = made(Op::element, Type::real, {std::move(row), std::move(column)});
  out.text = std::move(table);
  out.columns = columns;
  return out;
}

Expr call(std::string function, Type type, std::vector<Expr> arguments) {
  Expr out = made(Op::call, type, std::move(arguments));
  out.text = std::move(function);
  return out;
}

Expr operator+(Expr a, Expr b) { return of_two(Op::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return of_two(Op::subtract, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return of_two(Op::multiply, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return made(Op::divide, Type::real, {std::move(a), std::move(b)}); }
Expr operator-(Expr a) {
  const Type type = a.type;
  return of_one(Op::negate, type, std::move(a));
}
Expr floor_divide(Expr a, Expr b) { return made(Op::floor_divide, Type::whole, {std::move(a), std::move(b)}); }
Expr remainder(Expr a, Expr b) { return made(Op::remainder, Type::whole, {std::move(a), std::move(b)}); }
Expr power(Expr base, Expr exponent) { return made(Op::power, Type::real, {std::move(base), std::move(exponent)}); }
Expr exponential(Expr a) { return of_one(Op::exponential, Type::real, std::move(a)); }
Expr logarithm(Expr a) { return of_one(Op::logarithm, Type::real, std::move(a)); }
Expr logarithm_1p(Expr a) { return of_one(Op::logarithm_1p, Type::real, std::move(a)); }
Expr cosine(Expr a) { return of_one(Op::cosine, Type::real, std::move(a)); }
Expr floored(Expr a) { return of_one(Op::floor, Type::real, std::move(a)); }
Expr absolute(Expr a) {
  const Type type = a.type;
  return of_one(Op::absolute, type, std::move(a));
}
Expr smaller(Expr a, Expr b) { return of_two(Op::smaller, std::move(a), std::move(b)); }
Expr larger(Expr a, Expr b) { return of_two(Op::larger, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return made(Op::less, Type::truth, {std::move(a), std::move(b)}); }
Expr operator<=(Expr a, Expr b) { return made(Op::at_most, Type::truth, {std::move(a), std::move(b)}); }
Expr operator==(Expr a, Expr b) { return made(Op::equal, Type::truth, {std::move(a), std::move(b)}); }
Expr operator&&(Expr a, Expr b) { return made(Op::both, Type::truth, {std::move(a), std::move(b)}); }
Expr choose(Expr where, Expr then, Expr otherwise) {
  const Type type = wider(then, otherwise);
  return made(Op::choose, type, {std::move(where), std::move(then), std::move(otherwise)});
}
Expr single(Expr a) { return of_one(Op::single, Type::real, std::move(a)); }
Expr truncated(Expr a) { return of_one(Op::truncate, Type::whole, std::move(a)); }
Expr rounded_bfloat16(Expr a) { return of_one(Op::round_bfloat16, Type::real, std::move(a)); }

Spelling called(std::string pattern) { return {.pattern = std::move(pattern), .binds = kAtom}; }

Spelling infix(std::string_view operation, int binds) {
  return {.pattern = "{0} " + std::string(operation) + " {1}", .binds = binds, .needs = {binds, binds + 1, 0}};
}

std::string printed(const Expr& expr, const Spell& spell) {
  const Spelling spelling = spell(expr);
  std::string out;
  const std::string& pattern = spelling.pattern;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool is_place = at + 2 < pattern.size() && pattern[at] == '{' && pattern[at + 2] == '}' &&
                          pattern[at + 1] >= '0' && pattern[at + 1] <= '2';
    if (!is_place) {
      out += pattern[at];
      continue;
    }
    const auto which = static_cast<std::size_t>(pattern[at + 1] - '0');
    const Expr& operand = expr.of.at(which);
    const bool is_loose = spell(operand).binds < spelling.needs[which];
    out += is_loose ? "(" + printed(operand, spell) + ")" : printed(operand, spell);
    at += 2;
  }
  return out;
}

}  // namespace posenc::code
