// Reads texts from standard input, one per line in hexadecimal, and answers each on a line: "error KIND", or the JSON
// that was understood. json_differential.py compares the answers with Python's json.
#include <iostream>
#include <string>

#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "support/write_json_value.h"

namespace {

std::string from_hexadecimal(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
    out += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto document = posenc::io::JsonDocument::parse(from_hexadecimal(line), "text");
    if (!document.ok()) {
      std::cout << "error " << name(document.error().kind) << "\n";
      continue;
    }
    posenc::io::JsonWriter json(posenc::io::JsonLayout::line);
    posenc::test::write_json_value(document->root(), json);
    std::cout << json.take() << "\n";
  }
}
