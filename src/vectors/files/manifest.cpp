// vectors.json (docs/vectors.schema.json): what the vectors are of, their tensors, and the bounds. Its bytes are a
// function of the plan and the options.
#include <cmath>

#include "base/formatted.h"
#include "io/json/json_writer.h"
#include "vectors/files/vector_files.h"

namespace posenc::inline v0_2::golden {
namespace {

using io::JsonLayout;
using io::JsonWriter;

void write_whole_or_null(JsonWriter& json, std::string_view key, std::optional<std::int64_t> value) {
  json.key(key);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_sentences(JsonWriter& json, std::string_view key, const std::vector<std::string>& sentences) {
  json.key(key);
  json.begin_array();
  for (const std::string& sentence : sentences) json.value(sentence);
  json.end_array();
}

// Hidden scores are null: JSON has no infinity.
void write_values(JsonWriter& json, const VectorTensor& tensor) {
  json.key("values");
  json.begin_array(JsonLayout::line);
  for (const double x : tensor.values) {
    if (tensor.is_whole) {
      json.value(static_cast<std::int64_t>(x));
    } else {
      json.value(x);
    }
  }
  json.end_array();
}

void write_tensors(JsonWriter& json, const Vectors& vectors, VectorFormat format) {
  json.key("tensors");
  json.begin_object();
  for (const VectorTensor& tensor : vectors.tensors) {
    json.key(tensor.name);
    json.begin_object(JsonLayout::line);
    json.member("kind", tensor.is_input ? "input" : "result");
    json.member("dtype", tensor.is_whole ? "i64" : "f64");
    json.member("axes", tensor.axes);
    json.key("shape");
    json.numbers(std::span(tensor.shape));
    if (has_tensor_files(format)) {
      json.member("file", file_of(tensor, format));
    } else {
      write_values(json, tensor);
    }
    json.end_object();
  }
  json.end_object();
}

void write_bounds(JsonWriter& json, const Vectors& vectors) {
  json.key("bounds");
  json.begin_object();
  for (const VectorBounds& of_dtype : vectors.bounds) {
    json.key(dtype_word(of_dtype.dtype));
    json.begin_object();
    for (const VectorBound& bound : of_dtype.bounds) {
      json.key(bound.tensor);
      json.begin_object(JsonLayout::line);
      json.member("relative", bound.relative);
      json.key("absolute");
      json.numbers(std::span(bound.absolute));
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace

bool has_tensor_files(VectorFormat format) {
  return format == VectorFormat::npy || format == VectorFormat::safetensors;
}

std::string file_of(const VectorTensor& tensor, VectorFormat format) {
  return format == VectorFormat::npy ? tensor.name + ".npy" : std::string(kSafetensors);
}

std::string manifest(const Vectors& vectors, const VectorFileOptions& options) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", kVectorsSchemaVersion);
  json.member("model", vectors.plan.source.name);
  json.member("model_type", vectors.plan.model_type);
  json.member("stack", vectors.stack);
  json.member("layer", vectors.layer.index);
  json.member("cross", vectors.options.cross);
  write_whole_or_null(json, "tokens", vectors.options.tokens);
  write_whole_or_null(json, "start", vectors.options.start);
  write_whole_or_null(json, "length", vectors.options.length);
  json.member("heads", vectors.layer.heads);
  json.member("kv_heads", vectors.layer.kv_heads);
  json.member("head_dim", vectors.layer.head_dim);
  json.member("value_dim", vectors.layer.value_dim);
  json.member("model_heads", vectors.plan_heads);
  json.member("model_kv_heads", vectors.plan_kv_heads);
  json.member("softmax_scale", vectors.layer.softmax_scale);
  json.key("attention_factor");
  json.numbers(std::span(vectors.attention_factor));
  write_sentences(json, "facts", vectors.facts);
  write_sentences(json, "left_out", vectors.left_out);
  json.key("sources");
  json.begin_object();
  for (const ValueSource& source : vectors.sources) json.member(source.where, source.from);
  json.end_object();
  json.member("format", name(options.format));
  write_bounds(json, vectors);
  write_tensors(json, vectors, options.format);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace posenc::inline v0_2::golden
