// Runs known inputs through a target, without libFuzzer: fuzz_replay_NAME FILE-OR-FOLDER...
//
// Folders are walked. Prints how many inputs ran; none at all is a failure, so that a corpus cannot be lost quietly.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

std::vector<std::filesystem::path> files_under(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A last line naming the input, should the process end in it.
void run(const std::filesystem::path& path) {
  std::fprintf(stderr, "%s\r", path.c_str());
  posenc::fuzz::run_one(content(path));
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::exists(argv[i])) {
      std::fprintf(stderr, "no such file or folder: %s\n", argv[i]);
      return 1;
    }
    for (const std::filesystem::path& path : files_under(argv[i])) {
      run(path);
      ++inputs;
    }
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
