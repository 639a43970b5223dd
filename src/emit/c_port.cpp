// What holds emitted C and C++ to the golden vectors in a folder beside it: the functions that their test calls.
#include <algorithm>

#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/c_like.h"

namespace posenc::code {
namespace {

// "vectors_0_table" of the table "0.table".
std::string array_of(std::string name) {
  std::ranges::replace(name, '.', '_');
  return "vectors_" + name;
}

const Table* table_of(const Recipe& recipe, std::string_view name) {
  const auto found = std::ranges::find(recipe.tables, name, &Table::name);
  return found == recipe.tables.end() ? nullptr : &*found;
}

// An argument of attention, by the name of its parameter.
std::string argument_of(const Recipe& recipe, const std::string& parameter) {
  if (parameter == "q" || parameter == "k" || parameter == "v" || parameter == "out") return "port_" + parameter;
  if (parameter == "q_order" || parameter == "k_order") return "port_order";
  if (parameter == "q_positions" || parameter == "k_positions") return "port_positions";
  if (parameter == "prefix") return "(int)vectors_prefix[0]";
  return table_of(recipe, parameter) != nullptr ? "port_" + parameter : parameter;
}

void add_constants(Lines& out, const Recipe& recipe, bool is_cpp) {
  const auto size = [&](std::string_view name) { return is_cpp ? "k" + upper_camel(name) : upper(name); };
  out.add("enum {");
  out.add("N = VECTORS_TOKENS,", 2);
  for (const char* name : {"heads", "kv_heads", "head_dim", "value_dim"}) {
    out.add(formatted("PORT_{} = {}{},", upper(name), is_cpp ? "attention_layer::" : "", size(name)), 2);
  }
  if (recipe.rotation) out.add(formatted("PORT_PAIRS = {}{}", is_cpp ? "attention_layer::" : "", size("pairs")), 2);
  out.add("};\n");
}

// Static, since sizes are known and the stack may be small.
void add_arrays(Lines& out, const Recipe& recipe) {
  out.add("static float port_q[N * PORT_HEADS * PORT_HEAD_DIM], port_k[N * PORT_KV_HEADS * PORT_HEAD_DIM];");
  out.add("static float port_v[N * PORT_KV_HEADS * PORT_VALUE_DIM], port_out[N * PORT_HEADS * PORT_VALUE_DIM];");
  out.add("static int port_positions[VECTORS_AXES * N];");
  if (recipe.visible) out.add("static int port_order[N];");
  if (recipe.rotation) out.add("static float port_cosines[N * PORT_PAIRS], port_sines[N * PORT_PAIRS];");
  for (const Table& table : recipe.tables) {
    const std::string from = array_of(table.golden);
    if (table.is_mask) {
      out.add(formatted("static bool port_{}[sizeof {} / sizeof *{}];", table.name, from, from));
      continue;
    }
    out.add(
        formatted("static float port_{0}[sizeof {1} / sizeof *{1} / VECTORS_HEADS * PORT_HEADS];", table.name, from));
  }
}

constexpr std::string_view kSpread = R"(
/* [rows, theirs, channels] with as many heads as the code has. */
static void with_all_heads(const float *from, int rows, int theirs, int channels, float *to, int ours) {
  for (int row = 0; row < rows; ++row) {
    for (int h = 0; h < ours; ++h) {
      memcpy(&to[((size_t)row * ours + h) * channels], &from[((size_t)row * theirs + h % theirs) * channels],
             sizeof *to * channels);
    }
  }
}
)";

void add_rotation(Lines& out, const Recipe& recipe, bool is_cpp) {
  const std::string length = recipe.rotation->of_length ? "length, " : "";
  out.add("\nstatic void port_table(const int64_t *positions) {");
  if (recipe.rotation->of_length) out.add("int length = 0;", 2);
  out.add("for (int at = 0; at < VECTORS_AXES * N; ++at) {", 2);
  out.add("port_positions[at] = (int)positions[at];", 4);
  if (recipe.rotation->of_length) out.add("if (port_positions[at] >= length) length = port_positions[at] + 1;", 4);
  out.add("}", 2);
  out.add(is_cpp ? formatted("attention_layer::cos_sin(port_positions, {}port_cosines, port_sines);", length)
                 : formatted("cos_sin(N, port_positions, {}port_cosines, port_sines);", length),
          2);
  out.add("}\n");
  out.add(
      "int port_rotate(const float *x, int64_t tokens, int64_t heads, int64_t head_dim, const int64_t *positions,\n"
      "                float *out) {");
  out.add("const size_t count = (size_t)(tokens * heads * head_dim);", 2);
  out.add("port_table(positions);", 2);
  out.add("memcpy(out, x, count * sizeof *out);", 2);
  out.add(is_cpp ? "attention_layer::rotate((int)heads, {out, count}, port_cosines, port_sines);"
                 : "rotate((int)tokens, (int)heads, out, port_cosines, port_sines);",
          2);
  out.add("return PORT_DONE;", 2);
  out.add("}");
}

// q, k or v, rotated where the layer does, with all heads.
void add_tensor(Lines& out, const std::string& name, bool is_rotated) {
  const std::string heads = name == "q" ? "HEADS" : "KV_HEADS";
  const std::string channels = name == "v" ? "VALUE_DIM" : "HEAD_DIM";
  std::string from = name;
  if (is_rotated) {
    from = "rotated_" + name;
    out.add(formatted("static float {}[N * VECTORS_{} * PORT_{}];", from, heads, channels), 2);
    out.add(formatted("port_rotate({}, N, VECTORS_{}, PORT_{}, positions, {});", name, heads, channels, from), 2);
  }
  const std::string spread =
      formatted("{}, N, VECTORS_{}, PORT_{}, port_{}, PORT_{}", from, heads, channels, name, heads);
  out.add("with_all_heads(" + spread + ");", 2);
}

void add_tables(Lines& out, const Recipe& recipe) {
  for (const Table& table : recipe.tables) {
    const std::string from = array_of(table.golden);
    if (table.is_mask) {
      out.add(formatted("for (size_t at = 0; at < sizeof {0} / sizeof *{0}; ++at) port_{1}[at] = {0}[at] != 0;", from,
                        table.name),
              2);
      continue;
    }
    out.add(formatted("for (int at = 0; at < (int)(sizeof port_{0} / sizeof *port_{0}); ++at) {{", table.name), 2);
    out.add("const int row = at / PORT_HEADS, h = at % PORT_HEADS % VECTORS_HEADS;", 4);
    out.add(formatted("port_{}[at] = (float){}[row * VECTORS_HEADS + h];", table.name, from), 4);
    out.add("}", 2);
  }
}

void add_attention(Lines& out, const Recipe& recipe, bool is_cpp) {
  out.add(
      "\nint port_attend(const float *q, const float *k, const float *v, const int64_t *positions, float *scores,\n"
      "                float *out) {");
  if (!recipe.rotation) {
    out.add("for (int at = 0; at < VECTORS_AXES * N; ++at) port_positions[at] = (int)positions[at];", 2);
  }
  for (const char* name : {"q", "k", "v"}) {
    add_tensor(out, name, recipe.rotation && (*name != 'v' || recipe.rotates_values));
  }
  add_tables(out, recipe);
  if (recipe.visible) {
    out.add(
        "#if VECTORS_AXES > 1\n  for (int i = 0; i < N; ++i) port_order[i] = (int)vectors_order[i];\n"
        "#else\n  for (int i = 0; i < N; ++i) port_order[i] = (int)positions[i];\n#endif");
  }
  std::vector<std::string> arguments;
  if (!is_cpp) arguments = {"N", "N"};
  for (const AttentionParameter& parameter : c_parameters(recipe)) arguments.push_back(argument_of(recipe, parameter.name));
  out.add(signature(is_cpp ? "  attention_layer::attention" : "  attention", arguments) + ";");
  if (recipe.unrotates_output) {
    out.add(is_cpp ? "attention_layer::rotate_back(PORT_HEADS, port_out, port_cosines, port_sines);"
                   : "rotate_back(N, PORT_HEADS, port_out, port_cosines, port_sines);",
            2);
  }
  out.add("(void)scores;  /* not made by this code */", 2);
  out.add("with_all_heads(port_out, N, PORT_HEADS, PORT_VALUE_DIM, out, VECTORS_HEADS);  /* the first of them */", 2);
  out.add("return PORT_DONE;", 2);
  out.add("}");
}

}  // namespace

