// C99: tables in double, tensors in float. `gcc -std=c99 -Wall -Wextra -Werror` takes it; it needs <math.h> alone.
#include <string>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/c_like.h"

namespace posenc::code {
namespace {

std::string c_function_name(Op op, bool is_wide) { return std::string(math_name(op)) + (is_wide ? "" : "f"); }

Dialect c_dialect() {
  return {.function = "static ",
          .constant = upper,
          .mathematics = c_function_name,
          .tanh = "tanhf",
          .pi = "PI",
          .whole_functions = {},
          .whole_limit = "({0} % {1} ? {0} : {1})",
          .cast = "($)@",
          .size = "size_t",
          .infinity = "INFINITY",
          .floats = "const float *@",
          .truths = "const bool *@",
          .row = "const float *@",
          .row_out = "float *@"};
}

// Whole numbers as one enum, the others one by one.
void add_c_constants(Lines& out, const Recipe& recipe) {
  const std::set<std::string> wide = wide_constants(recipe);
  out.add("enum {");
  for (const Constant& one : recipe.constants) {
    const auto* whole = std::get_if<std::int64_t>(&one.value);
    if (whole == nullptr) continue;
    const std::string line = "  " + upper(one.name) + formatted(" = {},", *whole);
    add_noted(out, line, "  // ", "  // ", one.note);
  }
  out.add("};");
  if (uses(recipe, Op::pi)) out.add("static const double PI = 3.141592653589793;");
  for (const Constant& one : recipe.constants) {
    if (std::holds_alternative<std::int64_t>(one.value)) continue;
    if (const auto* number = std::get_if<double>(&one.value)) {
      const bool is_wide = wide.contains(one.name);
      add_noted(out,
                std::string("static const ") + (is_wide ? "double " : "float ") + upper(one.name) + " = " +
                    real_text(*number) + (is_wide ? ";" : "f;"),
                "  // ", "// ", one.note);
      continue;
    }
    std::vector<std::string> elements;
    std::string type = "double ";
    if (const auto* numbers = std::get_if<std::vector<double>>(&one.value)) {
      for (const double element : *numbers) elements.push_back(real_text(element));
    } else {
      type = "int ";
      for (const std::int64_t element : std::get<std::vector<std::int64_t>>(one.value)) {
        elements.push_back(formatted("{}", element));
      }
    }
    if (!one.note.empty()) out.comment("// ", one.note);
    out.add(list_text(elements, "static const " + type + upper(one.name) + formatted("[{}] = {{", elements.size()),
                      "};", 0, 2));
  }
}

void add_c_rotation(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  const Rotation& rotation = *recipe.rotation;
  Function inv_freq = rotation.inv_freq;
  inv_freq.comment = "Radians per position. " + inv_freq.comment;
  add_wide_helpers(out, recipe, dialect);
  add_c_function(out, inv_freq, dialect);
  out.blank();
  out.comment("// ",
              std::string("Of every token and pair, [tokens, PAIRS] each. positions ") +
                  (rotation.axes.size() > 1 ? "[axes, tokens]" : "[tokens]") +
                  (rotation.of_length ? "; length: of the sequence, in tokens, the largest position + 1." : "."));
  std::vector<std::string> parameters{"int tokens", "const int *positions"};
  if (rotation.of_length) parameters.emplace_back("int length");
  parameters.insert(parameters.end(), {"float *cosines", "float *sines"});
  out.add(signature("void cos_sin", parameters) + " {");
  const Factor factor = factor_of(recipe, dialect);
  if (!factor.let.empty()) out.add(factor.let, 2);
  out.add("for (int p = 0; p < PAIRS; ++p) {", 2);
  out.add(std::string("const double frequency = inv_freq(p") + (rotation.of_length ? ", length" : "") + ");", 4);
  out.add("for (int i = 0; i < tokens; ++i) {", 4);
  out.add("const double angle = " + position_text(recipe, dialect, "AXIS_OF_PAIR[p]") + " * frequency;", 6);
  for (const auto& [table, function] : {std::pair("cosines", "cos"), std::pair("sines", "sin")}) {
    out.add(
        formatted("{}[(size_t)i * PAIRS + p] = {};", table, factor.times(dialect, std::string(function) + "(angle)")),
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
    out.add(signature(is_back ? "void rotate_back" : "void rotate",
                      {"int tokens", "int heads", "float *x", "const float *cosines", "const float *sines"}) +
            " {");
    out.add("for (int i = 0; i < tokens; ++i) {", 2);
    out.add("for (int h = 0; h < heads; ++h) {", 4);
    out.add("for (int p = 0; p < PAIRS; ++p) {", 6);
    add_pair_body(out, recipe, dialect, 8, is_back);
    out.add("}", 6);
    out.add("}", 4);
    out.add("}", 2);
    out.add("}");
  }
}

}  // namespace

Written c_code(const Recipe& recipe) {
  const Dialect dialect = c_dialect();
  Lines out;
  out.add(header(recipe, "// ", "C99", order_of_calls(recipe)) +
          "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>");
  if (uses(recipe, Op::absolute)) out.add("#include <stdlib.h>");
  if (uses(recipe, Op::round_bfloat16)) out.add("#include <stdint.h>\n#include <string.h>");
  out.blank();
  add_c_constants(out, recipe);
  if (uses(recipe, Op::round_bfloat16)) {
    out.add(
        "\n// To the nearest bfloat16, ties to even.\nstatic float bfloat16(float x) {\n  uint32_t bits;\n"
        "  memcpy(&bits, &x, sizeof bits);\n  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;\n"
        "  memcpy(&x, &bits, sizeof x);\n  return x;\n}");
  }
  if (recipe.rotation) add_c_rotation(out, recipe, dialect);
  add_score_functions(out, recipe, dialect);
  out.blank();
  add_attention_comment(out, recipe);
  std::vector<std::string> parameters{"int queries", "int keys"};
  for (const AttentionParameter& parameter : c_parameters(recipe)) {
    switch (parameter.kind) {
      case AttentionParameter::Kind::floats: parameters.push_back("const float *" + parameter.name); break;
      case AttentionParameter::Kind::wholes: parameters.push_back("const int *" + parameter.name); break;
      case AttentionParameter::Kind::truths: parameters.push_back("const bool *" + parameter.name); break;
      case AttentionParameter::Kind::whole: parameters.push_back("int " + parameter.name); break;
      case AttentionParameter::Kind::out: parameters.push_back("float *" + parameter.name); break;
    }
  }
  out.add(signature("void attention", parameters) + " {");
  out.add("for (int h = 0; h < HEADS; ++h) {", 2);
  out.add("for (int i = 0; i < queries; ++i) {", 4);
  add_query_body(out, recipe, dialect, 6);
  out.add("}", 4);
  out.add("}", 2);
  out.add("}");
  return {"attention.c", out.take(), c_functions(recipe, true), c_port_text(recipe, "attention.c")};
}

}  // namespace posenc::code
