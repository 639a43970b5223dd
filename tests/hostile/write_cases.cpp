// Writes the hostile JSON texts and GGUF files into a folder, for cli_cases_test.py: write_cases FOLDER. cases.tsv in
// it has a row for each: file, kind of the error or "ok", a part of the message.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include "hostile/gguf_cases.h"
#include "hostile/json_cases.h"

namespace {

// A process for each of the texts of 64 MiB would say nothing that the reader's own tests do not.
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)), table_(path_ / "cases.tsv") {}

  void put(const std::string& name, const std::string& bytes, const std::optional<posenc::ErrorKind>& kind,
           const std::string& fragment) {
    if (bytes.size() > kMaxBytes) return;
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    table_ << name << '\t' << (kind ? posenc::name(*kind) : "ok") << '\t' << fragment << '\n';
  }
  bool good() { return table_.flush().good(); }

 private:
  std::filesystem::path path_;
  std::ofstream table_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_cases FOLDER\n";
    return 2;
  }
  Folder folder(argv[1]);
  for (const posenc::test::JsonCase& c : posenc::test::json_cases()) {
    // Where the test asks for something, parsing alone succeeds; and no text of these is a model's.
    if (!c.ask && c.kind) folder.put(c.id + ".json", c.make(), c.kind, c.fragment);
  }
  for (const posenc::test::GgufCase& c : posenc::test::gguf_cases()) {
    folder.put(c.id + ".gguf", c.make(), c.kind, c.fragment);
  }
  return folder.good() ? 0 : 3;
}
