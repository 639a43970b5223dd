// The table of facts about real configs (tests/facts/README.md says what each column means).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::test {

using FactRow = std::map<std::string, std::string, std::less<>>;  // column -> cell

// Tab-separated, the first line names the columns. A failed test where a line has another number of cells.
std::vector<FactRow> read_facts(const std::filesystem::path& path);

// "0-4,6-10/2": the layers it selects; a failed test where it is none.
std::vector<std::int64_t> selected(std::string_view selection);

// A cell's value for each of `layers` layers: "511@0-4;-@5", or one value for all.
std::vector<std::string> by_layer(std::string_view cell, std::int64_t layers);

// Equal texts, or equal numbers: within `ulps` units in the last place of the larger.
bool same_fact(std::string_view a, std::string_view b, double ulps = 0);

std::vector<std::string> split(std::string_view text, char separator);

}  // namespace posenc::test
