// C++20: a header of inline functions over std::span, tables in double, tensors in float.
#include <string>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/c_like.h"

namespace posenc::code {
namespace {

std::string cpp_function_name(Op op, bool) { return "std::" + std::string(math_name(op)); }

Dialect cpp_dialect() {
  return {.function = "inline ",
          .constant = [](std::string_view name) { return "k" + upper_camel(name); },
          .mathematics = cpp_function_name,
          .tanh = "std::tanh",
          .pi = "std::numbers::pi",
          .whole_functions = "std::",
          .whole_limit = {},
          .cast = "$(@)",
          .size = "std::size_t",
          .infinity = "std::numeric_limits<float>::infinity()",
          .floats = "std::span<const float> @",
          .truths = "std::span<const bool> @",
          .row = "const float* @",
          .row_out = "float* @"};
}

void add_cpp_constants(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  const std::set<std::string> wide = wide_constants(recipe);
  for (const Constant& one : recipe.constants) {
    const std::string name = dialect.constant(one.name);
    std::vector<std::string> elements;
    std::string type = "double";
    if (const auto* whole = std::get_if<std::int64_t>(&one.value)) {
      add_noted(out, "constexpr int " + name + formatted(" = {};", *whole), "  // ", "// ", one.note);
      continue;
    }
    if (const auto* number = std::get_if<double>(&one.value)) {
      const bool is_wide = wide.contains(one.name);
      add_noted(out,
                std::string("constexpr ") + (is_wide ? "double " : "float ") + name + " = " + real_text(*number) +
                    (is_wide ? ";" : "f;"),
                "  // ", "// ", one.note);
      continue;
    }
    if (const auto* numbers = std::get_if<std::vector<double>>(&one.value)) {
      for (const double element : *numbers) elements.push_back(real_text(element));
    } else {
      type = "int";
      for (const std::int64_t element : std::get<std::vector<std::int64_t>>(one.value)) {
        elements.push_back(formatted("{}", element));
      }
    }
    if (!one.note.empty()) out.comment("// ", one.note);
    out.add(list_text(elements, formatted("constexpr {} {}[{}] = {{", type, name, elements.size()), "};", 0, 4));
  }
}

void add_cpp_rotation(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  const Rotation& rotation = *recipe.rotation;
  Function inv_freq = rotation.inv_freq;
  inv_freq.comment = "Radians per position. " + inv_freq.comment;
  add_wide_helpers(out, recipe, dialect);
  add_c_function(out, inv_freq, dialect);
  out.blank();
  const bool has_axes = rotation.axes.size() > 1;
  out.comment("// ",
              std::string("Of every token and pair, [tokens, kPairs] each. positions ") +
                  (has_axes ? "[axes, tokens]" : "[tokens]") +
                  (rotation.of_length ? "; length: of the sequence, in tokens, the largest position + 1." : "."));
  std::vector<std::string> parameters{"std::span<const int> positions"};
  if (rotation.of_length) parameters.emplace_back("int length");
  parameters.insert(parameters.end(), {"std::span<float> cosines", "std::span<float> sines"});
  out.add(signature("inline void cos_sin", parameters) + " {");
  const Factor factor = factor_of(recipe, dialect);
  if (!factor.let.empty()) out.add(factor.let, 2);
  out.add("const int tokens = int(positions.size())" +
              (has_axes ? formatted(" / {}", rotation.axes.size()) : std::string()) + ";",
          2);
  out.add("for (int p = 0; p < kPairs; ++p) {", 2);
  out.add(std::string("const double frequency = inv_freq(p") + (rotation.of_length ? ", length" : "") + ");", 4);
  out.add("for (int i = 0; i < tokens; ++i) {", 4);
  out.add("const double angle = " + position_text(recipe, dialect, "kAxisOfPair[p]") + " * frequency;", 6);
  for (const auto& [table, function] : {std::pair("cosines", "cos"), std::pair("sines", "sin")}) {
    out.add(formatted("{}[std::size_t(i) * kPairs + p] = {};", table,
                      factor.times(dialect, "std::" + std::string(function) + "(angle)")),
            6);
  }
  out.add("}", 4);
  out.add("}", 2);
  out.add("}");
  for (const bool is_back : {false, true}) {
    if (is_back && !recipe.unrotates_output) break;
    out.blank();
    if (is_back) {
      out.comment("// ", "The inverse of rotate.");
    } else {
      add_rotate_comment(out, recipe);
    }
    out.add(signature(
                is_back ? "inline void rotate_back" : "inline void rotate",
                {"int heads", "std::span<float> x", "std::span<const float> cosines", "std::span<const float> sines"}) +
            " {");
    out.add("const int tokens = int(x.size()) / (heads * kHeadDim);", 2);
    out.add("for (int i = 0; i < tokens; ++i) {", 2);
    out.add("for (int h = 0; h < heads; ++h) {", 4);
    out.add("for (int p = 0; p < kPairs; ++p) {", 6);
    add_pair_body(out, recipe, dialect, 8, is_back);
    out.add("}", 6);
    out.add("}", 4);
    out.add("}", 2);
    out.add("}");
  }
}

}  // namespace

Written cpp_code(const Recipe& recipe) {
  const Dialect dialect = cpp_dialect();
  Lines out;
  out.add(header(recipe, "// ", "C++20", order_of_calls(recipe)) + "#pragma once\n");
  if (uses(recipe, Op::smaller) || uses(recipe, Op::larger)) out.add("#include <algorithm>");
  if (uses(recipe, Op::round_bfloat16)) out.add("#include <bit>");
  out.add("#include <cmath>\n#include <cstddef>");
  if (uses(recipe, Op::round_bfloat16)) out.add("#include <cstdint>");
  if (uses(recipe, Op::absolute)) out.add("#include <cstdlib>");
  if (!recipe.sinks) out.add("#include <limits>");
  if (uses(recipe, Op::pi)) out.add("#include <numbers>");
  out.add("#include <span>\n\nnamespace attention_layer {\n");
  add_cpp_constants(out, recipe, dialect);
  if (uses(recipe, Op::round_bfloat16)) {
    out.add(
        "\n// To the nearest bfloat16, ties to even.\ninline float bfloat16(float x) {\n"
        "  const auto bits = std::bit_cast<std::uint32_t>(x);\n"
        "  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);\n}");
  }
  if (recipe.rotation) add_cpp_rotation(out, recipe, dialect);
  add_score_functions(out, recipe, dialect);
  out.blank();
  add_attention_comment(out, recipe);
  std::vector<std::string> parameters;
  for (const AttentionParameter& parameter : c_parameters(recipe)) {
    switch (parameter.kind) {
      case AttentionParameter::Kind::floats: parameters.push_back("std::span<const float> " + parameter.name); break;
      case AttentionParameter::Kind::wholes: parameters.push_back("std::span<const int> " + parameter.name); break;
      case AttentionParameter::Kind::truths: parameters.push_back("std::span<const bool> " + parameter.name); break;
      case AttentionParameter::Kind::whole: parameters.push_back("int " + parameter.name); break;
      case AttentionParameter::Kind::out: parameters.push_back("std::span<float> " + parameter.name); break;
    }
  }
  out.add(signature("inline void attention", parameters) + " {");
  out.add("const int queries = int(q.size()) / (kHeads * kHeadDim);", 2);
  out.add("const int keys = int(k.size()) / (kKvHeads * kHeadDim);", 2);
  out.add("for (int h = 0; h < kHeads; ++h) {", 2);
  out.add("for (int i = 0; i < queries; ++i) {", 4);
  add_query_body(out, recipe, dialect, 6);
  out.add("}", 4);
  out.add("}", 2);
  out.add("}\n\n}  // namespace attention_layer");
  return {"attention.hpp", out.take(), c_functions(recipe, false), c_port_text(recipe, "attention.hpp")};
}

}  // namespace posenc::code
