// What NumPy, torch and Triton share: constants, and functions of a recipe as functions over arrays.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/recipe.h"
#include "emit/text.h"

namespace posenc::code {

// How tightly Python's operators bind.
namespace python {
inline constexpr int kTernary = 1;
inline constexpr int kCompare = 4;
inline constexpr int kBitAnd = 5;
inline constexpr int kAdd = 6;
inline constexpr int kMultiply = 7;
inline constexpr int kUnary = 8;
inline constexpr int kPower = 9;
}  // namespace python

// The operators and literals that are the same in all three, and min and max and the like of plain numbers
// (Expr::uniform) by Python's own functions. Nothing for what each writes its own way.
std::optional<Spelling> python_spelling(const Expr& expr);

// "name(a, b)".
std::string call_text(std::string_view function, const std::vector<std::string>& arguments);

// "def name(a, b):", over several lines where it is too long for one.
std::string def_text(std::string_view function, const std::vector<std::string>& parameters);

// Of a call, each in its order: what a back end says an argument of that origin is.
template <typename Argument>
std::vector<std::string> arguments_of(const Function& function, const Argument& argument) {
  std::vector<std::string> out;
  for (const Parameter& parameter : function.parameters) out.push_back(argument(parameter));
  return out;
}

// How a list of the recipe is written: `open` before the bracket, and what closes it.
struct ListWords {
  std::string_view open;
  std::string_view close_whole;
  std::string_view close_real;
};
// HEADS = 32  # of queries: /num_attention_heads
void add_constants(Lines& out, const Recipe& recipe, const ListWords& list, std::string_view annotation = "");

// The header, imports and the body.
std::string python_file(const Recipe& recipe, std::string_view language, std::string_view imports,
                        const std::string& body);

// def name(parameters): docstring, lets, return. `first` are lines before the lets.
struct PythonFunction {
  std::string decorator{};
  std::vector<std::string> parameters;
  std::string doc;
  std::vector<std::string> first{};
};
void add_function(Lines& out, const Function& function, const Spell& spell, const PythonFunction& as);
// Whether inv_freq needs p, the numbers of the pairs.
bool reads_pair(const Function& function);
void add_docstring(Lines& out, std::string_view text, int indent = 4);

std::vector<std::string> names_of(const std::vector<Parameter>& parameters);

// The names of attention's parameters: q, k, v, then what it reads.
std::vector<std::string> attention_parameters(const Recipe& recipe);
// What the docstring says of them, a line each.
std::string attention_doc(const Recipe& recipe, bool has_batches);

// numpy, torch: def layer(...), which rotates and attends. What it takes.
std::vector<std::string> layer_parameters(const Recipe& recipe);
// Not where a norm stands between rotate and attention: what is left is no layer.
bool has_layer(const Recipe& recipe);
void add_layer(Lines& out, const Recipe& recipe);

// "[..., tokens, PAIRS]": what cos_sin takes and gives; what rotate does.
std::string cos_sin_doc(const Recipe& recipe);
std::string rotate_doc(const Recipe& recipe, bool has_batches);
// The slices of the two channels of all pairs: ":64", "64:128"; "0:64:2", "1:64:2".
struct PairSlices {
  std::string a;
  std::string b;
};
PairSlices pair_slices(const Rotation& rotation);

std::vector<EmittedFunction> python_functions(const Recipe& recipe);

}  // namespace posenc::code
