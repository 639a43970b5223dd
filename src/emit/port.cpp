// What holds emitted Python to the golden vectors in a folder beside it: the functions that their pytest file calls.
#include "base/formatted.h"
#include "emit/back_ends.h"
#include "emit/python_like.h"

namespace posenc::code {
namespace {

// An argument of layer or attention, of the vectors' inputs.
std::string given(const Recipe& recipe, const std::string& parameter) {
  if (parameter == "q" || parameter == "k" || parameter == "v") return "tensor(" + parameter + ")";
  if (parameter == "q_order" || parameter == "k_order") return "tensor(order)";
  if (parameter == "q_positions" || parameter == "k_positions") return "tensor(inputs[\"positions\"])";
  if (parameter == "prefix") return "int(inputs[\"prefix\"][0])";
  if (parameter == "length") return "LENGTH";
  for (const Table& table : recipe.tables) {
    if (table.name != parameter) continue;
    return "tensor(inputs[\"" + table.golden + "\"]" + (table.is_mask ? " != 0)" : ")");
  }
  return parameter;
}

}  // namespace

std::string port_text(const Recipe& recipe, std::string_view file_name, bool has_tensors) {
  if (recipe.norm_follows) return {};  // of which this code has no layer
  const std::string module(file_name.substr(0, file_name.rfind('.')));
  const bool of_length = recipe.rotation && recipe.rotation->of_length;
  Lines out;
  out.add(formatted("\"\"\"Holds ../{} to the golden vectors of this folder. Run: pytest\"\"\"\n", file_name));
  if (of_length) out.add("import json");
  out.add("import pathlib\nimport sys\n\nimport numpy as np");
  if (has_tensors) out.add("import torch");
  out.add("\nHERE = pathlib.Path(__file__).resolve().parent\nsys.path.insert(0, str(HERE.parent))");
  out.add("import " + module + "  # noqa: E402\n\nDTYPE = \"float32\"");
  if (of_length) out.add("LENGTH = json.loads((HERE / \"vectors.json\").read_text())[\"length\"]");
  out.add("\n\ndef tensor(x):");
  if (has_tensors) {  // learned tables lie in float64 among the vectors, q, k and v are float32
    out.add("x = np.ascontiguousarray(x)", 4);
    out.add("return torch.from_numpy(x.astype(np.float32) if x.dtype.kind == \"f\" else x)", 4);
  } else {
    out.add("return np.asarray(x)", 4);
  }
  if (recipe.rotation) {
    out.add("\n\ndef port_rotate(x, inputs):");
    out.add(formatted("table = {}.cos_sin(tensor(inputs[\"positions\"]){})", module, of_length ? ", LENGTH" : ""), 4);
    out.add(formatted("return {}.rotate(tensor(x), *table)", module), 4);
  }
  out.add("\n\ndef port_attend(q, k, v, inputs):");
  out.comment("# ", "The vectors may have fewer heads than the model, where all of them do the same.", 4);
  out.add(formatted("{0}.HEADS, {0}.KV_HEADS = q.shape[1], k.shape[1]", module), 4);
  if (recipe.visible) out.add("order = inputs.get(\"order\", np.atleast_2d(inputs[\"positions\"])[0])", 4);
  out.add(formatted("out = {}.{}(", module, recipe.rotation ? "layer" : "attention"), 4);
  for (const std::string& parameter : recipe.rotation ? layer_parameters(recipe) : attention_parameters(recipe)) {
    out.add(given(recipe, parameter) + ",", 8);
  }
  out.add(")", 4);
  out.add("return {\"out\": out}", 4);
  return out.take();
}

}  // namespace posenc::code
