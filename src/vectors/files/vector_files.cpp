// vector_files(): which files a format and a test are made of.
#include "vectors/files/vector_files.h"

#include <iterator>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

VectorTest test_of(VectorFormat format) {
  if (format == VectorFormat::c) return VectorTest::c;
  return format == VectorFormat::rust ? VectorTest::cargo : VectorTest::pytest;
}

bool goes_with(VectorTest test, VectorFormat format) {
  switch (test) {
    case VectorTest::none: return true;
    case VectorTest::pytest: return format != VectorFormat::c && format != VectorFormat::rust;
    case VectorTest::googletest:
    case VectorTest::c: return format == VectorFormat::c;
    case VectorTest::cargo: return format == VectorFormat::rust;
  }
  return false;
}

std::vector<VectorFile> number_files(const Vectors& vectors, VectorFormat format) {
  switch (format) {
    case VectorFormat::npy: return golden::npy_files(vectors);
    case VectorFormat::safetensors: return {golden::safetensors_file(vectors)};
    case VectorFormat::json: return {};  // in the manifest
    case VectorFormat::c: return golden::c_files(vectors);
    case VectorFormat::rust: return {golden::rust_file(vectors)};
    case VectorFormat::python: return {golden::python_file(vectors)};
  }
  return {};
}

std::vector<VectorFile> test_files(const Vectors& vectors, VectorTest test, VectorFormat format) {
  switch (test) {
    case VectorTest::none: return {};
    case VectorTest::pytest: return golden::pytest_files(vectors, format);
    case VectorTest::googletest: return golden::googletest_files(vectors);
    case VectorTest::c: return golden::c_test_files(vectors);
    case VectorTest::cargo: return golden::cargo_files(vectors);
  }
  return {};
}

}  // namespace

std::vector<VectorFile> vector_files(const Vectors& vectors, const VectorFileOptions& options) {
  const VectorTest test = options.test.value_or(test_of(options.format));
  if (options.format > VectorFormat::python) {
    throw Error("vector_files",
                {"format", "be an enumerator, 0 to 5", formatted("{}", static_cast<int>(options.format))});
  }
  if (!goes_with(test, options.format)) {
    throw Error("vector_files",
                {"test", formatted("go with the format {}", name(options.format)), std::string(name(test))});
  }
  std::vector<VectorFile> out{{std::string(golden::kManifest), golden::manifest(vectors, options)},
                              {std::string(golden::kPlan), to_json(vectors.plan) + "\n"}};
  for (std::vector<VectorFile> more :
       {number_files(vectors, options.format), test_files(vectors, test, options.format)}) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

std::string_view name(VectorFormat format) noexcept {
  switch (format) {
    case VectorFormat::npy: return "npy";
    case VectorFormat::safetensors: return "safetensors";
    case VectorFormat::json: return "json";
    case VectorFormat::c: return "c";
    case VectorFormat::rust: return "rust";
    case VectorFormat::python: return "python";
  }
  return "unknown";
}

std::string_view name(VectorTest test) noexcept {
  switch (test) {
    case VectorTest::none: return "none";
    case VectorTest::pytest: return "pytest";
    case VectorTest::googletest: return "googletest";
    case VectorTest::c: return "c";
    case VectorTest::cargo: return "cargo";
  }
  return "unknown";
}

}  // namespace posenc::inline v0_2
