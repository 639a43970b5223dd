// What C, C++, CUDA and Metal share: scalar functions, and the bodies of the loops over pairs and keys. What differs is
// a Dialect.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/recipe.h"
#include "emit/text.h"

namespace posenc::code {

// An operation in <math.h>, of doubles: "pow". Empty: it is no function there.
std::string_view math_name(Op op);

struct Dialect {
  std::string function;  // before a helper's type: "static "
  std::function<std::string(std::string_view)> constant;
  // The name of a function of the mathematical library, in double or in float.
  std::function<std::string(Op, bool is_wide)> mathematics;
  std::string tanh;
  std::string pi;
  std::string whole_functions;  // before abs, min and max of whole numbers: "std::"
  std::string whole_limit;      // "({0} < {1} ? {0} : {1})" with %: < or >; empty: min and max by `mathematics`
  std::string cast;             // of @ to $: "($)@", "$(@)"
  std::string size;             // "size_t"
  std::string infinity;
  std::string floats;  // a pointer or a view: "const float *@", "std::span<const float> @"
  std::string truths;  // "const bool *@"
  std::string row;     // a pointer into floats: "const float *@"
  std::string row_out;
};

// With @ as the name.
std::string declared(std::string_view pattern, std::string_view name);

std::string c_cast(const Dialect& dialect, std::string_view type, std::string_view value);

Spell c_spelling(const Dialect& dialect, bool is_wide);

// Names of the constants that inv_freq and what it calls read: the others are floats.
std::set<std::string> wide_constants(const Recipe& recipe);

// // comment, then the function.
void add_c_function(Lines& out, const Function& function, const Dialect& dialect);

// The functions that attention's loop calls, in order: helpers that are not wide, the mask, query_scale, biases.
void add_score_functions(Lines& out, const Recipe& recipe, const Dialect& dialect);
void add_wide_helpers(Lines& out, const Recipe& recipe, const Dialect& dialect);

// "type name(a, b)" over lines of kColumns, behind `open`.
std::string signature(std::string_view open, const std::vector<std::string>& parameters);

// What multiplies cos and sin: `let` declares it where it is more than a constant.
struct Factor {
  std::string let{};
  std::string name{};  // empty: nothing multiplies
  // (float)(FACTOR * cos(angle)), (float)cos(angle)
  std::string times(const Dialect& dialect, const std::string& value) const;
};
Factor factor_of(const Recipe& recipe, const Dialect& dialect);

// Of rotate: a pair p of head h of token i.
void add_pair_body(Lines& out, const Recipe& recipe, const Dialect& dialect, int indent, bool is_back);
// Of attention: a query i of head h. `continue`s only the loop that it contains.
void add_query_body(Lines& out, const Recipe& recipe, const Dialect& dialect, int indent);

// Where the position of token i on pair p stands in `positions`: "positions[i]", "positions[AXIS_OF_PAIR[p] * tokens +
// i]".
std::string position_text(const Recipe& recipe, const Dialect& dialect, const std::string& axis);

struct AttentionParameter {
  enum class Kind : std::uint8_t { floats, wholes, truths, whole, out };
  std::string name;
  Kind kind;
  std::string comment;
};
// Behind `queries, keys` where a language takes these: q, k, v, ..., out.
std::vector<AttentionParameter> c_parameters(const Recipe& recipe);
void add_attention_comment(Lines& out, const Recipe& recipe);
void add_rotate_comment(Lines& out, const Recipe& recipe);

std::vector<EmittedFunction> c_functions(const Recipe& recipe, bool has_sizes);

}  // namespace posenc::code
