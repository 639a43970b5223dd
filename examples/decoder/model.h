// A model of the Llama family: what posenc says of its positions, and its weights.
#pragma once

#include <posenc/posenc.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

struct Weight {
  std::size_t columns = 0;
  std::vector<float> values{};  // [rows, columns]
};

struct Model {
  posenc::Plan plan;
  double epsilon = 1e-5;                    // of the norms
  std::vector<std::int32_t> ends{1, 2};     // tokens that end a text; of llama2.c, what begins the next one too
  std::map<std::string, Weight> weights{};  // "layers.0.self_attn.q_proj.weight": Hugging Face's names without "model."

  const Weight* find(const std::string& name) const {
    const auto found = weights.find(name);
    return found == weights.end() ? nullptr : &found->second;
  }
};

template <typename T>
T value_of(posenc::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

// ---- the plan ----

inline posenc::Plan plan_of(const std::string& config, const std::string& name, std::int64_t length) {
  posenc::Plan plan = value_of(posenc::read_plan(std::as_bytes(std::span(config)), name, {.length = length}));
  // A stack that could not be read has no layers, and says why.
  for (const posenc::Stack& stack : plan.stacks) {
    if (!stack.known) throw std::runtime_error(name + ": " + stack.unknown.at(0));
  }
  return plan;
}

inline posenc::Rope& rope_of(posenc::LayerPlan& layer) { return std::get<posenc::Rope>(layer.rotate.at(0).scheme); }

// All layers pair other channels: interleaved (GPT-J) instead of half-split (NeoX, rotate_half), or the other way.
inline void swap_pairing(posenc::Plan& plan) {
  for (posenc::LayerPlan& layer : plan.stacks.at(0).layers) {
    auto& pairing = rope_of(layer).pairing;
    pairing = pairing == posenc::Pairing::half ? posenc::Pairing::interleaved : posenc::Pairing::half;
  }
}

inline std::string config_of(std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t kv_heads,
                             std::int64_t length, const std::string& others) {
  return R"({"model_type": "llama", "hidden_size": )" + std::to_string(dim) + R"(, "num_hidden_layers": )" +
         std::to_string(layers) + R"(, "num_attention_heads": )" + std::to_string(heads) +
         R"(, "num_key_value_heads": )" + std::to_string(kv_heads) + R"(, "max_position_embeddings": )" +
         std::to_string(length) + ", " + others + "}";
}

// What the header of a llama2.c checkpoint says, as a config.json: dim, -, layers, heads, kv_heads, -, length. All
// versions but the first have a magic number and the version before it.
inline std::string config_of_header(const std::string& path) {
  std::int32_t header[9] = {};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(header), sizeof header);
  const std::int32_t* const s = &header[header[0] == 0x616b3432 ? 2 : 0];
  return config_of(s[0], s[2], s[3], s[4], s[6], R"("rms_norm_eps": 1e-5, "rope_theta": 10000.0)");
}

// All layers have another scaling rule, in the words of a config.json: "yarn:factor=4,beta_fast=16".
inline void replace_rule(posenc::Plan& plan, const std::string& words) {
  const std::string type = words.substr(0, words.find(':'));
  const std::string rule = R"("rope_scaling": {"rope_type": ")" + type + '"' +
                           std::regex_replace(words.substr(type.size()), std::regex("[:,](\\w+)="), ", \"$1\": ") + '}';
  for (posenc::LayerPlan& layer : plan.stacks.at(0).layers) {
    posenc::Rope& rope = rope_of(layer);
    const std::string config = config_of(rope.dim, 1, 1, 1, plan.trained_length.value(),
                                         R"("rope_theta": )" + std::to_string(rope.base) + ", " + rule);
    rope.scaling = rope_of(plan_of(config, words, plan.length.value()).stacks.at(0).layers.at(0)).scaling;
  }
}

// ---- weights ----

inline std::string renamed(std::string name) {
  std::istringstream names(  // in Meta's code, which llama2.c follows, and in Hugging Face's
      "tok_embeddings embed_tokens  attention_norm input_layernorm  ffn_norm post_attention_layernorm "
      "attention.wq self_attn.q_proj  attention.wk self_attn.k_proj  attention.wv self_attn.v_proj "
      "attention.wo self_attn.o_proj  feed_forward.w1 mlp.gate_proj  feed_forward.w2 mlp.down_proj "
      "feed_forward.w3 mlp.up_proj  output.weight lm_head.weight");
  for (std::string from, to; names >> from >> to;) {
    if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name.starts_with("model.") ? name.substr(6) : name;
}

inline Weight floats_of(const posenc::TensorData& data) {
  posenc::ConstTensorView all = data.view();
  Weight weight{.columns = static_cast<std::size_t>(std::max<std::int64_t>(all.shape.at(all.rank - 1), 1))};
  all = posenc::tensor(all.data, all.dtype, {std::ssize(data.bytes()) / posenc::bytes_of(all.dtype)});
  for (std::int64_t i = 0; i < all.shape[0]; ++i)
    weight.values.push_back(static_cast<float>(posenc::reference::element(all, {i})));
  return weight;
}

// A file's text, or none where there is no file: a pipe or a device might never end.
inline std::string text_of(const std::filesystem::path& path) {
  if (!is_regular_file(path)) return {};
  std::ifstream file(path);
  return {std::istreambuf_iterator(file), {}};
}

// "eos_token_id": 2 or [128001, 128009], of generation_config.json, else of config.json; null or absent: nothing does.
inline std::vector<std::int32_t> ends_of(const std::filesystem::path& folder, const std::string& config) {
  for (const std::string& text : {text_of(folder / "generation_config.json"), config}) {
    std::smatch found;
    if (!std::regex_search(text, found, std::regex(R"("eos_token_id":\s*(\d+|\[[\d,\s]*\]))"))) continue;
    const std::string ids = std::regex_replace(found[1].str(), std::regex("\\D+"), " ");
    std::istringstream numbers(ids);
    return {std::istream_iterator<std::int32_t>(numbers), {}};
  }
  return {};
}

// `path`: a checkpoint of llama2.c, or a folder with config.json and safetensors. `length`: of the longest sequence,
// for rules that ask for it.
inline Model read_model(const std::filesystem::path& path, std::int64_t length) {
  const bool is_folder = is_directory(path);
  const std::filesystem::path index = path / "model.safetensors.index.json";
  const std::filesystem::path whole = is_folder ? path / "model.safetensors" : path;
  const posenc::TensorFile tensors = value_of(posenc::open_tensor_file(exists(index) ? index : whole));
  const std::string config = is_folder ? text_of(path / "config.json") : config_of_header(path);
  Model model{.plan = plan_of(config, is_folder ? path / "config.json" : path, length)};
  if (!model.plan.known || !std::regex_match(model.plan.model_type, std::regex("llama|mistral|qwen2|qwen3"))) {
    throw std::runtime_error(path.string() + ": not of the Llama family, but '" + model.plan.model_type + "'");
  }
  // Meta pairs neighbours (GPT-J). Hugging Face has permuted rows of the weights, so that its code can use rotate_half.
  if (!is_folder) swap_pairing(model.plan);
  if (is_folder) model.ends = ends_of(path, config);
  const std::regex epsilon(R"("rms_norm_eps":\s*([0-9.eE+-]+))");  // it has nothing to do with positions
  if (std::smatch is; std::regex_search(config, is, epsilon)) model.epsilon = std::stod(is[1]);
  for (const posenc::TensorEntry& entry : tensors.tensors())
    model.weights[renamed(entry.name)] = floats_of(value_of(tensors.read(entry.name)));
  return model;
}
