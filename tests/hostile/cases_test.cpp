// Every case of table/, from the list that make_cases.py wrote: what comes of it, where, in which words, and within how
// much memory. The same cases go through the command line in cli_cases_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "io/json/json.h"
#include "posenc/read_plan.h"
#include "support/heap_probe.h"

namespace posenc::test::cases_test {
namespace {

struct HostileCase {
  std::string name;
  std::string reader;
  std::string file;
  std::string kind;
  std::string line;
  std::string column;
  std::string offset;
  std::string path;
  std::string fragment;
  std::string ask;
  std::string heap;
};

// What GoogleTest prints of a case.
[[maybe_unused]] void PrintTo(const HostileCase& c, std::ostream* out) { *out << c.name; }

// What came of the bytes: an error; or what is accepted, with the codes of its warnings.
struct Outcome {
  std::optional<FileError> error{};
  std::vector<std::string> warnings{};
  std::string undecided{};  // the message of the warning that a stack is not known
};

constexpr std::string_view kName = "hostile file";

// ---- readers: each is a line in recipes.py, too ----

Outcome read_model(std::string_view bytes, const std::string&) {
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes.data(), bytes.size())), kName);
  if (!plan.ok()) return {.error = plan.error()};
  Outcome outcome;
  for (const Warning& warning : plan->warnings) {
    outcome.warnings.push_back(warning.code);
    if (warning.code == "undecided") outcome.undecided = warning.message;
  }
  // A GGUF file without tensors does not say whether frequencies are divided.
  EXPECT_EQ(plan->known, std::ranges::count(outcome.warnings, "no-tensors") == 0 && outcome.undecided.empty());
  std::erase(outcome.warnings, "no-tensors");
  return outcome;
}

template <typename T>
std::optional<FileError> error_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error());
}

// "int KEY=VALUE": the root's member, asked for as that; without a VALUE, an error is expected.
std::optional<FileError> answer(const io::JsonDocument& document, const std::string& ask) {
  const std::size_t space = ask.find(' ');
  const std::size_t equals = ask.rfind('=');
  const std::string what = ask.substr(0, space);
  const std::string key = ask.substr(space + 1, equals - space - 1);
  const std::string value = ask.substr(equals + 1);
  if (what == "number") return error_of(document.root().as_double());
  if (what == "duplicates") {
    EXPECT_EQ(std::to_string(document.duplicates().size()), value);
    return {};
  }
  const Result<std::optional<io::JsonValue>> found = document.root().find(key);
  if (!found.ok()) return found.error();
  EXPECT_TRUE(found->has_value()) << "no member " << key;
  if (!found->has_value()) return {};
  if (what == "int") {
    const Result<std::int64_t> got = (*found)->as_int();
    if (!got.ok()) return got.error();
    EXPECT_EQ(std::to_string(*got), value);
    return {};
  }
  EXPECT_EQ(what, "double");
  const Result<double> got = (*found)->as_double();
  if (!got.ok()) return got.error();
  const double expected = std::stod(value);
  EXPECT_EQ(*got, expected);
  EXPECT_EQ(std::signbit(*got), std::signbit(expected));
  return {};
}

Outcome read_json(std::string_view bytes, const std::string& ask) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(bytes, kName);
  if (!document.ok()) return {.error = document.error()};
  return {.error = ask.empty() ? std::nullopt : answer(*document, ask)};
}

using Reader = Outcome (*)(std::string_view bytes, const std::string& ask);
const std::map<std::string, Reader> kReaders{{"json", read_json}, {"config", read_model}, {"gguf", read_model}};

// ---- cases ----

std::filesystem::path folder() { return POSENC_HOSTILE_CASES; }

std::vector<HostileCase> hostile_cases() {
  std::ifstream file(folder() / "cases.tsv");
  std::vector<HostileCase> cases;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::istringstream row(line);
    HostileCase& c = cases.emplace_back();
    for (std::string* cell :
         {&c.name, &c.reader, &c.file, &c.kind, &c.line, &c.column, &c.offset, &c.path, &c.fragment, &c.ask, &c.heap}) {
      std::getline(row, *cell, '\t');
    }
  }
  return cases;
}

