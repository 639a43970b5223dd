#include "attend/onnx_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "math/config_to_rope.h"
#include "reference/elements.h"

namespace posenc::test {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

template <typename Integer>
void append(const TensorData& data, std::vector<double>& to) {
  const auto* first = reinterpret_cast<const Integer*>(data.bytes().data());
  const std::size_t count = data.bytes().size() / sizeof(Integer);
  for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<double>(first[i]));
}

// [batch, tokens, heads * channels] -> [batch, heads, tokens, channels]
Tensor by_heads(const Tensor& flat, std::int64_t heads) {
  const std::int64_t channels = flat.shape[2] / heads;
  Tensor out = zeros({flat.shape[0], heads, flat.shape[1], channels});
  std::size_t to = 0;
  for (std::int64_t b = 0; b < flat.shape[0]; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < flat.shape[1]; ++t) {
        for (std::int64_t c = 0; c < channels; ++c) {
          out.values[to++] =
              flat.values[static_cast<std::size_t>(((b * flat.shape[1] + t) * heads + h) * channels + c)];
        }
      }
    }
  }
  return out;
}

// Along the third axis of four.
Tensor concatenated(const Tensor& past, const Tensor& now) {
  Tensor out{{}, {now.shape[0], now.shape[1], past.shape[2] + now.shape[2], now.shape[3]}};
  const std::int64_t past_block = past.shape[2] * past.shape[3];
  const std::int64_t now_block = now.shape[2] * now.shape[3];
  for (std::int64_t block = 0; block < now.shape[0] * now.shape[1]; ++block) {
    const auto old_part = past.values.begin() + block * past_block;
    const auto new_part = now.values.begin() + block * now_block;
    out.values.insert(out.values.end(), old_part, old_part + past_block);
    out.values.insert(out.values.end(), new_part, new_part + now_block);
  }
  return out;
}

// The last axis continued to `keys` with what forbids a key.
Tensor continued(const Tensor& mask, std::int64_t keys, double forbidden) {
  Tensor out{{}, mask.shape};
  const std::int64_t given = mask.shape.back();
  out.shape.back() = keys;
  for (std::int64_t row = 0; row < count_of(mask.shape) / given; ++row) {
    const auto first = mask.values.begin() + row * given;
    out.values.insert(out.values.end(), first, first + given);
    out.values.insert(out.values.end(), static_cast<std::size_t>(keys - given), forbidden);
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& folder) : folder_(folder), document_(read_json(folder / "case.json")) {
    for (const Json& one : document_["tensors"].GetArray()) files_[one["name"].GetString()] = one["file"].GetString();
  }

  const Json& node() const { return document_["nodes"][0]; }
  const Json& attributes() const { return node()["attributes"]; }

  std::optional<Array> input(rapidjson::SizeType place) const { return named(node()["inputs"], place); }
  std::optional<Array> output(rapidjson::SizeType place) const { return named(node()["outputs"], place); }

 private:
  std::optional<Array> named(const Json& names, rapidjson::SizeType place) const {
    if (place >= names.Size() || names[place].GetStringLength() == 0) return {};
    return read_array(folder_ / files_.at(names[place].GetString()));
  }

  std::filesystem::path folder_;
  rapidjson::Document document_;
  std::map<std::string, std::string> files_;
};

std::string unknown_attribute(const Json& attributes) {
  static const std::vector<std::string> kKnown{"q_num_heads",           "kv_num_heads", "scale",     "softcap",
                                               "qk_matmul_output_mode", "is_causal",    "score_mod", "prob_mod",
                                               "softmax_precision"};
  for (const auto& [key, value] : attributes.GetObject()) {
    if (std::find(kKnown.begin(), kKnown.end(), key.GetString()) == kKnown.end()) return key.GetString();
  }
  return {};
}

void read_layer(const Reader& reader, OnnxCase& one) {
  const Json& attributes = reader.attributes();
  LayerPlan& layer = one.layer;
  layer.heads = one.q.shape[1];
  layer.kv_heads = one.k.shape[1];
  layer.head_dim = one.q.shape[3];
  layer.value_dim = one.v.shape[3];
  layer.softmax_scale = number(attributes, "scale").value_or(1 / std::sqrt(static_cast<double>(layer.head_dim)));
  const bool is_causal = integer(attributes, "is_causal").value_or(0) != 0;
  layer.mask.kind = is_causal ? MaskKind::causal : MaskKind::bidirectional;
  if (const auto cap = number(attributes, "softcap")) layer.soft_cap = SoftCap{*cap, SoftCap::Order::before_bias};
  constexpr ScoreStage kModes[] = {ScoreStage::content, ScoreStage::capped, ScoreStage::biased, ScoreStage::weights};
  one.stage = kModes[integer(attributes, "qk_matmul_output_mode").value_or(0)];
}