std::string c_port_text(const Recipe& recipe, std::string_view file_name) {
  if (recipe.norm_follows) return {};  // the norm between rotation and attention is not in this code
  const bool is_cpp = file_name.ends_with(".hpp");
  Lines out;
  const char* const made =
      is_cpp ? "c++ -std=c++20 test_port.c port.cc vectors.c" : "cc -std=c99 test_port.c port.c vectors.c -lm";
  out.add(formatted("/* Holds ../{} to the golden vectors of this folder:\n *", file_name));
  out.add(formatted(" *   {} && ./a.out\n *", made));
  out.comment(" * ",
              "The vectors may have fewer heads than the code, where all of them do the same: head h of the code is "
              "given the numbers of their head h % VECTORS_HEADS.");
  out.add(" */");
  out.add(formatted("#include \"../{}\"\n", file_name));
  out.add(is_cpp ? "#include <cstdint>\n#include <cstring>\n" : "#include <stdint.h>\n#include <string.h>\n");
  if (is_cpp) out.add("using std::int64_t, std::memcpy, std::size_t;\n");
  out.add("#include \"port.h\"\n");
  add_constants(out, recipe, is_cpp);
  add_arrays(out, recipe);
  out.add(kSpread.substr(0, kSpread.size() - 1));
  if (recipe.rotation) add_rotation(out, recipe, is_cpp);
  add_attention(out, recipe, is_cpp);
  return out.take();
}

}  // namespace posenc::code