std::string from_hexadecimal(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// recipes.Many: the piece so many times; a run of '#' in it is the number of the time, with leading zeros.
void add_part(std::string& bytes, std::string piece, std::size_t count) {
  const std::size_t first = count == 1 ? std::string::npos : piece.find('#');
  const std::size_t digits = first == std::string::npos ? 0 : piece.find_first_not_of('#', first) - first;
  bytes.reserve(bytes.size() + piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0, rest = i; k < digits; ++k, rest /= 10) {
      piece[first + digits - 1 - k] = static_cast<char>('0' + rest % 10);
    }
    bytes += piece;
  }
}

std::string content(const HostileCase& c) {
  std::ifstream file(folder() / c.file, std::ios::binary);
  if (!c.file.ends_with(".parts")) return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string bytes;
  std::size_t count = 0;
  for (std::string piece; file >> count >> piece;) add_part(bytes, from_hexadecimal(piece), count);
  return bytes;
}

// ---- what must hold ----

Outcome read_bounded(const HostileCase& c, std::string_view bytes) {
  const HeapProbe probe;
  Outcome outcome = kReaders.at(c.reader)(bytes, c.ask);
  EXPECT_LE(probe.peak_growth(), std::stoll(c.heap));
  return outcome;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

void expect_sound(const FileError& error) {
  const std::string message = error.message();
  EXPECT_EQ(error.file, kName) << message;
  EXPECT_EQ(message.rfind(kName, 0), 0U) << message;
  EXPECT_FALSE(error.expected.empty() && error.detail.empty()) << message;
  EXPECT_LT(message.size(), 1000U) << message;
  EXPECT_TRUE(std::ranges::none_of(message, is_control)) << message;
}

void expect_error(const HostileCase& c, const FileError& error) {
  const std::string message = error.message();
  EXPECT_EQ(name(error.kind), c.kind) << message;
  EXPECT_EQ(std::to_string(error.line), c.line) << message;
  EXPECT_EQ(std::to_string(error.column), c.column) << message;
  EXPECT_EQ(std::to_string(error.offset), c.offset) << message;
  EXPECT_EQ(error.path, c.path) << message;
  EXPECT_NE(message.find(c.fragment), std::string::npos) << message;
  expect_sound(error);
}

// A file that ends early is refused wherever it ends, and never taken for the whole.
void expect_refused_when_cut(const HostileCase& c, std::string_view bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Outcome outcome = read_bounded(c, bytes.substr(0, size));
    ASSERT_TRUE(outcome.error) << size;
    EXPECT_NE((" " + c.fragment + " ").find(" " + std::string(name(outcome.error->kind)) + " "), std::string::npos)
        << size << ": " << outcome.error->message();
    expect_sound(*outcome.error);
  }
}

class Hostile : public testing::TestWithParam<HostileCase> {};

TEST_P(Hostile, ComesToItsOutcome) {
  const HostileCase& c = GetParam();
  const std::string bytes = content(c);
  const Outcome outcome = read_bounded(c, bytes);
  if (c.kind == "unknown") {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
    EXPECT_NE(outcome.undecided.find(c.fragment), std::string::npos) << outcome.undecided;
    EXPECT_NE(outcome.undecided.find(c.path), std::string::npos) << outcome.undecided;
    return;
  }
  if (c.kind != "ok" && c.kind != "cut") {
    ASSERT_TRUE(outcome.error);
    return expect_error(c, *outcome.error);
  }
  ASSERT_FALSE(outcome.error) << outcome.error->message();
  if (c.kind == "cut") return expect_refused_when_cut(c, bytes);
  EXPECT_EQ(std::ranges::count(outcome.warnings, c.fragment), c.fragment.empty() ? 0 : 1)
      << testing::PrintToString(outcome.warnings);
  EXPECT_EQ(outcome.warnings.empty(), c.fragment.empty()) << testing::PrintToString(outcome.warnings);
}

INSTANTIATE_TEST_SUITE_P(Table, Hostile, testing::ValuesIn(hostile_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace posenc::test::cases_test
