#include "extend/weight_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"
#include "plot/normal_numbers.h"
#include "posenc/reference.h"
#include "posenc/tensor_file.h"
#include "tensors/file_error_text.h"
#include "tensors/projection_names.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

constexpr double kEpsilon = 1e-6;  // of a norm; models have 1e-5 or 1e-6

// Types whose norms multiply by 1 plus the weight, in transformers 5.23; GGUF's converter adds the 1.
constexpr std::array kOnePlusWeight{
    "gemma",        "gemma2",      "gemma3",           "gemma3_text",     "t5gemma",
    "t5gemma2",     "vaultgemma",  "qwen3_next",       "recurrent_gemma", "qwen3_5",
    "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp",       "qwen4_exp_text"};

// Types whose q_proj makes an output gate as well: of each head its rows of the query, then as many of the gate. By
// their names in transformers 5.23, and in GGUF, whose converter leaves the rows as they are.
constexpr std::array kGated{"qwen3_next", "qwen3_5",        "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text",
                            "qwen4_exp",  "qwen4_exp_text", "qwen3next",    "qwen35",      "qwen35moe"};

using Numbers = std::vector<double>;

std::string path_of(const std::string& checkpoint) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(checkpoint, ignored)) return checkpoint;
  for (const char* const name : {"model.safetensors.index.json", "model.safetensors"}) {
    const std::filesystem::path path = std::filesystem::path(checkpoint) / name;
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  throw failure(kFile, formatted("--weights: {}: expected a folder with model.safetensors.index.json or "
                                 "model.safetensors, got neither",
                                 printable(checkpoint)));
}

class Weights {
 public:
  Weights(const std::string& checkpoint, std::string_view model_type, const LayerPlan& layer)
      : path_(path_of(checkpoint)), layer_(layer), file_(open_tensor_word({"--weights", path_, false}, path_, held_)) {
    gain_offset_ =
        file_.format() != TensorFormat::gguf && std::ranges::find(kOnePlusWeight, model_type) != kOnePlusWeight.end();
    is_gated_ = std::ranges::find(kGated, model_type) != kGated.end();
  }

  WeightRows rows() const {
    const ProjectionNames names = named();
    Numbers gains;
    if (file_.find(names.norm) != nullptr) gains = read_gains(names.norm, inputs_of(names.q));
    WeightRows out;
    const bool norms_queries = layer_.qk_norm && layer_.qk_norm->of == QkNorm::Of::queries_and_keys;
    const Rows q{.heads = layer_.heads, .stride = query_stride()};
    const Rows k{.heads = layer_.kv_heads, .stride = layer_.head_dim};
    out.q = projected(names.q, names.q_norm, gains, q, kWeightQueries, 1, norms_queries);
    out.k = projected(names.k, names.k_norm, gains, k, kWeightKeys, 2, layer_.qk_norm.has_value());
    out.q_view = tensor(out.q.data(), {kWeightQueries, layer_.heads, layer_.head_dim});
    out.k_view = tensor(out.k.data(), {kWeightKeys, layer_.kv_heads, layer_.head_dim});
    return out;
  }

 private:
  // Of a projection: the heads, and how many rows of the tensor each has, of which the first head_dim count.
  struct Rows {
    std::int64_t heads;
    std::int64_t stride;
    std::int64_t count() const { return heads * stride; }
  };
  std::int64_t query_stride() const { return is_gated_ ? 2 * layer_.head_dim : layer_.head_dim; }

  Failure about(const std::string& what) const {
    return failure(kMalformed, formatted("--weights: {}: {}", printable(path_), what));
  }

  bool has_rows(const std::string& name, std::int64_t rows) const {
    const TensorEntry& entry = *file_.find(name);
    return entry.shape.size() == 2 && entry.shape[0] == rows && entry.shape[1] > 0;
  }

  // Of the layer's number, the projections with the plan's shapes: towers have layers of that number too.
  ProjectionNames named() const {
    const std::string number = formatted(".{}.", layer_.index);
    for (ProjectionNames& names : projections(file_)) {
      if (("." + names.q).find(number) == std::string::npos) continue;
      if (has_rows(names.q, layer_.heads * query_stride()) && has_rows(names.k, layer_.kv_heads * layer_.head_dim)) {
        return std::move(names);
      }
    }
    throw about(
        formatted("expected projections of the queries and keys of layer {}, {} and {} rows, each a tensor of its own "
                  "(..q_proj.weight, attn_q.weight, wq), got none",
                  layer_.index, layer_.heads * query_stride(), layer_.kv_heads * layer_.head_dim));
  }

  std::int64_t inputs_of(const std::string& name) const { return file_.find(name)->shape[1]; }

