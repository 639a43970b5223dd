// read_vectors: the plan and the options of a directory say which tensors there must be, of which shapes; numbers and
// bounds are the files'. No number of a file is a size before it was compared with those.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/formatted.h"
#include "io/files/text_file.h"
#include "io/json/json.h"
#include "posenc/error.h"
#include "posenc/reference.h"
#include "vectors/files/vector_files.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2 {
namespace {

using io::JsonDocument;
using io::JsonKind;
using io::JsonValue;

// Thrown within this file, so that what is read deep down ends the reading.
struct Unreadable {
  FileError error;
};

template <typename T>
T read(Result<T> result) {
  if (!result) throw Unreadable{result.error()};
  return std::move(result).value();
}

JsonValue member(const JsonValue& object, std::string_view key) {
  const std::optional<JsonValue> found = read(object.find(key));
  if (!found) {
    FileError error = object.error(ErrorKind::missing_key, formatted("an object with \"{}\"", key));
    throw Unreadable{error};
  }
  return *found;
}

std::optional<std::int64_t> whole_or_null(const JsonValue& object, std::string_view key) {
  const JsonValue value = member(object, key);
  if (value.is_null()) return {};
  return read(value.as_int());
}

std::vector<double> numbers(const JsonValue& list, std::size_t count, bool may_be_hidden) {
  if (list.kind() != JsonKind::array || list.size() != static_cast<std::int64_t>(count)) {
    throw Unreadable{list.error(ErrorKind::length_mismatch, formatted("an array of {} numbers", count))};
  }
  std::vector<double> out;
  out.reserve(count);
  for (const JsonValue& item : list.items()) {
    out.push_back(may_be_hidden && item.is_null() ? -std::numeric_limits<double>::infinity() : read(item.as_double()));
  }
  return out;
}

VectorOptions options_of(const JsonValue& root) {
  if (const auto version = read(member(root, "schema_version").as_int()); version != golden::kVectorsSchemaVersion) {
    throw Unreadable{member(root, "schema_version")
                         .error(ErrorKind::unsupported_version, formatted("{}", golden::kVectorsSchemaVersion))};
  }
  return {.stack = std::string(read(member(root, "stack").as_string())),
          .layer = read(member(root, "layer").as_int()),
          .tokens = whole_or_null(root, "tokens"),
          .start = whole_or_null(root, "start"),
          .length = whole_or_null(root, "length"),
          .cross = read(member(root, "cross").as_bool())};
}

VectorFormat format_of(const JsonValue& root) {
  const JsonValue value = member(root, "format");
  const std::string_view text = read(value.as_string());
  for (const VectorFormat format : {VectorFormat::npy, VectorFormat::safetensors, VectorFormat::json, VectorFormat::c,
                                    VectorFormat::rust, VectorFormat::python}) {
    if (name(format) == text) return format;
  }
  throw Unreadable{value.error(ErrorKind::bad_value, "a format of vectors")};
}

// The numbers of one tensor, from the manifest or from a file beside it.
class NumberReader {
 public:
  NumberReader(const std::filesystem::path& directory, const JsonValue& root)
      : directory_(directory), entries_(member(root, "tensors")), format_(format_of(root)) {
    if (format_ == VectorFormat::safetensors) {
      files_.emplace(std::string(golden::kSafetensors), read(open_tensor_file(directory / golden::kSafetensors)));
    }
  }

  // Of the shape that the plan makes it.
  void read_into(VectorTensor& tensor) {
    const JsonValue entry = member(entries_, tensor.name);
    const std::vector<double> shape = numbers(member(entry, "shape"), tensor.shape.size(), false);
    if (!std::ranges::equal(shape, tensor.shape,
                            [](double a, std::int64_t b) { return a == static_cast<double>(b); })) {
      throw Unreadable{
          member(entry, "shape").error(ErrorKind::length_mismatch, formatted("[{}]", joined(tensor.shape, ", ")))};
    }
    const std::size_t count = tensor.values.size();
    tensor.values =
        golden::has_tensor_files(format_) ? from_file(tensor) : numbers(member(entry, "values"), count, true);
    for (const double x : tensor.values) require_number(tensor, x);
  }

  void require_no_more(const std::vector<VectorTensor>& tensors) const {
    for (const JsonValue& item : entries_.items()) {
      if (std::ranges::find(tensors, item.key(), &VectorTensor::name) != tensors.end()) continue;
      throw Unreadable{item.error(ErrorKind::bad_value, "a tensor that the plan's layer has")};
    }
  }

