// The Metal shading language: three kernels, a thread for each pair, or for each query and head. It has no double, so
// frequencies are numbers there, in turns per position and in two floats each: an angle of a float is off by 0.004
// radians at position 100000.
#include <cmath>
#include <numbers>
#include <string>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/c_like.h"
#include "posenc/error.h"

namespace posenc::code {
namespace {

// log1p stands in the text itself (add_log1p below): Metal has none.
std::string metal_function_name(Op op, bool) {
  const bool is_fast_by_default = op == Op::power || op == Op::exponential || op == Op::logarithm || op == Op::cosine;
  return (is_fast_by_default ? "precise::" : "") + std::string(math_name(op));
}

Dialect metal_dialect() {
  return {.function = "inline ",
          .constant = upper,
          .mathematics = metal_function_name,
          .tanh = "precise::tanh",
          .pi = "M_PI_F",
          .whole_functions = {},
          .whole_limit = {},
          .cast = "$(@)",
          .size = "size_t",
          .infinity = "INFINITY",
          .floats = "device const float* @",
          .truths = "device const bool* @",
          .row = "device const float* @",
          .row_out = "device float* @"};
}

// Of inv_freq / (2 pi): the nearest float, and what that leaves.
std::string turns_text(double inv_freq) {
  const double turns = inv_freq / (2 * std::numbers::pi);
  const auto near = static_cast<float>(turns);
  const auto rest = static_cast<float>(turns - static_cast<double>(near));
  return formatted("{{{}f, {}f}}", real_text(near), real_text(rest));
}

void add_metal_constants(Lines& out, const Recipe& recipe) {
  const std::set<std::string> wide = wide_constants(recipe);
  for (const Constant& one : recipe.constants) {
    if (const auto* whole = std::get_if<std::int64_t>(&one.value)) {
      // Read by inv_freq alone, whose numbers stand below.
      if (wide.contains(one.name) && one.name != "rotary_dim") continue;
      add_noted(out, "constant int " + upper(one.name) + formatted(" = {};", *whole), "  // ", "// ", one.note);
    } else if (const auto* number = std::get_if<double>(&one.value)) {
      if (wide.contains(one.name)) continue;
      add_noted(out, "constant float " + upper(one.name) + " = " + real_text(*number) + "f;", "  // ", "// ", one.note);
    } else if (one.name == "axis_of_pair") {
      std::vector<std::string> elements;
      for (const std::int64_t element : std::get<std::vector<std::int64_t>>(one.value)) {
        elements.push_back(formatted("{}", element));
      }
      out.comment("// ", one.note);
      out.add(list_text(elements, formatted("constant int AXIS_OF_PAIR[{}] = {{", elements.size()), "};", 0, 4));
    }
  }
  if (!recipe.rotation) return;
  std::vector<std::string> elements;
  for (const double inv_freq : recipe.rotation->values) elements.push_back(turns_text(inv_freq));
  out.comment("// ", "inv_freq / (2 pi) of each pair, the sum of two floats: turns per position. " +
                         sentence(recipe.rotation->inv_freq.comment));
  for (const Constant& one : recipe.constants) {
    if (!wide.contains(one.name) || one.name == "rotary_dim" ||
        std::holds_alternative<std::vector<double>>(one.value) ||
        std::holds_alternative<std::vector<std::int64_t>>(one.value)) {
      continue;
    }
    const auto* whole = std::get_if<std::int64_t>(&one.value);
    const std::string value = whole != nullptr ? formatted("{}", *whole) : formatted("{}", std::get<double>(one.value));
    out.comment("// ", "  " + one.name + " " + value + (one.note.empty() ? "" : ", " + one.note));
  }
  // Two a line, not torn apart.
  out.add(formatted("constant float2 TURNS[{}] = {{", elements.size()));
  for (std::size_t at = 0; at < elements.size(); at += 2) {
    out.add(elements[at] + "," + (at + 1 < elements.size() ? " " + elements[at + 1] + "," : ""), 4);
  }
  out.add("};");
  if (recipe.rotation->factor_value != 1.0) {
    out.add("constant float COS_SIN_FACTOR = " + real_text(recipe.rotation->factor_value) +
            "f;  // attention factor: multiplies cos and sin");
  }
}

// Parameters with their places in the table of buffers.
std::vector<std::string> buffers(const std::vector<std::string>& parameters) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    out.push_back(parameters[at] + formatted(" [[buffer({})]]", at));
  }
  out.emplace_back("uint thread_index [[thread_position_in_grid]]");
  return out;
}

constexpr const char* kMetalThread = "const int n = int(thread_index);";

