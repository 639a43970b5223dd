#include "tensors/projection_names.h"

#include <array>
#include <string_view>
#include <utility>

namespace posenc::tool {
namespace {

// How the names of a layer's tensors end.
struct Endings {
  std::string_view q;
  std::string_view k;
  std::string_view norm;
  std::string_view q_norm;
  std::string_view k_norm;
};
constexpr std::array kEndings{
    Endings{"self_attn.q_proj.weight", "self_attn.k_proj.weight", "input_layernorm.weight", "self_attn.q_norm.weight",
            "self_attn.k_norm.weight"},
    Endings{"q_proj.weight", "k_proj.weight", "ln_1.weight", "q_norm.weight", "k_norm.weight"},
    Endings{"attn_q.weight", "attn_k.weight", "attn_norm.weight", "attn_q_norm.weight", "attn_k_norm.weight"},
    Endings{"attention.wq.weight", "attention.wk.weight", "attention_norm.weight", "attention.q_norm.weight",
            "attention.k_norm.weight"}};

constexpr std::string_view kWeight = "weight";

}  // namespace

std::vector<ProjectionNames> projections(const TensorFile& file) {
  std::vector<ProjectionNames> out;
  for (const TensorEntry& entry : file.tensors()) {
    for (const Endings& endings : kEndings) {
      if (!entry.name.ends_with(endings.q)) continue;
      const std::string layer = entry.name.substr(0, entry.name.size() - endings.q.size());
      const auto named = [&](std::string_view ending) { return layer + std::string(ending); };
      if (file.find(named(endings.k)) == nullptr) continue;
      out.push_back({entry.name, named(endings.k), named(endings.norm), named(endings.q_norm), named(endings.k_norm)});
      break;
    }
  }
  return out;
}

std::string bias_of(const std::string& weight) { return weight.substr(0, weight.size() - kWeight.size()) + "bias"; }

}  // namespace posenc::tool