 private:
  std::vector<double> from_file(const VectorTensor& tensor) {
    const std::string file = golden::file_of(tensor, format_);
    const auto open = files_.find(file);
    const TensorData data =
        open != files_.end() ? read(open->second.read(tensor.name)) : read(read_tensor(directory_ / file));
    const ElementType wanted = tensor.is_whole ? ElementType::i64 : ElementType::f64;
    const bool fits = data.type() == wanted && std::ranges::equal(data.shape(), tensor.shape);
    if (!fits) {
      throw Unreadable{{.kind = ErrorKind::bad_tensor,
                        .file = (directory_ / file).native(),
                        .path = tensor.name,
                        .expected = formatted("{} [{}]", name(wanted), joined(tensor.shape, ", ")),
                        .got = formatted("{} [{}]", name(data.type()), joined(data.shape(), ", ")),
                        .detail = {}}};
    }
    std::vector<double> out;
    out.reserve(tensor.values.size());
    // In the order of the shape, whatever that of the file is.
    std::vector<std::int64_t> at(tensor.shape.size());
    for (std::size_t n = 0; n < tensor.values.size(); ++n) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) offset += at[axis] * data.strides()[axis];
      const auto* const from = data.bytes().data() + offset * 8;
      std::int64_t whole = 0;
      double real = 0.0;
      std::memcpy(&whole, from, sizeof whole);
      std::memcpy(&real, from, sizeof real);
      out.push_back(tensor.is_whole ? static_cast<double>(whole) : real);
      for (std::size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < tensor.shape[axis]) break;
        at[axis] = 0;
      }
    }
    return out;
  }

  // Hidden scores are -inf, everything else is finite.
  void require_number(const VectorTensor& tensor, double x) const {
    const bool is_hidden = tensor.name == "scores" && std::isinf(x) && x < 0;
    const bool is_sound = tensor.is_whole ? x == std::floor(x) && std::abs(x) <= 0x1p53 : std::isfinite(x);
    if (is_hidden || is_sound) return;
    throw Unreadable{{.kind = ErrorKind::not_finite,
                      .file = directory_.native(),
                      .path = tensor.name,
                      .expected = tensor.is_whole ? "whole numbers" : "finite numbers",
                      .got = formatted("{}", x),
                      .detail = {}}};
  }

  const std::filesystem::path& directory_;
  JsonValue entries_;
  VectorFormat format_;
  std::map<std::string, TensorFile> files_;
};

void read_bounds(const JsonValue& root, std::vector<VectorBounds>& to) {
  const JsonValue all = member(root, "bounds");
  for (VectorBounds& of_dtype : to) {
    const JsonValue bounds = member(all, golden::dtype_word(of_dtype.dtype));
    for (VectorBound& bound : of_dtype.bounds) {
      const JsonValue entry = member(bounds, bound.tensor);
      bound.relative = read(member(entry, "relative").as_double());
      bound.absolute = numbers(member(entry, "absolute"), bound.absolute.size(), false);
      const bool is_sound = bound.relative >= 0 && std::ranges::all_of(bound.absolute, [](double x) { return x >= 0; });
      if (!is_sound) throw Unreadable{entry.error(ErrorKind::out_of_range, "bounds of at least 0")};
    }
  }
}

Vectors read_directory(const std::filesystem::path& directory) {
  const std::filesystem::path at = directory / golden::kManifest;
  const std::string text = read(io::read_text_file(at, io::kMaxJsonBytes));
  const JsonDocument document = read(JsonDocument::parse(text, at.native()));
  const std::filesystem::path plan_at = directory / golden::kPlan;
  const std::string plan_text = read(io::read_text_file(plan_at, io::kMaxJsonBytes));
  const Plan plan = read(plan_from_json(plan_text, plan_at.native()));
  const JsonValue root = document.root();
  const VectorOptions options = options_of(root);
  Vectors out;
  try {
    out = make_vectors(plan, options);
  } catch (const Error& error) {
    throw Unreadable{{.kind = ErrorKind::bad_plan,
                      .file = plan_at.native(),
                      .path = {},
                      .expected = "a plan with the layer of vectors.json",
                      .got = error.what(),
                      .detail = {}}};
  }
  NumberReader reader(directory, root);
  for (VectorTensor& tensor : out.tensors) reader.read_into(tensor);
  reader.require_no_more(out.tensors);
  read_bounds(root, out.bounds);
  return out;
}

}  // namespace

Result<Vectors> read_vectors(const std::filesystem::path& directory) {
  try {
    return read_directory(directory);
  } catch (const Unreadable& unreadable) {
    return unreadable.error;
  }
}

}  // namespace posenc::inline v0_2
