// The files of a directory of vectors: one writer for each format, one for each test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

inline constexpr std::int64_t kVectorsSchemaVersion = 1;
inline constexpr std::string_view kManifest = "vectors.json";
inline constexpr std::string_view kPlan = "plan.json";
inline constexpr std::string_view kSafetensors = "vectors.safetensors";

// "float32", "bfloat16", "float16": what ports call them.
std::string_view dtype_word(DType dtype);

// Whether the numbers stand in files of their own; else they are in the manifest.
bool has_tensor_files(VectorFormat format);

// manifest.cpp
std::string manifest(const Vectors& vectors, const VectorFileOptions& options);
std::string file_of(const VectorTensor& tensor, VectorFormat format);  // "q.npy"
// binary_files.cpp
std::vector<VectorFile> npy_files(const Vectors& vectors);
VectorFile safetensors_file(const Vectors& vectors);
// c_source.cpp, rust_source.cpp, python_source.cpp
std::vector<VectorFile> c_files(const Vectors& vectors);
VectorFile rust_file(const Vectors& vectors);
VectorFile python_file(const Vectors& vectors);
// *_test.cpp
std::vector<VectorFile> pytest_files(const Vectors& vectors, VectorFormat format);
std::vector<VectorFile> googletest_files(const Vectors& vectors);
std::vector<VectorFile> c_test_files(const Vectors& vectors);
std::vector<VectorFile> cargo_files(const Vectors& vectors);

// ---- source text ----

// The name as an identifier: "hidden.weight" is hidden_weight.
std::string identifier(std::string_view name);
// A number as all languages take it for a double.
std::string number_text(double value, std::string_view infinite);
// Numbers separated by ", ", a row of at most 112 columns a line; `infinite` is how the language says -infinity.
std::string number_rows(const std::vector<double>& values, bool is_whole, std::string_view infinite);
// `text` with each "@name@" replaced.
struct Filling {
  std::string_view name;
  std::string text;
};
std::string filled(std::string_view text, std::initializer_list<Filling> fillings);
// "llama-3.1-8b, decoder layer 0", in ASCII, without what could end a comment.
std::string title(const Vectors& vectors);
// The same where a text between three quotes goes on.
std::string in_docstring(std::string text);
// The facts as lines of a comment, each behind `before`.
std::string fact_lines(const Vectors& vectors, std::string_view before);

}  // namespace posenc::inline v0_2::golden
