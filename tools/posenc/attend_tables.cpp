#include "attend_tables.h"

#include <cstring>
#include <utility>
#include <variant>

#include "command_line.h"
#include "exit_code.h"
#include "failure.h"
#include "file_error_text.h"
#include "formatted.h"
#include "nearest.h"
#include "posenc/reference.h"
#include "text.h"

namespace posenc::tool {
namespace {

Failure about(const std::string& what) { return failure(kMalformed, "--weights: " + what); }

// Finds tensors by name. A name that nobody gave a file for is remembered: it is what the message asks for.
class Finder {
 public:
  Finder(const std::optional<std::string>& path, LayerTables& to) : path_(path.value_or("")), to_(to) {
    if (!path) return;
    Result<TensorFile> opened = open_tensor_file(path_);
    if (!opened) throw Failure{file_error_text(opened.error()), exit_code_of(opened.error())};
    file_.emplace(std::move(opened).value());
  }

  // Of a layer with several score terms, those of term n are called "n.table".
  void begin_term(std::size_t n, std::size_t terms) { prefix_ = terms > 1 ? formatted("{}.", n) : ""; }
  void end_terms() { prefix_.clear(); }

  ConstTensorView operator()(const std::string& name) {
    const TensorData* data = read(prefix_ + name, true);
    return data == nullptr ? ConstTensorView{} : view_of(prefix_ + name, *data);
  }
  ConstTensorView if_any(const std::string& name) {
    const TensorData* data = read(prefix_ + name, false);
    return data == nullptr ? ConstTensorView{} : view_of(prefix_ + name, *data);
  }
  Linear linear(const std::string& name) { return {(*this)(name + ".weight"), if_any(name + ".bias")}; }
  Linear linear_if_any(const std::string& name) { return {if_any(name + ".weight"), if_any(name + ".bias")}; }
  double number(const std::string& name) {
    const ConstTensorView x = (*this)(name);
    if (x.empty()) return 1.0;
    if (x.rank != 1 || x.shape[0] != 1) throw about(formatted("{}: expected one number", printable(name)));
    return reference::element(x, {0});
  }
  std::vector<std::int32_t> whole_numbers(const std::string& name) {
    const TensorData* data = read(prefix_ + name, false);
    if (data == nullptr) return {};
    if (data->type() != ElementType::i32 || data->shape().size() != 1) {
      throw about(formatted("{}: expected a list of i32", printable(name)));
    }
    std::vector<std::int32_t> out(static_cast<std::size_t>(data->shape()[0]));
    if (!out.empty()) std::memcpy(out.data(), data->bytes().data(), data->bytes().size());
    return out;
  }

  bool has_file() const { return file_.has_value(); }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  const TensorData* read(const std::string& name, bool is_needed) {
    if (!file_) {
      if (is_needed) missing_.push_back(name);
      return nullptr;
    }
    if (file_->find(name) == nullptr) {
      if (is_needed) refuse(name);
      return nullptr;
    }
    Result<TensorData> data = file_->read(name);
    if (!data) throw Failure{file_error_text(data.error()), exit_code_of(data.error())};
    to_.names.push_back(name);
    return &to_.data.emplace_back(std::move(data).value());
  }
  ConstTensorView view_of(const std::string& name, const TensorData& data) const {
    if (!dtype_of(data.type()) || data.shape().size() > static_cast<std::size_t>(kMaxRank)) {
      throw about(formatted("{}: {}: expected f32, f16, bf16 or f64 on at most {} axes, got {} on {}", printable(path_),
                            printable(name), kMaxRank, name_of(data.type()), data.shape().size()));
    }
    return data.view();
  }
  static std::string_view name_of(ElementType type) { return posenc::name(type); }
  [[noreturn]] void refuse(const std::string& name) const {
    std::vector<std::string> names;
    for (const TensorEntry& entry : file_->tensors()) names.push_back(entry.name);
    const std::vector<std::string> near = nearest(name, names);
    throw about(formatted("{}: no tensor is called '{}'{}", printable(path_), name,
                          near.empty() ? "" : formatted("; did you mean {}?", printable(join(near, " or ")))));
  }

