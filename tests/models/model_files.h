// Weights and plans of the small models that other people published, from their files.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "math/config_to_rope.h"
#include "models/decoder.h"
#include "posenc/read_plan.h"
#include "posenc/reference.h"
#include "posenc/tensor_file.h"
#include "support/test_data.h"

namespace posenc::test {

// "model.layers.0.self_attn.q_proj.weight" -> "layers.0.self_attn.q_proj"
inline std::string short_name(std::string_view name) {
  constexpr std::string_view kPrefix = "model.";
  constexpr std::string_view kSuffix = ".weight";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return std::string(name);
}

// The first or second half of a matrix's rows.
inline Weight half_of(const Weight& both, std::int64_t which) {
  const auto half = static_cast<std::ptrdiff_t>(both.values.size() / 2);
  const auto begin = both.values.begin() + which * half;
  return {{begin, begin + half}, both.rows / 2};
}

// Every tensor of a file, as double. GLM-4's one matrix of gate and up projection, gate first,
// becomes two.
inline Weights read_weights(const std::filesystem::path& path) {
  const auto file = open_tensor_file(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().message());
  Weights weights;
  if (!file) return weights;
  for (const TensorEntry& entry : file->tensors()) {
    const auto data = file->read(entry.name);
    EXPECT_TRUE(data) << (data ? "" : data.error().message());
    if (!data) continue;
    const ConstTensorView view = data->view();
    Weight& weight = weights[short_name(entry.name)];
    weight.rows = view.shape[0];
    for (std::int64_t i = 0; i < view.shape[0]; ++i) {
      for (std::int64_t j = 0; j < (view.rank == 2 ? view.shape[1] : 1); ++j) {
        weight.values.push_back(view.rank == 2 ? reference::element(view, {i, j}) : reference::element(view, {i}));
      }
    }
  }
  for (auto it = weights.begin(); it != weights.end(); ++it) {
    const std::size_t at = it->first.find("gate_up_proj");
    if (at == std::string::npos) continue;
    weights[it->first.substr(0, at) + "gate_proj"] = half_of(it->second, 0);
    weights[it->first.substr(0, at) + "up_proj"] = half_of(it->second, 1);
  }
  return weights;
}

inline Plan known_plan(const Result<Plan>& plan) {
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
  if (!plan) return {};
  EXPECT_TRUE(plan->known);
  return *plan;
}

// Every rotation of the plan, to be changed.
template <typename Change>
void for_each_rope(Plan& plan, Change change) {
  for (LayerPlan& layer : plan.stacks.at(0).layers) {
    for (Rotate& one : layer.rotate) change(std::get<Rope>(one.scheme));
  }
}

inline Plan with_pairing_swapped(Plan plan) {
  for_each_rope(
      plan, [](Rope& rope) { rope.pairing = rope.pairing == Pairing::half ? Pairing::interleaved : Pairing::half; });
  return plan;
}

inline Plan with_base_doubled(Plan plan) {
  for_each_rope(plan, [](Rope& rope) { rope.base *= 2; });
  return plan;
}

inline double rms_difference(const Numbers& a, const Numbers& b) {
  EXPECT_EQ(a.size(), b.size());
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square / static_cast<double>(a.size()));
}

}  // namespace posenc::test
