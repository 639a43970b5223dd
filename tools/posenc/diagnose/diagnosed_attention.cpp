// The library diagnoses and words the result (src/diagnose/attention); here are the layer, the tensors and their axes.
#include "diagnose/diagnosed_attention.h"

#include <optional>
#include <string>
#include <utility>

#include "attend/attend_layer.h"
#include "attend/attend_tables.h"
#include "diagnose/diagnosis_output.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "posenc/diagnose_attention.h"
#include "posenc/error.h"
#include "tensors/head_tensors.h"

namespace posenc::tool {
namespace {

std::optional<HeadsTensor> heads_of(const DiagnoseArguments& arguments, const char* flag,
                                    const std::optional<std::string>& word, HeadsWanted wanted,
                                    const std::string& layer) {
  if (!word) return {};
  wanted.layout = arguments.layout;
  wanted.joined_heads = arguments.heads;
  wanted.first = std::string(flag) == "--q" || std::string(flag) == "--out";
  return read_heads({flag, *word, arguments.bf16}, wanted, layer);
}

}  // namespace

int run_diagnose_attention(const DiagnoseArguments& arguments) {
  const Plan plan = plan_of(*arguments.model, arguments.length);
  const AttendingLayer choice = choose_attending(plan, {arguments.stack, arguments.layer, arguments.cross, false});
  const LayerPlan& layer = *choice.layer;
  const LayerTables tables = read_tables(arguments.tables, layer, choice.name);
  const HeadsWanted wanted{"query head", layer.heads, layer.head_dim};
  // KV heads may be repeated: how many there are is for the library to judge.
  const auto q = heads_of(arguments, "--q", arguments.q, wanted, choice.name);
  const auto k = heads_of(arguments, "--k", arguments.k, {"KV head", 0, layer.head_dim}, choice.name);
  const auto v = heads_of(arguments, "--v", arguments.v, {"KV head", 0, layer.value_dim}, choice.name);
  const auto out =
      heads_of(arguments, "--out", arguments.out, {"query head", layer.heads, layer.value_dim}, choice.name);
  std::optional<TensorArgument> scores;
  AttentionDumpArgs args{.q = q->heads,
                         .k = k->heads,
                         .layer = &layer,
                         .plan = &plan,
                         .learned = tables.weights,
                         .rotated = !arguments.unrotated};
  if (v) args.v = v->heads;
  if (out) args.out = out->heads;
  if (arguments.scores) {
    const TensorWord word{"--scores", *arguments.scores, arguments.bf16};
    scores = read_tensor_argument(word);
    const std::size_t rank = scores->data.shape().size();
    if (!dtype_of(scores->data.type()) || (rank != 3 && rank != 4)) {
      refuse(word, *scores,
             "expected [heads, queries, keys] or [batch, heads, queries, keys] of f32, f16, bf16 or f64");
    }
    (are_weights(scores->data.view()) ? args.weights : args.scores) = scores->data.view();
  }
  AttentionDiagnosis diagnosis;
  try {
    diagnosis = diagnose_attention(args);
  } catch (const Error& error) {
    throw failure(kMalformed, formatted("{}: {}", choice.name, error.what()));
  }
  return write_diagnosis(arguments.json, to_json(diagnosis), describe(diagnosis), diagnosis.verdict);
}

}  // namespace posenc::tool
