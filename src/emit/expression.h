// Scalar expressions: what a recipe (recipe.h) says in numbers, once for all languages.
//
//   inv_freq = power(base, -2 * p / dim)       NumPy: BASE ** (-2 * p / ROTARY_DIM)      C: pow(BASE, -2.0 * p / ...)
//
// An expression is of one pair, one query and one key; NumPy, torch and Triton print the same with arrays in their
// place. A back end says how each Op is written, in one switch without a default: a new Op compiles once all have it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::code {

enum class Type : std::uint8_t { whole, real, truth };

enum class Op : std::uint8_t {
  whole,     // a literal
  real,      // a literal
  pi,        //
  name,      // a parameter or a let
  constant,  // of the recipe
  element,   // of a list of the recipe, or of a table that is given: indices
  call,      // a function of the recipe
  add,
  subtract,
  multiply,
  divide,         // of real numbers, whatever the operands are
  floor_divide,   // of whole numbers from 0 up
  remainder,      // likewise
  negate,         //
  power,          //
  exponential,    //
  logarithm,      //
  logarithm_1p,   // ln(1 + x)
  cosine,         //
  floor,          // a real number
  absolute,       //
  smaller,        //
  larger,         //
  less,           //
  at_most,        //
  equal,          //
  both,           //
  choose,         // the second where the first holds, else the third; both are computed
  single,         // to float32
  truncate,       // to a whole number, towards 0
  round_bfloat16  // of a float32
};

struct Expr {
  Op op = Op::whole;
  Type type = Type::whole;
  std::vector<Expr> of{};
  std::string text{};       // name, constant, element, call
  std::int64_t integer{};   // whole
  double number{};          // real
  std::int64_t columns{1};  // element with two indices: the length of a row
  bool is_list = false;     // element of a list of the recipe
  bool uniform = true;      // one number for all pairs, heads, queries and keys
};

Expr whole(std::int64_t value);
Expr real(double value);
Expr pi();
Expr name(std::string text, Type type, bool uniform = false);
Expr constant(std::string text, Type type);
Expr list_element(std::string list, Expr index, Type type);
Expr element(std::string table, Expr index);
Expr element(std::string table, Expr row, Expr column, std::int64_t columns);
Expr call(std::string function, Type type, std::vector<Expr> arguments);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // real
Expr operator-(Expr a);
Expr floor_divide(Expr a, Expr b);
Expr remainder(Expr a, Expr b);
Expr power(Expr base, Expr exponent);
Expr exponential(Expr a);
Expr logarithm(Expr a);
Expr logarithm_1p(Expr a);
Expr cosine(Expr a);
Expr floored(Expr a);
Expr absolute(Expr a);
Expr smaller(Expr a, Expr b);
Expr larger(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);  // both are computed
Expr choose(Expr where, Expr then, Expr otherwise);
Expr single(Expr a);
Expr truncated(Expr a);
Expr rounded_bfloat16(Expr a);

// How a language writes one Op: "{0} + {1}", with the operands in the place of {0}, {1} and {2}; each is put in
// parentheses where it binds looser than `needs` says.
struct Spelling {
  std::string pattern;
  int binds = 0;  // how tightly the whole does
  int needs[3] = {0, 0, 0};
};
inline constexpr int kLoose = 0;
inline constexpr int kAtom = 100;

// f(x) and the like: operands stand between commas.
Spelling called(std::string pattern);
// a + b: of the same strength from the left on.
Spelling infix(std::string_view operation, int binds);

using Spell = std::function<Spelling(const Expr&)>;

std::string printed(const Expr& expr, const Spell& spell);

}  // namespace posenc::code
