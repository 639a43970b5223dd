// Model files to plans. What kinds of arguments name a model: posenc/_read_plan.py.
// _read_path and _read_bytes are the two ends of posenc.read_plan; they raise posenc.FileError (file_error.h). Files
// are read and parsed without the GIL. A path comes as bytes (os.fsencode): file names on Linux are bytes, not text.
#include <filesystem>

#include "file_error.h"
#include "module.h"
#include "posenc/info.h"
#include "posenc/read_plan.h"

namespace posenc::python {
namespace {

std::string_view text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// `path` is copied before the GIL is released; the bytes of `bytes` are not: an object of bytes never changes.
Result<Plan> read_path(const nb::bytes& path, const ReadOptions& options) {
  const std::filesystem::path file(text_of(path));
  const nb::gil_scoped_release released;
  return read_plan(file, options);
}

Result<Plan> read_bytes(const nb::bytes& bytes, const std::string& name, const ReadOptions& options) {
  const std::string_view text = text_of(bytes);
  const nb::gil_scoped_release released;
  return read_plan(std::as_bytes(std::span(text)), name, options);
}

ReadOptions options_of(nb::handle length) {
  return {.length = Convert<std::optional<std::int64_t>>::from_python(length, {"read_plan", "length"})};
}

// A dict with the members of Info, as `posenc info --json` prints them.
nb::dict info_dict() {
  const Info now = info();
  nb::dict facts;
  facts["version"] = now.version;
  facts["compiler"] = now.compiler;
  facts["build_type"] = now.build_type;
  facts["cpu"] = now.cpu;
  facts["cpu_features"] = Convert<std::vector<std::string>>::to_python(now.cpu_features, {});
  facts["isas"] = Convert<std::vector<Isa>>::to_python(now.isas, {});
  facts["selected"] = Convert<Isa>::to_python(now.selected, {});
  return facts;
}

}  // namespace

void bind_read_plan(nb::module_& m) {
  m.def(
      "_read_path",
      [](const nb::bytes& path, nb::handle length) { return value_or_raise(read_path(path, options_of(length))); },
      nb::arg("path"), nb::arg("length").none());
  m.def(
      "_read_bytes",
      [](const nb::bytes& bytes, const std::string& name, nb::handle length) {
        return value_or_raise(read_bytes(bytes, name, options_of(length)));
      },
      nb::arg("bytes"), nb::arg("name"), nb::arg("length").none());
  m.def(
      "presets",
      [] {
        nb::list names;
        for (const Preset& preset : presets()) names.append(std::string(preset.name));
        return nb::tuple(names);
      },
      nb::sig("def presets() -> tuple[str, ...]"), "The names of the models whose position facts are built in.");
  m.def(
      "preset_plan", [](const std::string& name, nb::handle length) { return preset_plan(name, options_of(length)); },
      nb::arg("name"), nb::kw_only(), nb::arg("length") = nb::none(),
      nb::sig("def preset_plan(name: str, *, length: int | None = None) -> Plan"),
      "The plan of a model that is built in. ValueError, naming the nearest presets, when there is none of that name.");
  m.def("info", &info_dict, nb::sig("def info() -> dict[str, typing.Any]"),
        "What this build of posenc is, and what the machine lets it use: version, compiler, build_type, cpu, "
        "cpu_features, isas, selected.");
  m.def(
      "supported_isas", [] { return Convert<std::vector<Isa>>::to_python(supported_isas(), {}); },
      nb::sig(("def supported_isas() -> " + Convert<std::vector<Isa>>::type()).c_str()),
      "What kernels of this build can run on this machine, worst first.");
  m.def(
      "selected_isa", [] { return Convert<Isa>::to_python(selected_isa(), {}); },
      nb::sig(("def selected_isa() -> " + Convert<Isa>::type()).c_str()),
      "What isa='automatic' stands for. ValueError when POSENC_ISA names something else than one of supported_isas().");
  m.def("default_threads", &default_threads,
        "How many threads the process's own pool has: what threads=0 stands for. ValueError while POSENC_THREADS means "
        "nothing.");
}

}  // namespace posenc::python