  std::string path_;
  LayerTables& to_;
  std::optional<TensorFile> file_;
  std::string prefix_;
  std::vector<std::string> missing_;
};

// ---- what each scheme has ----

ScoreWeights tables_of(const Alibi&, Finder&, LayerTables&) { return {}; }
ScoreWeights tables_of(const Sandwich&, Finder&, LayerTables&) { return {}; }
ScoreWeights tables_of(const T5Bias& scheme, Finder& find, LayerTables& to) {
  if (scheme.gated) to.row_gate = find("row_gate");
  return T5Weights{find("table")};
}
ScoreWeights tables_of(const ClippedBias&, Finder& find, LayerTables&) { return ClippedBiasWeights{find("table")}; }
ScoreWeights tables_of(const GridBias&, Finder& find, LayerTables&) { return GridBiasWeights{find("table")}; }
ScoreWeights tables_of(const Kerple&, Finder& find, LayerTables&) { return KerpleWeights{find("r1"), find("r2")}; }
ScoreWeights tables_of(const Fire&, Finder& find, LayerTables&) {
  return FireWeights{find.number("c"), find.number("threshold"), find.linear("hidden"), find.linear("out")};
}
ScoreWeights tables_of(const MlpBias&, Finder& find, LayerTables&) {
  MlpBiasWeights out{{find.linear("layers.0")}};
  for (Linear next = find.linear_if_any("layers.1"); !next.weight.empty();
       next = find.linear_if_any(formatted("layers.{}", out.layers.size()))) {
    out.layers.push_back(next);
  }
  return out;
}
ScoreWeights tables_of(const ShawKeys& scheme, Finder& find, LayerTables&) {
  if (scheme.sinusoidal) return ShawWeights{};
  return ShawWeights{find("table")};
}
ScoreWeights tables_of(const TransformerXl& scheme, Finder& find, LayerTables&) {
  TransformerXlWeights out{.projection = find("projection")};
  if (scheme.content_bias) out.content_bias = find("content_bias");
  if (scheme.position_bias) out.position_bias = find("position_bias");
  return out;
}
ScoreWeights tables_of(const XlNet&, Finder& find, LayerTables& to) {
  to.q_segments = find.whole_numbers("q_segments");
  to.k_segments = find.whole_numbers("k_segments");
  return XlNetWeights{.positions = {find("projection"), find("content_bias"), find("position_bias")},
                      .segment_bias = find.if_any("segment_bias"),
                      .segments = find.if_any("segments")};
}
ScoreWeights tables_of(const Deberta& scheme, Finder& find, LayerTables&) {
  DebertaWeights out{.table = find("table")};
  if (scheme.content_to_position || scheme.position_to_position) out.keys = find.linear("keys");
  if (scheme.position_to_content || scheme.position_to_position) out.queries = find.linear("queries");
  return out;
}
ScoreWeights tables_of(const DecomposedHw&, Finder& find, LayerTables&) {
  return DecomposedHwWeights{find("rows"), find("columns")};
}
ScoreWeights tables_of(const ContextualPosition&, Finder& find, LayerTables&) { return CopeWeights{find("table")}; }
ScoreWeights tables_of(const ForgetGate&, Finder& find, LayerTables& to) {
  to.log_forget = find("log_forget");
  return {};
}

}  // namespace

LayerTables read_tables(const std::optional<std::string>& file, const LayerPlan& layer, const std::string& layer_name) {
  LayerTables out;
  Finder find(file, out);
  for (std::size_t n = 0; n < layer.score.size(); ++n) {
    find.begin_term(n, layer.score.size());
    out.weights.score.push_back(
        std::visit([&](const auto& scheme) { return tables_of(scheme, find, out); }, layer.score[n]));
  }
  find.end_terms();
  if (std::holds_alternative<ShawValues>(layer.value)) out.weights.value = {find("value_table")};
  if (layer.sinks) out.weights.sinks = find("sinks");
  if (!find.missing().empty()) {
    throw about(formatted("{} has learned tables: a file is needed with {}", layer_name, join(find.missing(), ", ")));
  }
  if (find.has_file() && out.names.empty()) {
    throw UsageError{formatted("--weights: {} has no learned tables", layer_name)};
  }
  return out;
}

}  // namespace posenc::tool