void add_metal_rotation(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  const Rotation& rotation = *recipe.rotation;
  out.blank();
  out.comment("// ", std::string("Of every token and pair, [tokens, PAIRS] each. positions ") +
                         (rotation.axes.size() > 1 ? "[axes, tokens]" : "[tokens]") +
                         ", below 2^24. tokens * PAIRS threads.");
  out.add(signature("kernel void cos_sin", buffers({"constant int& tokens", "device const int* positions",
                                                    "device float* cosines", "device float* sines"})) +
          " {");
  out.add(kMetalThread, 2);
  out.add("if (n >= tokens * PAIRS) return;", 2);
  out.add("const int i = n / PAIRS, p = n % PAIRS;", 2);
  out.add("const float position = float(" + position_text(recipe, dialect, "AXIS_OF_PAIR[p]") + ");", 2);
  out.add("const float turns = position * TURNS[p].x;", 2);
  out.add("const float lost = fma(position, TURNS[p].x, -turns) + position * TURNS[p].y;", 2);
  out.add("const float angle = 2 * M_PI_F * ((turns - rint(turns)) + lost);", 2);
  const std::string factor = rotation.factor_value != 1.0 ? "COS_SIN_FACTOR * " : "";
  out.add("cosines[n] = " + factor + "precise::cos(angle);", 2);
  out.add("sines[n] = " + factor + "precise::sin(angle);", 2);
  out.add("}");
  for (const bool is_back : {false, true}) {
    if (is_back && !recipe.unrotates_output) break;
    out.blank();
    if (is_back) {
      out.comment("// ", "The inverse of rotate.");
    } else {
      add_rotate_comment(out, recipe);
      out.comment("// ", "tokens * heads * PAIRS threads.");
    }
    out.add(signature(is_back ? "kernel void rotate_back" : "kernel void rotate",
                      buffers({"constant int& tokens", "constant int& heads", "device float* x",
                               "device const float* cosines", "device const float* sines"})) +
            " {");
    out.add(kMetalThread, 2);
    out.add("if (n >= tokens * heads * PAIRS) return;", 2);
    out.add("const int i = n / PAIRS / heads, h = n / PAIRS % heads, p = n % PAIRS;", 2);
    add_pair_body(out, recipe, dialect, 2, is_back);
    out.add("}");
  }
}

}  // namespace

Written metal_code(const Recipe& recipe) {
  if (recipe.rotation && recipe.rotation->of_length) {
    throw Error("emit", {"as", "be a language with double for frequencies that depend on the length of the sequence",
                         "metal: give the plan a length (--length N), and the frequencies are numbers"});
  }
  const Dialect dialect = metal_dialect();
  Lines out;
  out.add(header(recipe, "// ", "Metal", order_of_calls(recipe)) +
          "#include <metal_stdlib>\nusing namespace metal;\n\n"
          "// Sums and products are to be rounded as they are written.\n"
          "#pragma METAL fp math_mode(safe)\n");
  add_metal_constants(out, recipe);
  if (uses(recipe, Op::logarithm_1p)) {
    out.add(
        "\n// ln(1 + x). Kahan: what rounding 1 + x loses is put back.\ninline float log1p(float x) {\n"
        "  const float y = 1.0f + x;\n"
        "  return y == 1.0f ? x : precise::log(y) * (x / (y - 1.0f));\n}");
  }
  if (uses(recipe, Op::round_bfloat16)) {
    out.add(
        "\n// To the nearest bfloat16, ties to even.\ninline float bfloat16(float x) {\n"
        "  const uint bits = as_type<uint>(x);\n"
        "  return as_type<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);\n}");
  }
  if (recipe.rotation) add_metal_rotation(out, recipe, dialect);
  add_score_functions(out, recipe, dialect);
  out.blank();
  add_attention_comment(out, recipe);
  out.comment("// ", "queries * HEADS threads.");
  std::vector<std::string> parameters{"constant int& queries", "constant int& keys"};
  for (const AttentionParameter& parameter : c_parameters(recipe)) {
    switch (parameter.kind) {
      case AttentionParameter::Kind::floats: parameters.push_back("device const float* " + parameter.name); break;
      case AttentionParameter::Kind::wholes: parameters.push_back("device const int* " + parameter.name); break;
      case AttentionParameter::Kind::truths: parameters.push_back("device const bool* " + parameter.name); break;
      case AttentionParameter::Kind::whole: parameters.push_back("constant int& " + parameter.name); break;
      case AttentionParameter::Kind::out: parameters.push_back("device float* " + parameter.name); break;
    }
  }
  out.add(signature("kernel void attention", buffers(parameters)) + " {");
  out.add(kMetalThread, 2);
  out.add("if (n >= queries * HEADS) return;", 2);
  out.add("const int i = n / HEADS, h = n % HEADS;", 2);
  add_query_body(out, recipe, dialect, 2);
  out.add("}");
  return {"attention.metal", out.take(), c_functions(recipe, true)};
}

}  // namespace posenc::code
