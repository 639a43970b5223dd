// The library judges the rows (posenc/diagnose_weights.h); here are the checkpoint's names for them, and the model.
#include "diagnose/diagnosed_weights.h"

#include <array>
#include <deque>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "diagnose/diagnosis_output.h"
#include "inspect/conversion_marks.h"
#include "inspect/layer_choice.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "posenc/diagnose_weights.h"
#include "posenc/error.h"
#include "posenc/tensor_file.h"
#include "tensors/projection_names.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

// Layers that are read at most: more say no more, and a large checkpoint takes its time.
constexpr std::size_t kMostLayers = 8;

// The model of a checkpoint: what --model says, a GGUF file itself, or what stands beside it.
ModelWord model_word(const DiagnoseArguments& arguments) {
  if (arguments.model) return *arguments.model;
  const std::filesystem::path path(*arguments.weights);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || path.extension() == ".gguf") return {.name = path.string()};
  const std::filesystem::path folder = path.parent_path().empty() ? std::filesystem::path(".") : path.parent_path();
  if (std::filesystem::exists(folder / "config.json", ignored)) return {.name = folder.string()};
  throw UsageError{"--weights needs --model where no config.json stands beside the checkpoint: the width of a head"};
}

// What posenc convert has left in the checkpoint, or of GGUF in its header.
std::vector<Warning> marks_of(const TensorFile& file, const Plan& plan) {
  std::vector<Warning> out = conversion_marks(file);
  if (file.format() != TensorFormat::gguf) return out;
  for (const Warning& warning : plan.warnings) {
    if (warning.code == kConvertedRows) out.push_back(warning);
  }
  return out;
}

// The diagnosis with the member "marks": sentences.
std::string with_marks(std::string json, const std::vector<Warning>& marks) {
  std::vector<std::string> sentences;
  sentences.reserve(marks.size());
  for (const Warning& mark : marks) sentences.push_back(json_string(mark.message));
  json.insert(json.rfind('}'), ", \"marks\": " + json_array(sentences));
  return json;
}

}  // namespace

int run_diagnose_weights(const DiagnoseArguments& arguments) {
  const Plan plan = plan_of(model_word(arguments), {});
  const LayerChoice choice =
      choose_layer(plan, {arguments.stack, arguments.layer, arguments.rotation}, WhenLayersDiffer::take_the_first);
  const Rope& of = rope(*choice.rotate);
  std::string held;
  std::filesystem::path path(*arguments.weights);
  const TensorFile file = open_tensor_word({"--weights", path.string(), false}, path.string(), held);
  const std::vector<ProjectionNames> names = projections(file);
  if (names.empty()) {
    throw failure(kMalformed,
                  formatted("--weights: {}: expected projections of queries and keys (..q_proj.weight, attn_q.weight, "
                            "wq), each a tensor of its own, got none",
                            path.string()));
  }
  std::deque<TensorData> data;
  std::vector<QueryKeyRows> rows;
  for (const ProjectionNames& one : names) {
    if (rows.size() >= kMostLayers) break;
    std::array<ConstTensorView, 2> views{};
    for (const auto& [name, view] : {std::pair{&one.q, &views[0]}, {&one.k, &views[1]}}) {
      Result<TensorData> read = file.read(*name);
      if (!read) throw failure(kMalformed, formatted("--weights: {}", read.error().message()));
      if (!dtype_of(read.value().type())) {
        throw failure(kMalformed, formatted("--weights: {}: {}: expected f32, f16, bf16 or f64, got {}", path.string(),
                                            *name, posenc::name(read.value().type())));
      }
      data.push_back(std::move(read).value());
      *view = data.back().view();
    }
    rows.push_back(
        {.q = views[0], .k = views[1], .head_dim = of.head_dim, .first_channel = of.first_channel, .dim = of.dim});
  }
  PairingDiagnosis diagnosis;
  try {
    diagnosis = diagnose_pairing(rows);
  } catch (const Error& error) {
    throw failure(kMalformed, formatted("--weights: {}: {}", path.string(), error.what()));
  }
  // Whether the plan's pairing is the file's is what is asked: GGUF's plan knows how llama.cpp's converter permutes.
  const PortVerdict verdict = !diagnosis.pairing                 ? PortVerdict::cannot_tell
                              : *diagnosis.pairing == of.pairing ? PortVerdict::as_the_plan
                                                                 : PortVerdict::differs;
  std::string text = describe(diagnosis);
  text += formatted("  {}: the model's plan says {}\n", posenc::name(verdict), posenc::name(of.pairing));
  const std::vector<Warning> marks = marks_of(file, plan);
  for (const Warning& mark : marks) text += formatted("  mark: {}\n", printable(mark.message));
  return write_diagnosis(arguments.json, with_marks(to_json(diagnosis), marks), text, verdict);
}

}  // namespace posenc::tool
