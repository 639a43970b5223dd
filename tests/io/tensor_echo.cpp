// Shows a file of tensors as posenc reads it, for comparison with other readers (tensor_oracles.py).
//
//   tensor_echo list FILE FOLDER [map] [bf16]   prints JSON; the data of tensor I, in C order, goes to FOLDER/I
//   tensor_echo npy FILE OUT [bf16]             reads the only tensor and writes it
//   tensor_echo safetensors FILE OUT [bf16]     reads all and writes them, with their metadata
//
// What cannot be read is {"error": ...}.
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_writer.h"
#include "posenc/tensor_file.h"

namespace {

using posenc::ElementType;
using posenc::Result;
using posenc::TensorData;
using posenc::TensorEntry;
using posenc::TensorFile;

int print_error(const posenc::FileError& error) {
  posenc::io::JsonWriter json;
  json.begin_object();
  json.member("error", error.message());
  json.member("kind", posenc::name(error.kind));
  json.end_object();
  std::puts(json.take().c_str());
  return 0;
}

// Element by element along the strides, so that Fortran order shows as what it means.
std::string in_c_order(const TensorData& data) {
  const auto width = static_cast<std::int64_t>(posenc::bits_of(data.type()) / 8);
  std::string out;
  if (data.bytes().empty()) return out;
  if (width == 0) return {reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size()};
  std::vector<std::int64_t> at(data.shape().size());
  for (;;) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) place += at[axis] * data.strides()[axis];
    const auto element = data.bytes().subspan(static_cast<std::size_t>(place * width), static_cast<std::size_t>(width));
    out.append(reinterpret_cast<const char*>(element.data()), element.size());
    std::size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == data.shape()[axis - 1]) at[--axis] = 0;
    if (axis == 0) return out;
  }
}

int list(const TensorFile& file, const std::string& folder) {
  posenc::io::JsonWriter json;
  json.begin_object();
  json.member("format", posenc::name(file.format()));
  json.key("metadata");
  json.begin_object();
  for (const auto& [key, value] : file.metadata()) json.member(key, value);
  json.end_object();
  json.key("warnings");
  json.begin_array();
  for (const posenc::Warning& warning : file.warnings()) json.value(warning.code);
  json.end_array();
  json.key("tensors");
  json.begin_array();
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorEntry& entry = file.tensors()[i];
    json.begin_object();
    json.member("name", entry.name);
    json.member("type", posenc::name(entry.type));
    json.member("type_name", entry.type_name);
    json.key("shape");
    json.numbers(std::span<const std::int64_t>(entry.shape));
    json.member("bytes", entry.bytes);
    const Result<TensorData> data = file.read(static_cast<std::int64_t>(i));
    if (data) {
      json.member("owned", data->owned());
      const std::string elements = in_c_order(*data);
      std::ofstream(folder + "/" + std::to_string(i), std::ios::binary) << elements;
    } else {
      json.member("error", data.error().message());
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  std::puts(json.take().c_str());
  return 0;
}

int write_npy(const TensorFile& file, const std::string& out) {
  const Result<TensorData> data = file.read(0);
  if (!data) return print_error(data.error());
  const Result<std::int64_t> written = posenc::write_npy(out, data->view(), {.replace = true});
  return written ? 0 : print_error(written.error());
}

int write_safetensors(const TensorFile& file, const std::string& out) {
  std::vector<TensorData> all;
  std::vector<posenc::NamedTensor> named;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    Result<TensorData> data = file.read(static_cast<std::int64_t>(i));
    if (!data) return print_error(data.error());
    all.push_back(std::move(*data));
    const std::string& name = file.tensors()[i].name;
    named.push_back({name.empty() ? "array" : std::string_view(name), all.back().view()});
  }
  const Result<std::int64_t> written = posenc::write_safetensors(out, named, file.metadata(), {.replace = true});
  return written ? 0 : print_error(written.error());
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 3) return 2;
  posenc::TensorFileOptions options;
  for (const std::string& word : arguments) {
    if (word == "map") options.access = posenc::DataAccess::map;
    if (word == "bf16") options.raw16_is_bf16 = true;
  }
  const Result<TensorFile> file = posenc::open_tensor_file(arguments[1], options);
  if (!file) return print_error(file.error());
  if (arguments[0] == "npy") return write_npy(*file, arguments[2]);
  if (arguments[0] == "safetensors") return write_safetensors(*file, arguments[2]);
  return list(*file, arguments[2]);
}
