// The reader's heap, at its highest, is bounded by the text whatever the text says.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "io/files/text_file.h"
#include "io/json/json.h"
#include "support/heap_probe.h"
#include "support/test_data.h"

namespace posenc::io::json_memory_test {
namespace {

std::string repeated(std::string_view part, std::size_t count) {
  std::string out;
  out.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

std::string list(std::string_view item, std::size_t count, char open = '[', char close = ']') {
  std::string out = open + repeated(item, count);
  out.back() = close;
  return out;
}

// Bytes of heap per byte of text, at the highest.
double growth(const std::string& text) {
  const test::HeapProbe probe;
  const Result<JsonDocument> document = JsonDocument::parse(text, "bytes");
  EXPECT_TRUE(document.ok()) << document.error().message();
  EXPECT_LE(probe.peak_growth(), test::json_heap_bound(static_cast<std::int64_t>(text.size())));
  return static_cast<double>(probe.peak_growth()) / static_cast<double>(text.size());
}

TEST(JsonMemory, StaysWithinTheBound) {
  struct Shape {
    std::string name;
    std::string (*make)(std::size_t);
  };
  const std::vector<Shape> shapes = {
      {"[1,1,...]", [](std::size_t n) { return list("1,", n); }},
      {"[[],[],...]", [](std::size_t n) { return list("[],", n); }},
      {"[{},{},...]", [](std::size_t n) { return list("{},", n); }},
      {"[\"\",\"\",...]", [](std::size_t n) { return list("\"\",", n); }},
      {"{\"\":1,\"\":1,...}", [](std::size_t n) { return list("\"\":1,", n, '{', '}'); }},
      {"[{\"\":1},...]", [](std::size_t n) { return list("{\"\":1},", n); }},
      {"[[[1]],...]", [](std::size_t n) { return list("[[1]],", n); }},
      {"one string", [](std::size_t n) { return "\"" + std::string(n, 's') + "\""; }},
      {"one escaped string", [](std::size_t n) { return "\"" + repeated("\\n", n) + "\""; }},
      {"one number", [](std::size_t n) { return std::string(n, '7'); }},
      {"spaces", [](std::size_t n) { return std::string(n, '\n') + "1"; }},
  };
  for (const Shape& shape : shapes) {
    double worst = 0;
    // A vector that doubles is at its worst just behind a power of two.
    for (const std::size_t count :
         {100u, 1u << 16, (1u << 16) + 1, (1u << 18) - 1, 1u << 18, (1u << 18) + 1, 3u << 17}) {
      worst = std::max(worst, growth(shape.make(count)));
    }
    std::printf("%-20s %5.1f bytes of heap per byte of text\n", shape.name.c_str(), worst);
  }
}

TEST(JsonMemory, ManyDuplicatesUnderALongKeyStayWithinTheBound) {
  growth("{\"" + std::string(1 << 20, 'k') + "\":" + list("\"a\":1,", 100000, '{', '}') + "}");
}

// Indented, one key a line: what models publish.
TEST(JsonMemory, OfRealConfigsIsTwelveTimesTheText) {
  POSENC_NEED_DATA("configs");
  std::int64_t configs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "configs")) {
    if (entry.path().extension() != ".json") continue;
    const Result<std::string> text = read_text_file(entry.path(), kMaxJsonBytes);
    ASSERT_TRUE(text.ok()) << entry.path();
    const test::HeapProbe probe;
    const Result<JsonDocument> document = JsonDocument::parse(*text, "config.json");
    if (!document) continue;
    ++configs;
    EXPECT_LE(probe.peak_growth(), 12 * std::ssize(*text) + 1024) << entry.path();
  }
  EXPECT_GT(configs, 50);
}

}  // namespace
}  // namespace posenc::io::json_memory_test
