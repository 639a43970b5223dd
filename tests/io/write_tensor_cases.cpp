// write_tensor_cases FOLDER: the hostile files of tensors into it. One line a file on standard output: its name,
// "bf16" where raw 16 bits are meant so, and what its message contains, between tabs; nothing of one that is sound, or
// that is taken for another kind of file where nobody says its format.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "io/tensor_cases.h"
#include "support/tensor_bytes.h"

namespace {

const char* suffix(posenc::TensorFormat format) {
  switch (format) {
    case posenc::TensorFormat::npy: return "npy";
    case posenc::TensorFormat::safetensors: return "safetensors";
    case posenc::TensorFormat::gguf: return "gguf";
    case posenc::TensorFormat::npz: return "npz";
    default: return "bin";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const posenc::test::TensorCase& one : posenc::test::tensor_cases()) {
    const std::string name = one.id + "." + suffix(one.format);
    const std::string bytes = one.make();
    std::ofstream file(std::filesystem::path(argv[1]) / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) return 1;
    const auto opened = posenc::open_tensor_file(posenc::test::bytes_of(bytes), name);
    const bool is_told = one.kind && !opened.ok() && opened.error().kind != posenc::ErrorKind::wrong_format;
    std::printf("%s\t%s\t%s\n", name.c_str(), one.raw16_is_bf16 ? "bf16" : "", is_told ? one.fragment.c_str() : "");
  }
}