void read_masks(const Reader& reader, const Array* past, OnnxCase& one) {
  const std::int64_t keys = one.k.shape[2];
  const std::int64_t queries = one.q.shape[2];
  const std::optional<Array> nonpad = reader.input(6);
  if (const std::optional<Array> mask = reader.input(3)) {
    const double forbidden = mask->is_mask ? 0.0 : -HUGE_VAL;
    (mask->is_mask ? one.attn_mask : one.bias) = continued(mask->numbers, keys, forbidden);
  }
  for (std::int64_t b = 0; b < one.q.shape[0]; ++b) {
    const double valid = nonpad ? nonpad->numbers.values[static_cast<std::size_t>(b)] : 0.0;
    const std::int64_t offset = nonpad            ? static_cast<std::int64_t>(valid) - queries
                                : past != nullptr ? past->numbers.shape[2]
                                                  : 0;
    for (std::int64_t i = 0; i < queries; ++i) one.q_order.push_back(i + offset);
  }
  if (!nonpad || one.layer.mask.kind == MaskKind::causal) return;  // causal: keys that are not valid are in the future
  if (one.attn_mask) one.refusal = "a mask of bool and nonpad_kv_seqlen in a case that is not causal";
  one.attn_mask = zeros({one.q.shape[0], 1, 1, keys});
  for (std::int64_t cell = 0; cell < one.q.shape[0] * keys; ++cell) {
    const double valid = nonpad->numbers.values[static_cast<std::size_t>(cell / keys)];
    one.attn_mask->values[static_cast<std::size_t>(cell)] = static_cast<double>(cell % keys) < valid ? 1.0 : 0.0;
  }
}

}  // namespace

Array read_array(const std::filesystem::path& path) {
  const auto data = read_tensor(path);
  EXPECT_TRUE(data) << (data ? "" : data.error().message());
  if (!data) return {};
  Array out{.numbers = {{}, {data->shape().begin(), data->shape().end()}}};
  out.is_mask = data->type() == ElementType::boolean;
  if (out.is_mask) {
    append<std::uint8_t>(*data, out.numbers.values);
  } else if (data->type() == ElementType::i64) {
    append<std::int64_t>(*data, out.numbers.values);
  } else {
    const ConstTensorView view = data->view();
    out.dtype = view.dtype;
    for (std::int64_t i = 0; i < count_of(out.numbers.shape); ++i) {
      out.numbers.values.push_back(reference::read(view, i));
    }
  }
  return out;
}

OnnxCase read_onnx_case(const std::filesystem::path& folder) {
  const Reader reader(folder);
  OnnxCase one{.name = folder.filename().string()};
  if (const std::string unknown = unknown_attribute(reader.attributes()); !unknown.empty()) {
    one.refusal = "attribute " + unknown;
    return one;
  }
  one.has_graph = reader.attributes().HasMember("score_mod") || reader.attributes().HasMember("prob_mod");
  const Array q = *reader.input(0);
  one.dtype = q.dtype;
  const bool is_flat = q.numbers.shape.size() == 3;
  const auto heads = [&](const Array& x, const char* attribute) {
    return is_flat ? by_heads(x.numbers, *integer(reader.attributes(), attribute)) : x.numbers;
  };
  one.q = heads(q, "q_num_heads");
  one.k = heads(*reader.input(1), "kv_num_heads");
  one.v = heads(*reader.input(2), "kv_num_heads");
  const std::optional<Array> past_k = reader.input(4);
  const std::optional<Array> past_v = reader.input(5);
  if (past_k) one.k = concatenated(past_k->numbers, one.k);
  if (past_v) one.v = concatenated(past_v->numbers, one.v);
  read_layer(reader, one);
  read_masks(reader, past_k ? &*past_k : nullptr, one);
  const Array y = *reader.output(0);
  one.expected = is_flat ? by_heads(y.numbers, one.layer.heads) : y.numbers;
  if (const std::optional<Array> scores = reader.output(3)) one.scores = scores->numbers;
  return one;
}

}  // namespace posenc::test
