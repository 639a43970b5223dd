// What one attention layer does with positions, as constants, small functions and facts: a plan's layer on its way to
// code. Every scheme becomes this once, in rotation_recipe.cpp and score_recipe.cpp; back ends (back_ends.h) write it
// down and know no scheme.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "emit/expression.h"
#include "posenc/emit.h"
#include "posenc/plan.h"

namespace posenc::code {

struct Constant {
  std::string name;  // "rotary_dim"; back ends write it their way
  std::variant<std::int64_t, double, std::vector<double>, std::vector<std::int64_t>> value;
  std::string note;  // where it comes from
};

// Where a call of a function takes an argument from.
enum class From : std::uint8_t {
  pair,        // p
  length,      // of the sequence, in tokens
  head,        // h
  q_position,  // coordinate of the query, on the parameter's axis
  k_position,  //
  q_order,     // place of the query in the sequence
  k_order,     //
  prefix,      // tokens at the front that all may see
  table,       // a learned table, by its name
  other,       // a number that another function of the recipe hands over
};

struct Parameter {
  std::string name;
  Type type = Type::whole;
  From from = From::other;
  std::int64_t axis = 0;
};

struct Let {
  std::string name;
  Expr is;
};

// Lines of code that compute `result`, one name after another.
struct Function {
  std::string name;
  std::string comment{};  // sentences
  std::vector<Parameter> parameters{};
  std::vector<Let> lets{};
  Expr result{};
  bool is_wide = false;  // in double: an error of its result grows with the position
};

// What the caller brings beside q, k and v.
struct Table {
  std::string name;      // "sinks"
  std::string shape;     // "[HEADS]"
  std::string comment;   // "learned attention sinks"
  bool is_mask = false;  // of truth values
  std::string golden{};  // its name among golden vectors (posenc/vectors.h)
};

struct Rotation {
  Pairing pairing = Pairing::half;
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
  Function inv_freq;
  std::optional<Expr> factor{};  // of cos and sin
  bool of_length = false;        // inv_freq or the factor depend on the length of the sequence
  std::vector<std::string> axes{};
  std::vector<std::int32_t> axis_of_pair{};  // or empty: the first
  std::int64_t offset = 0;                   // added to coordinates
  std::vector<double> values{};              // inv_freq as numbers, of the plan's length; empty: of no one length
  bool has_factor_value = true;
  double factor_value = 1.0;
};

struct Recipe {
  std::vector<std::string> heading;                        // sentences
  std::vector<std::pair<std::string, std::string>> facts;  // "mask", "causal, ..."
  std::vector<std::string> beside;                         // what the model does and the code does not
  std::vector<Constant> constants;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t axes = 1;  // coordinates of a token
  std::optional<Rotation> rotation{};
  bool norm_follows = false;  // between rotate and attention stands a norm that is not here
  bool rotates_values = false;
  bool unrotates_output = false;
  std::vector<Function> helpers{};    // what other functions call
  std::optional<Function> visible{};  // the mask; none: all keys
  bool has_selection = false;         // a mask that the caller brings
  std::optional<Function> query_scale{};
  std::vector<Function> biases{};       // added to the scores
  std::vector<Table> tables{};          // in the order of the parameters of attention
  std::optional<SoftCap::Order> cap{};  // with the constant soft_cap
  bool sinks = false;

  // Whether attention itself, beside the rotation, takes an argument from there.
  bool reads(From from) const;
};

// Of `layer`, which is of plan.stacks[stack]. Throws Error, naming what cannot be written and why.
Recipe recipe_of(const Plan& plan, std::size_t stack, const LayerPlan& layer, const std::string& layers);

// Whether one of its functions has that operation.
bool uses(const Recipe& recipe, Op op);

// "/rope_theta", "default: the llama family"; empty where the plan does not say. `field`: "rotate/0/base".
std::string source_of(const Plan& plan, std::size_t stack, const LayerPlan& layer, std::string_view field);

// Text of a plan as a comment may hold it: printable ASCII that ends no comment, string or line.
std::string harmless(std::string_view text);

// ---- one file each ----

// Thrown by all of them.
[[noreturn]] void refuse(std::string_view what, std::string_view why);

// Of a stack that is not known, with the fact that is missing.
void require_known(const Stack& stack);

class Sources {  // of the numbers of one layer
 public:
  Sources(const Plan& plan, std::size_t stack, const LayerPlan& layer) : plan_(plan), stack_(stack), layer_(layer) {}
  std::string operator()(std::string_view field) const { return source_of(plan_, stack_, layer_, field); }

 private:
  const Plan& plan_;
  std::size_t stack_;
  const LayerPlan& layer_;
};

void add_rotation(Recipe& recipe, const Plan& plan, const LayerPlan& layer, const Sources& sources);
void add_scores(Recipe& recipe, const LayerPlan& layer, const Sources& sources);
void add_mask(Recipe& recipe, const LayerPlan& layer, const Sources& sources);

}  // namespace posenc::code
