// Golden vectors for C: made, read, written, looked at, and a port held to them (posenc/vectors.h).
#include "posenc/vectors.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"

namespace posenc::c {
namespace {

VectorOptions options_of(const char* where, const posenc_vectors_options* given) {
  if (given == nullptr) return {};
  const posenc_vectors_options& options = sized(where, "options", given);
  require_reserved(where, "options->reserved", options.reserved);
  VectorOptions out;
  if (options.stack != nullptr) out.stack = options.stack;
  if (options.has_layer != 0) out.layer = options.layer;
  if (options.tokens != 0) out.tokens = options.tokens;
  if (options.has_start != 0) out.start = options.start;
  if (options.length != 0) out.length = options.length;
  out.cross = options.cross != 0;
  return out;
}

std::vector<NamedTensor> named(const char* where, const char* field, const posenc_named_tensor* given,
                               std::int64_t count) {
  std::vector<NamedTensor> out;
  for (const posenc_named_tensor& one : list(where, field, given, count)) {
    out.push_back(
        {&required(where, (std::string(field) + ": a name").c_str(), one.name), view(where, field, one.tensor)});
  }
  return out;
}

// The enumerator of that name, from 0 to `last`.
template <typename E>
E enumerator(const char* where, const char* field, std::string_view word, E last) {
  std::string words;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string_view known = name(static_cast<E>(i));
    if (known == word) return static_cast<E>(i);
    words.append(words.empty() ? "" : ", ").append(known);
  }
  throw Error(where, {field, "be one of " + words, std::string(word)});
}

posenc_status give_vectors(Result<Vectors> vectors, posenc_vectors*& to) {
  if (!vectors) return keep(POSENC_WRONG_FILE, vectors.error().message());
  to = std::make_unique<posenc_vectors>(posenc_vectors{std::move(vectors).value()}).release();
  return POSENC_OK;
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_vectors_of_layer(const posenc_plan* plan, const posenc_vectors_options* options,
                                      posenc_vectors** vectors) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_vectors_of_layer";
    posenc_vectors*& to = c::required(kWhere, "vectors", vectors);
    const posenc::Plan& of = c::required(kWhere, "plan", plan).plan;
    to = std::make_unique<posenc_vectors>(posenc_vectors{make_vectors(of, c::options_of(kWhere, options))}).release();
  });
}

posenc_status posenc_vectors_of_inputs(const posenc_plan* plan, const posenc_vectors_options* options,
                                       const posenc_vectors_inputs* inputs, posenc_vectors** vectors) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_vectors_of_inputs";
    posenc_vectors*& to = c::required(kWhere, "vectors", vectors);
    const posenc::Plan& of = c::required(kWhere, "plan", plan).plan;
    const posenc_vectors_inputs& given = c::sized(kWhere, "inputs", inputs);
    const std::vector<posenc::NamedTensor> tables = c::named(kWhere, "tables", given.tables, given.tables_count);
    const posenc::VectorInputs own{.q = c::view(kWhere, "q", given.q),
                                   .k = c::view(kWhere, "k", given.k),
                                   .v = c::view(kWhere, "v", given.v),
                                   .positions = c::list(kWhere, "positions", given.positions, given.positions_count),
                                   .tables = tables};
    to = std::make_unique<posenc_vectors>(posenc_vectors{make_vectors(of, c::options_of(kWhere, options), own)})
             .release();
  });
}

posenc_status posenc_vectors_read(const char* directory, posenc_vectors** vectors) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_vectors_read";
    posenc_vectors*& to = c::required(kWhere, "vectors", vectors);
    return c::give_vectors(posenc::read_vectors(&c::required(kWhere, "directory", directory)), to);
  });
}

posenc_status posenc_vectors_write(const posenc_vectors* vectors, const char* directory, const char* format,
                                   const char* test) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_vectors_write";
    const posenc::Vectors& of = c::required(kWhere, "vectors", vectors).vectors;
    const std::string to = &c::required(kWhere, "directory", directory);
    posenc::VectorFileOptions options;
    options.format =
        c::enumerator(kWhere, "format", &c::required(kWhere, "format", format), posenc::VectorFormat::python);
    if (test != nullptr) options.test = c::enumerator(kWhere, "test", test, posenc::VectorTest::cargo);
    const posenc::Result<std::int64_t> written = posenc::write_vectors(to, vector_files(of, options));
    return written ? POSENC_OK : c::keep(POSENC_WRONG_FILE, written.error().message());
  });
}

void posenc_vectors_free(posenc_vectors* vectors) { delete vectors; }

posenc_status posenc_vectors_tensor(const posenc_vectors* vectors, const char* name, posenc_tensor* tensor) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_vectors_tensor";
    const posenc::Vectors& of = c::required(kWhere, "vectors", vectors).vectors;
    posenc_tensor& to = c::required(kWhere, "tensor", tensor);
    const posenc::VectorTensor* found = of.find(&c::required(kWhere, "name", name));
    if (found == nullptr) throw posenc::Error(kWhere, {"name", "be a tensor of the vectors", name});
    posenc_tensor out{};
    // C has one type of tensors, for those that are read too.
    out.data = const_cast<double*>(found->values.data());
    out.dtype = POSENC_F64;
    out.rank = static_cast<std::int32_t>(found->shape.size());
    std::int64_t stride = 1;
    for (std::size_t axis = found->shape.size(); axis-- > 0;) {
      out.shape[axis] = found->shape[axis];
      out.strides[axis] = stride;
      stride *= found->shape[axis];
    }
    to = out;
  });
}

posenc_status posenc_check_port(const posenc_check_port_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_check_port";
    const posenc_check_port_args& given = c::sized(kWhere, "args", args);
    const posenc::Vectors& of = c::required(kWhere, "vectors", given.vectors).vectors;
    std::int32_t& passes = c::required(kWhere, "passes", given.passes);
    if (given.json != nullptr) c::required(kWhere, "json_size", given.json_size);
    const std::vector<posenc::NamedTensor> outputs = c::named(kWhere, "outputs", given.outputs, given.outputs_count);
    posenc::CheckPortOptions options;
    if (given.has_dtype != 0) {
      if (given.dtype < POSENC_F32 || given.dtype > POSENC_BF16) {
        throw posenc::Error(kWhere, {"dtype", "be POSENC_F32, POSENC_F16 or POSENC_BF16", std::to_string(given.dtype)});
      }
      options.dtype = static_cast<posenc::DType>(given.dtype);
    }
    const posenc::PortCheck check = posenc::check_port(of, outputs, options);
    passes = check.passes ? 1 : 0;
    if (given.json_size != nullptr) c::give_text(kWhere, to_json(check), given.json, *given.json_size, "*json_size");
  });
}
