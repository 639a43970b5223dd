// CUDA C++: three kernels, a thread for each pair, or for each query and head. Tables are made in double on the device.
#include <string>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/c_like.h"

namespace posenc::code {
namespace {

std::string cuda_function_name(Op op, bool is_wide) { return std::string(math_name(op)) + (is_wide ? "" : "f"); }

Dialect cuda_dialect() {
  return {.function = "__device__ ",
          .constant = upper,
          .mathematics = cuda_function_name,
          .tanh = "tanhf",
          .pi = "PI",
          .whole_functions = {},
          .whole_limit = {},
          .cast = "$(@)",
          .size = "size_t",
          .infinity = "INFINITY",
          .floats = "const float* @",
          .truths = "const bool* @",
          .row = "const float* @",
          .row_out = "float* @"};
}

// Numbers are constants of the compiler; lists are in constant memory.
void add_cuda_constants(Lines& out, const Recipe& recipe) {
  const std::set<std::string> wide = wide_constants(recipe);
  for (const Constant& one : recipe.constants) {
    const std::string name = upper(one.name);
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
    out.add(list_text(elements, formatted("__constant__ {} {}[{}] = {{", type, name, elements.size()), "};", 0, 4));
  }
  if (uses(recipe, Op::pi)) out.add("constexpr double PI = 3.141592653589793;");
}

constexpr const char* kCudaThread = "const int n = blockIdx.x * blockDim.x + threadIdx.x;";

void add_cuda_rotation(Lines& out, const Recipe& recipe, const Dialect& dialect) {
  const Rotation& rotation = *recipe.rotation;
  Function inv_freq = rotation.inv_freq;
  inv_freq.comment = "Radians per position. " + inv_freq.comment;
  add_wide_helpers(out, recipe, dialect);
  add_c_function(out, inv_freq, dialect);
  out.blank();
  out.comment("// ", std::string("Of every token and pair, [tokens, PAIRS] each. positions ") +
                         (rotation.axes.size() > 1 ? "[axes, tokens]" : "[tokens]") +
                         (rotation.of_length ? "; length: of the sequence, in tokens, the largest position + 1" : "") +
                         ". tokens * PAIRS threads.");
  std::vector<std::string> parameters{"int tokens", "const int* positions"};
  if (rotation.of_length) parameters.emplace_back("int length");
  parameters.insert(parameters.end(), {"float* cosines", "float* sines"});
  out.add(signature("__global__ void cos_sin", parameters) + " {");
  out.add(kCudaThread, 2);
  out.add("if (n >= tokens * PAIRS) return;", 2);
  out.add("const int i = n / PAIRS, p = n % PAIRS;", 2);
  const Factor factor = factor_of(recipe, dialect);
  if (!factor.let.empty()) out.add(factor.let, 2);
  out.add("const double angle = " + position_text(recipe, dialect, "AXIS_OF_PAIR[p]") + " * inv_freq(p" +
              (rotation.of_length ? ", length" : "") + ");",
          2);
  out.add("cosines[n] = " + factor.times(dialect, "cos(angle)") + ";", 2);
  out.add("sines[n] = " + factor.times(dialect, "sin(angle)") + ";", 2);
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
    out.add(signature(is_back ? "__global__ void rotate_back" : "__global__ void rotate",
                      {"int tokens", "int heads", "float* x", "const float* cosines", "const float* sines"}) +
            " {");
    out.add(kCudaThread, 2);
    out.add("if (n >= tokens * heads * PAIRS) return;", 2);
    out.add("const int i = n / PAIRS / heads, h = n / PAIRS % heads, p = n % PAIRS;", 2);
    add_pair_body(out, recipe, dialect, 2, is_back);
    out.add("}");
  }
}

}  // namespace

Written cuda_code(const Recipe& recipe) {
  const Dialect dialect = cuda_dialect();
  Lines out;
  out.add(header(recipe, "// ", "CUDA C++", order_of_calls(recipe)) + "#include <math.h>\n");
  add_cuda_constants(out, recipe);
  if (uses(recipe, Op::round_bfloat16)) {
    out.add(
        "\n// To the nearest bfloat16, ties to even.\n__device__ float bfloat16(float x) {\n"
        "  const unsigned bits = __float_as_uint(x);\n"
        "  return __uint_as_float((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);\n}");
  }
  if (recipe.rotation) add_cuda_rotation(out, recipe, dialect);
  add_score_functions(out, recipe, dialect);
  out.blank();
  add_attention_comment(out, recipe);
  out.comment("// ", "queries * HEADS threads.");
  std::vector<std::string> parameters{"int queries", "int keys"};
  for (const AttentionParameter& parameter : c_parameters(recipe)) {
    switch (parameter.kind) {
      case AttentionParameter::Kind::floats: parameters.push_back("const float* " + parameter.name); break;
      case AttentionParameter::Kind::wholes: parameters.push_back("const int* " + parameter.name); break;
      case AttentionParameter::Kind::truths: parameters.push_back("const bool* " + parameter.name); break;
      case AttentionParameter::Kind::whole: parameters.push_back("int " + parameter.name); break;
      case AttentionParameter::Kind::out: parameters.push_back("float* " + parameter.name); break;
    }
  }
  out.add(signature("__global__ void attention", parameters) + " {");
  out.add(kCudaThread, 2);
  out.add("if (n >= queries * HEADS) return;", 2);
  out.add("const int i = n / HEADS, h = n % HEADS;", 2);
  add_query_body(out, recipe, dialect, 2);
  out.add("}");
  return {"attention.cu", out.take(), c_functions(recipe, true)};
}

}  // namespace posenc::code
