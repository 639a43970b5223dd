#include "models/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "models/arithmetic.h"
#include "posenc/reference.h"
#include "posenc/tensor_file.h"

namespace posenc::test {
namespace {

std::string renamed(std::string name, const Names& names) {
  for (const std::span<const Rename> rules : names.rules) {
    for (const Rename& rule : rules) {
      const std::size_t at = name.find(rule.from);
      if (at == std::string::npos || name.find(rule.within) == std::string::npos) continue;
      name.replace(at, rule.from.size(), rule.to);
    }
  }
  constexpr std::string_view kSuffix = ".weight";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

Tensor doubles(const TensorData& data) {
  const ConstTensorView view = data.view();
  Tensor out{{}, {view.shape.begin(), view.shape.begin() + view.rank}};
  std::int64_t count = 1;
  for (const std::int64_t size : out.shape) count *= size;
  const ConstTensorView flat = tensor(view.data, view.dtype, {count});
  for (std::int64_t i = 0; i < count; ++i) out.values.push_back(reference::element(flat, {i}));
  return out;
}

// The last two axes exchanged.
Tensor transposed(const Tensor& x) {
  Tensor out = x;
  const std::size_t rank = x.shape.size();
  const std::size_t rows = index(x.shape[rank - 2]);
  const std::size_t columns = index(x.shape[rank - 1]);
  std::swap(out.shape[rank - 2], out.shape[rank - 1]);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t matrix = i / (rows * columns) * rows * columns;
    out.values[matrix + i % columns * rows + i / columns % rows] = x.values[i];
  }
  return out;
}

// "layers.0.mlp.experts.up" -> "layers.0.mlp.experts.3.up", of axis 0.
void insert_experts(Weights& weights, const std::string& name, const Tensor& all) {
  constexpr std::string_view kExperts = "experts.";
  const std::size_t at = name.find(kExperts) + kExperts.size();
  const std::size_t size = all.values.size() / index(all.shape[0]);
  for (std::size_t e = 0; e < index(all.shape[0]); ++e) {
    weights[name.substr(0, at) + std::to_string(e) + "." + name.substr(at)] = {
        part_of(all.values, e * size, size), {all.shape.begin() + 1, all.shape.end()}};
  }
}

bool holds_all_experts(std::string_view name) {
  const std::size_t at = name.find("experts.");
  return at != std::string_view::npos && std::isdigit(static_cast<unsigned char>(name[at + 8])) == 0;
}

}  // namespace

Weights read_weights(const std::filesystem::path& path, const Names& names) {
  Weights weights;
  const auto file = open_tensor_file(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().message());
  if (!file) return weights;
  for (const TensorEntry& entry : file->tensors()) {
    const auto data = file->read(entry.name);
    EXPECT_TRUE(data) << (data ? "" : data.error().message());
    if (!data) continue;
    const std::string name = renamed(entry.name, names);
    Tensor weight = doubles(*data);
    const auto stands_in = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (!name.ends_with(".bias") && weight.shape.size() > 1 && std::ranges::any_of(names.transposed, stands_in))
      weight = transposed(weight);
    if (weight.shape.size() == 3 && weight.shape[0] == 1)
      weight.shape.erase(weight.shape.begin());  // an image's tables
    if (holds_all_experts(name)) {
      insert_experts(weights, name, weight);
    } else {
      weights[name] = std::move(weight);
    }
  }
  for (const Rename& copy : names.copies) weights[std::string(copy.to)] = weights.at(std::string(copy.from));
  return weights;
}

}  // namespace posenc::test