  TensorData read(const std::string& name) const {
    Result<TensorData> data = file_.read(name);
    if (!data) throw failure(exit_code_of(data.error()), formatted("--weights: {}", data.error().message()));
    if (!dtype_of(data.value().type())) {
      throw about(
          formatted("{}: expected f32, f16, bf16 or f64, got {}", printable(name), posenc::name(data.value().type())));
    }
    return std::move(data).value();
  }

  double finite(const ConstTensorView& view, std::initializer_list<std::int64_t> at, const std::string& name) const {
    const double x = reference::element(view, at);
    if (!std::isfinite(x)) throw about(formatted("{}: expected finite numbers, got {}", printable(name), x));
    return x;
  }

  Numbers vector(const std::string& name, std::int64_t count) const {
    const TensorData data = read(name);
    const ConstTensorView view = data.view();
    if (view.rank != 1 || view.shape[0] != count) {
      throw about(formatted("{}: expected {} numbers, got {}", printable(name), count,
                            shape_text({data.shape().begin(), data.shape().end()})));
    }
    Numbers out;
    for (std::int64_t n = 0; n < count; ++n) out.push_back(finite(view, {n}, name));
    return out;
  }

  Numbers read_gains(const std::string& name, std::int64_t count) const {
    Numbers out = vector(name, count);
    if (gain_offset_) {
      for (double& gain : out) gain += 1.0;
    }
    return out;
  }

  // [tokens, heads, head_dim]
  Numbers projected(const std::string& name, const std::string& norm, const Numbers& gains, const Rows& of,
                    std::int64_t tokens, std::uint64_t seed, bool is_normalised) const {
    const TensorData data = read(name);
    const ConstTensorView weight = data.view();
    const std::int64_t inputs = weight.shape[1];
    const std::int64_t rows = of.heads * layer_.head_dim;
    if (!gains.empty() && std::ssize(gains) != inputs) {
      throw about(formatted("{}: expected {} inputs, got {}", printable(name), gains.size(), inputs));
    }
    Numbers hidden = normal_numbers(seed, tokens * inputs);
    for (std::size_t n = 0; n < hidden.size() && !gains.empty(); ++n) hidden[n] *= gains[n % gains.size()];
    Numbers bias(static_cast<std::size_t>(of.count()));
    if (const std::string with = bias_of(name); file_.find(with) != nullptr) bias = vector(with, of.count());
    Numbers out(static_cast<std::size_t>(tokens * rows));
    Numbers row(static_cast<std::size_t>(inputs));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r / layer_.head_dim * of.stride + r % layer_.head_dim;
      for (std::int64_t c = 0; c < inputs; ++c) row[static_cast<std::size_t>(c)] = finite(weight, {at, c}, name);
      for (std::int64_t t = 0; t < tokens; ++t) {
        double sum = bias[static_cast<std::size_t>(at)];
        const double* const token = &hidden[static_cast<std::size_t>(t * inputs)];
        for (std::int64_t c = 0; c < inputs; ++c) sum += row[static_cast<std::size_t>(c)] * token[c];
        out[static_cast<std::size_t>(t * rows + r)] = sum;
      }
    }
    if (is_normalised) normalise(out, norm, of.heads);
    return out;
  }

  // A norm behind the rotation gives the same lengths; its gains are taken as if it stood before.
  void normalise(Numbers& x, const std::string& name, std::int64_t heads) const {
    const QkNorm& norm = *layer_.qk_norm;
    const std::int64_t width = norm.over == QkNorm::Over::head ? layer_.head_dim : heads * layer_.head_dim;
    Numbers gains;
    if (norm.weighted && file_.find(name) != nullptr) gains = read_gains(name, width);
    for (auto at = x.begin(); at != x.end(); at += width) {
      double mean = 0.0;
      if (norm.kind == QkNorm::Kind::layer) {
        for (std::int64_t c = 0; c < width; ++c) mean += at[c] / static_cast<double>(width);
      }
      double square = 0.0;
      for (std::int64_t c = 0; c < width; ++c) {
        at[c] -= mean;
        square += at[c] * at[c];
      }
      if (norm.kind != QkNorm::Kind::l2) square /= static_cast<double>(width);
      for (std::int64_t c = 0; c < width; ++c) {
        at[c] /= std::sqrt(square + kEpsilon);
        if (!gains.empty()) at[c] *= gains[static_cast<std::size_t>(c)];
      }
    }
  }

  std::string path_;
  const LayerPlan& layer_;
  std::string held_;
  TensorFile file_;
  bool gain_offset_ = false;
  bool is_gated_ = false;
};

}  // namespace

WeightRows rows_of_weights(const std::string& checkpoint, std::string_view model_type, const LayerPlan& layer) {
  return Weights(checkpoint, model_type, layer).rows();
}

}  // namespace posenc::tool
