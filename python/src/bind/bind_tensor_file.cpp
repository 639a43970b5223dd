// Files of tensors: read and written.
// Readers return posenc's own TensorFile and TensorData; writers take arrays of any library. Files are opened, read and
// written without the GIL. What is wrong with a file is posenc.FileError (file_error.h).
#include <deque>
#include <filesystem>
#include <functional>
#include <map>

#include "arrays/arrays.h"
#include "arrays/tensor_data.h"
#include "describe/describe_plan.h"
#include "describe/describe_tensor_file.h"
#include "describe/value_type.h"
#include "file_error.h"
#include "module.h"
#include "posenc/write_file.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

// os.fsencode takes str, bytes and os.PathLike, and raises TypeError for the rest; a name of a file is bytes.
std::filesystem::path path_of(nb::handle path) {
  const nb::object bytes = nb::module_::import_("os").attr("fsencode")(path);
  return std::string(PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
}

// ---- reading ----

// The options as they were given; options() checks them and names `where` in errors.
struct OptionWords {
  nb::handle format;
  nb::handle access;
  bool raw16_is_bf16;

  TensorFileOptions options(const char* where) const {
    return {.format = Convert<std::optional<TensorFormat>>::from_python(format, {where, "format"}),
            .access = Convert<DataAccess>::from_python(access, {where, "access"}),
            .raw16_is_bf16 = raw16_is_bf16};
  }
};

// file: bytes, which are seen where they lie and kept by keep_alive below, or a path.
Result<TensorFile> opened(nb::handle file, const std::string& name, const TensorFileOptions& options) {
  if (PyBytes_Check(file.ptr()) != 0) {
    const std::string_view text(PyBytes_AsString(file.ptr()), static_cast<std::size_t>(PyBytes_Size(file.ptr())));
    const nb::gil_scoped_release released;
    return open_tensor_file(std::as_bytes(std::span(text)), name, options);
  }
  const std::filesystem::path path = path_of(file);
  const nb::gil_scoped_release released;
  return open_tensor_file(path, options);
}

// which: a name, or an index into tensors().
template <typename Which>
Result<TensorData> elements(const TensorFile& file, const Which& which) {
  const nb::gil_scoped_release released;
  return file.read(which);
}

TensorData read_call(const TensorFile& file, nb::handle which) {
  if (nb::isinstance<nb::str>(which)) return value_or_raise(elements(file, nb::cast<std::string>(which)));
  return value_or_raise(elements(file, Convert<std::int64_t>::from_python(which, {"TensorFile.read", "which"})));
}

void bind_tensor_file_class(nb::module_& m) {
  const auto file = [](nb::handle self) -> const TensorFile& { return *nb::inst_ptr<TensorFile>(self); };
  nb::class_<TensorFile>(m, "TensorFile", nb::is_final(),
                         "A file of tensors, made by open_tensor_file. It never changes: threads may read from it at "
                         "once.")
      .def_prop_ro(
          "format", [=](nb::handle self) { return Convert<TensorFormat>::to_python(file(self).format(), {}); },
          nb::for_getter(nb::sig(("def format(self) -> " + Convert<TensorFormat>::type()).c_str())))
      .def_prop_ro(
          "tensors",
          [=](nb::handle self) {
            const auto entries = file(self).tensors();
            return Convert<std::vector<TensorEntry>>::to_python({entries.begin(), entries.end()}, {});
          },
          nb::for_getter(nb::sig("def tensors(self) -> tuple[TensorEntry, ...]")),
          "In the order of their data; of an index, one shard after another.")
      .def_prop_ro(
          "metadata",
          [=](nb::handle self) {
            nb::dict texts;
            for (const auto& [key, text] : file(self).metadata()) texts[nb::cast(key)] = text;
            return texts;
          },
          nb::for_getter(nb::sig("def metadata(self) -> dict[str, str]")), "__metadata__ of safetensors.")
      .def_prop_ro(
          "warnings",
          [=](nb::handle self) { return Convert<std::vector<Warning>>::to_python(file(self).warnings(), {}); },
          nb::for_getter(nb::sig("def warnings(self) -> tuple[Warning, ...]")))
      .def(
          "file_of", [](const TensorFile& self, const TensorEntry& entry) { return std::string(self.file_of(entry)); },
          nb::arg("entry"), "The file that has the data of one of `tensors`.")
      .def(
          "find",
          [=](nb::handle self, const std::string& name) -> nb::object {
            const TensorEntry* entry = file(self).find(name);
            return entry == nullptr ? nb::none() : Convert<TensorEntry>::to_python(*entry, {});
          },
          nb::arg("name"), nb::sig("def find(self, name: str) -> TensorEntry | None"))
      .def(
          // keep_alive<0, 1>: the data may lie in the file's mapping, so the TensorFile lives as long as it.
          "read", &read_call, nb::arg("which"), nb::keep_alive<0, 1>(),
          nb::sig("def read(self, which: str | int) -> TensorData"),
          "The elements of a tensor, by its name or its place in `tensors`, in the machine's byte order. FileError for "
          "a name that is not there, for a type of blocks (Q4_K), and where the file was cut short since it was "
          "opened.");
}

void bind_reading(nb::module_& m) {
  const std::string options = "format: " + Convert<TensorFormat>::type() + " | None = None, ";
  m.def(
      "open_tensor_file",
      [](nb::handle file, const std::string& name, nb::handle format, nb::handle access, bool raw16_is_bf16) {
        return value_or_raise(
            opened(file, name, OptionWords{format, access, raw16_is_bf16}.options("open_tensor_file")));
      },
      nb::arg("file"), nb::kw_only(), nb::arg("name") = "bytes", nb::arg("format") = nb::none(),
      nb::arg("access") = "read", nb::arg("raw16_is_bf16") = false, nb::keep_alive<0, 1>(),  // bytes
      nb::sig(("def open_tensor_file(file: str | os.PathLike[str] | bytes, *, name: str = 'bytes', " + options +
               "access: " + Convert<DataAccess>::type() + " = 'read', raw16_is_bf16: bool = False) -> TensorFile")
                  .c_str()),
      "The tensors of a .npy, safetensors, GGUF or llama2.c file, of an index of shards (.index.json), or of bytes, "
      "which are not copied; `name` stands for them in errors.\n\n"
      "The header is read and checked; data is read when it is asked for. access: 'map' gives data without a copy "
      "where it can be used as it lies; a mapped file that another process cuts short ends this process. "
      "raw16_is_bf16: '<V2' (what NumPy writes with ml_dtypes) and '<u2' of .npy are bfloat16. FileError for what "
      "cannot be read, and says where.");
  m.def(
      "read_tensor",
      [](nb::handle path, const std::string& name, nb::handle format, bool raw16_is_bf16) {
        const nb::str access("read");
        const TensorFileOptions how = OptionWords{format, access, raw16_is_bf16}.options("read_tensor");
        const std::filesystem::path file = path_of(path);
        const auto read = [&] {
          const nb::gil_scoped_release released;
          return read_tensor(file, name, how);
        };
        return value_or_raise(read());
      },
      nb::arg("path"), nb::arg("name") = "", nb::kw_only(), nb::arg("format") = nb::none(),
      nb::arg("raw16_is_bf16") = false,
      nb::sig(("def read_tensor(path: str | os.PathLike[str], name: str = '', *, " + options +
               "raw16_is_bf16: bool = False) -> TensorData")
                  .c_str()),
      "One tensor of a file. Without a name: the only one, or a FileError that says how many there are.");
}

// ---- writing ----

using Progress = std::function<bool(std::int64_t)>;

// Asked while a file is written: Ctrl-C, then the caller's own function of the bytes so far.
// Called without the GIL. An exception of `progress` passes through the library, which removes its file on the way.
Progress going_on(nb::handle progress) {
  return [watch = SignalWatch(), progress](std::int64_t bytes) mutable {
    if (!watch()) return false;
    const nb::gil_scoped_acquire held;
    if (!progress.is_none()) progress(bytes);
    return true;
  };
}

// write(options): the library's function, run without the GIL. Returns how many bytes it wrote.
template <typename Write>
std::int64_t written(Write write, bool replace, nb::handle progress) {
  const WriteOptions options{.replace = replace, .keep_going = going_on(progress)};
  const auto call = [&] {
    const nb::gil_scoped_release released;
    return write(options);
  };
  Result<std::int64_t> bytes = call();
  // Ctrl-C: KeyboardInterrupt, not the FileError of a write that was given up.
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return value_or_raise(std::move(bytes));
}

// Returns how many bytes were written. tensor: any strides; the file is in C order.
std::int64_t npy_call(nb::handle path, nb::handle tensor, bool replace, nb::handle progress) {
  const Place place{"write_npy", "tensor"};
  const ConstArray array(tensor, place);
  const std::filesystem::path file = path_of(path);
  return written([&](const WriteOptions& options) { return write_npy(file, array.view(), options); }, replace,
                 progress);
}

// tensors, metadata: mappings with str keys. Deques, so that the names and arrays that `all` points to stay in place.
std::int64_t safetensors_call(nb::handle path, const nb::object& tensors, const nb::object& metadata, bool replace,
                              nb::handle progress) {
  const char* where = "write_safetensors";
  std::deque<std::string> names;
  std::deque<ConstArray> arrays;
  std::vector<NamedTensor> all;
  for (const nb::handle item : nb::iter(tensors.attr("items")())) {
    const nb::tuple pair(nb::borrow(item));
    names.push_back(Convert<std::string>::from_python(pair[0], {where, "tensors"}));
    all.push_back({names.back(), arrays.emplace_back(pair[1], Place{where, names.back()}).view()});
  }
  std::map<std::string, std::string> texts;
  const nb::object given = metadata.is_none() ? nb::dict() : metadata;
  for (const nb::handle item : nb::iter(given.attr("items")())) {
    const nb::tuple pair(nb::borrow(item));
    texts[Convert<std::string>::from_python(pair[0], {where, "metadata"})] =
        Convert<std::string>::from_python(pair[1], {where, "metadata"});
  }
  const std::filesystem::path file = path_of(path);
  return written([&](const WriteOptions& options) { return write_safetensors(file, all, texts, options); }, replace,
                 progress);
}

void bind_writing(nb::module_& m) {
  const std::string how =
      "replace: bool = False, progress: collections.abc.Callable[[int], object] | None = None) -> int";
  m.def("write_npy", &npy_call, nb::arg("path"), nb::arg("tensor"), nb::kw_only(), nb::arg("replace") = false,
        nb::arg("progress") = nb::none(),
        nb::sig(with_array_types("def write_npy(path: str | os.PathLike[str], tensor: ArrayLike, *, " + how).c_str()),
        "A .npy file, of float32, float16, bfloat16 ('<V2') or float64, in C order; returns its bytes.\n\n"
        "The path is what it was or the whole new file at every moment, also after an error or Ctrl-C. replace: a "
        "regular file of that name. progress: called every 16 MiB with the bytes so far; what it raises ends the call. "
        "FileError where a file exists, or the disk is full.");
  m.def("write_safetensors", &safetensors_call, nb::arg("path"), nb::arg("tensors"), nb::kw_only(),
        nb::arg("metadata") = nb::none(), nb::arg("replace") = false, nb::arg("progress") = nb::none(),
        nb::sig(with_array_types("def write_safetensors(path: str | os.PathLike[str], tensors: "
                                 "collections.abc.Mapping[str, ArrayLike], *, metadata: "
                                 "collections.abc.Mapping[str, str] | None = None, " +
                                 how)
                    .c_str()),
        "A safetensors file, the very bytes that the package of that name writes; returns how many. Else as "
        "write_npy. ValueError for a name that is empty or '__metadata__'.");
  m.def(
      "write_file",
      [](nb::handle path, const nb::bytes& bytes, bool replace, nb::handle progress) {
        const std::filesystem::path file = path_of(path);
        const std::string_view text(bytes.c_str(), bytes.size());
        return written([&](const WriteOptions& options) { return write_file(file, text, options); }, replace, progress);
      },
      nb::arg("path"), nb::arg("bytes"), nb::kw_only(), nb::arg("replace") = false, nb::arg("progress") = nb::none(),
      nb::sig(("def write_file(path: str | os.PathLike[str], bytes: bytes, *, " + how).c_str()),
      "A file that is whole or not there; returns its bytes. Else as write_npy.");
}

}  // namespace

void bind_tensor_file(nb::module_& m) {
  bind_value<TensorEntry>(m);
  bind_tensor_data(m);
  bind_tensor_file_class(m);
  bind_reading(m);
  bind_writing(m);
}

}  // namespace posenc::python
