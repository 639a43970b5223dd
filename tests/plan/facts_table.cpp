#include "plan/facts_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>

namespace posenc::test {
namespace {

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::int64_t layer_number(std::string_view text) {
  const auto value = number<std::int64_t>(text);
  EXPECT_TRUE(value.has_value()) << "no layer: " << text;
  return value.value_or(0);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] != separator) continue;
    parts.emplace_back(text.substr(start, at - start));
    start = at + 1;
  }
  return parts;
}

std::vector<FactRow> read_facts(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<FactRow> rows;
  if (!std::getline(file, line)) return rows;
  const std::vector<std::string> columns = split(line, '\t');
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, '\t');
    EXPECT_EQ(cells.size(), columns.size()) << line;
    FactRow row;
    for (std::size_t c = 0; c < std::min(cells.size(), columns.size()); ++c) row[columns[c]] = cells[c];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::int64_t> selected(std::string_view selection) {
  std::vector<std::int64_t> layers;
  if (selection == "-") return layers;
  for (const std::string& part : split(selection, ',')) {
    const std::vector<std::string> range_and_step = split(part, '/');
    const std::vector<std::string> ends = split(range_and_step[0], '-');
    const std::int64_t step = range_and_step.size() > 1 ? layer_number(range_and_step[1]) : 1;
    for (std::int64_t i = layer_number(ends.front()); i <= layer_number(ends.back());
         i += std::max<std::int64_t>(step, 1)) {
      layers.push_back(i);
    }
  }
  return layers;
}

std::vector<std::string> by_layer(std::string_view cell, std::int64_t layers) {
  if (cell.find('@') == std::string_view::npos) return std::vector(static_cast<std::size_t>(layers), std::string(cell));
  std::vector<std::string> values(static_cast<std::size_t>(layers));
  for (const std::string& part : split(cell, ';')) {
    const std::size_t at = part.find('@');
    for (const std::int64_t layer : selected(std::string_view(part).substr(at + 1))) {
      if (layer < layers) values[static_cast<std::size_t>(layer)] = part.substr(0, at);
    }
  }
  return values;
}

bool same_fact(std::string_view a, std::string_view b, double ulps) {
  if (a == b) return true;
  const auto left = number<double>(a);
  const auto right = number<double>(b);
  if (!left || !right) return false;
  const double larger = std::max(std::abs(*left), std::abs(*right));
  return std::abs(*left - *right) <= ulps * larger * std::numeric_limits<double>::epsilon();
}

}  // namespace posenc::test
