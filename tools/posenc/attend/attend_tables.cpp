// named_weights (posenc/named_weights.h) asks for each table that the layer has, by name; Finder answers from the file.
// Then inputs of a call that schemes need with their tables (InputsOf) are asked for in the same way.
#include "attend/attend_tables.h"

#include <cstring>
#include <functional>
#include <utility>
#include <variant>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"
#include "tensors/file_error_text.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

// "posenc: --weights: WHAT"
Failure about(const std::string& what, int exit_code = kMalformed) { return failure(exit_code, "--weights: " + what); }

// Finds tensors by name. A name that nobody gave a file for is remembered: it is what the message asks for.
class Finder {
 public:
  Finder(const std::optional<std::string>& path, LayerTables& to) : path_(path.value_or("")), to_(to) {
    if (path) file_.emplace(open_tensor_word({.flag = "--weights", .text = path_}, path_, held_));
  }

  // Of a layer with several score terms, the inputs of term n are called "n.row_gate".
  void begin_term(std::size_t n, std::size_t terms) { prefix_ = terms > 1 ? formatted("{}.", n) : ""; }

  // As FindWeight of posenc/named_weights.h: no tensor where there is none and it may be omitted.
  ConstTensorView operator()(const std::string& name, bool is_needed) {
    const TensorData* data = read(prefix_ + name, is_needed);
    return data == nullptr ? ConstTensorView{} : view_of(prefix_ + name, *data);
  }
  // Segments, [rows] of i32; may be omitted.
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
  // Null: not there. A table that is needed and not in the file throws; without a file its name is remembered, so that
  // one message can list all of them.
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
    if (!data) throw about(data.error().message(), exit_code_of(data.error()));
    to_.names.push_back(name);
    return &to_.data.emplace_back(std::move(data).value());
  }
  // Tables may be f64 too: the library converts them.
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
    throw about(formatted("{}: no tensor named '{}'{}", printable(path_), name,
                          near.empty() ? "" : formatted("; did you mean {}?", printable(join(near, " or ")))));
  }

  std::string path_;
  std::string held_;  // standard input
  LayerTables& to_;
  std::optional<TensorFile> file_;
  std::string prefix_;
  std::vector<std::string> missing_;
};

// ---- what comes with each token ----

// A scheme's inputs of a call, by the names that its tables have too.
struct InputsOf {
  Finder& find;
  LayerTables& to;

  void operator()(const T5Bias& scheme) const {
    if (scheme.gated) to.row_gate = find("row_gate", true);
  }
  void operator()(const XlNet&) const {
    to.q_segments = find.whole_numbers("q_segments");
    to.k_segments = find.whole_numbers("k_segments");
  }
  void operator()(const ForgetGate&) const { to.log_forget = find("log_forget", true); }
  template <typename Scheme>
  void operator()(const Scheme&) const {}
};

LayerWeights weights_of(const LayerPlan& layer, Finder& find) {
  try {
    return named_weights(layer, std::ref(find));
  } catch (const Error& error) {  // a tensor that is to be one number
    throw about(error.what());
  }
}

}  // namespace

LayerTables read_tables(const std::optional<std::string>& file, const LayerPlan& layer, const std::string& layer_name) {
  LayerTables out;
  Finder find(file, out);
  out.weights = weights_of(layer, find);
  for (std::size_t n = 0; n < layer.score.size(); ++n) {
    find.begin_term(n, layer.score.size());
    std::visit(InputsOf{find, out}, layer.score[n]);
  }
  if (!find.missing().empty()) {
    throw about(formatted("{} has learned tables; expected a file with {}", layer_name, join(find.missing(), ", ")));
  }
  // A file from which nothing was read is a mistake, of the file or of the layer.
  if (find.has_file() && out.names.empty()) {
    throw UsageError{formatted("--weights: {} has no learned tables", layer_name)};
  }
  return out;
}

}  // namespace posenc::tool
