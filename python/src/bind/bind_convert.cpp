// A checkpoint's q and k projections to the other pairing. What names a model: posenc/_convert.py.
#include <filesystem>
#include <optional>
#include <string>

#include "describe/describe_convert.h"
#include "describe/value_type.h"
#include "file_error.h"
#include "module.h"
#include "posenc/convert.h"
#include "signal_watch.h"

namespace posenc::python {
namespace {

std::filesystem::path path_of_bytes(const nb::bytes& path) { return std::string(path.c_str(), path.size()); }

// Paths as os.fsencode gives them. progress: called with the stage, the bytes done and all of them; what it raises ends
// the call, and what was written stays for the next one.
Conversion converted(const nb::bytes& source, const nb::bytes& output, nb::handle to, nb::handle from, const Plan* plan,
                     const std::string& stack, nb::handle padded, bool again, bool replace, bool dry_run,
                     nb::handle progress) {
  const char* where = "convert";
  ConvertArgs args{
      .source = path_of_bytes(source),
      .output = path_of_bytes(output),
      .to = Convert<Pairing>::from_python(to, {where, "to"}),
      .from = Convert<std::optional<Pairing>>::from_python(from, {where, "from_"}),
      .plan = plan,
      .stack = stack,
      .padded_head_dim = Convert<std::optional<std::int64_t>>::from_python(padded, {where, "padded_head_dim"}),
      .again = again,
      .replace = replace,
      .dry_run = dry_run};
  args.keep_going = [watch = SignalWatch(), progress](ConvertStage stage, std::int64_t done, std::int64_t all) mutable {
    if (!watch()) return false;
    const nb::gil_scoped_acquire held;
    if (!progress.is_none()) progress(stage == ConvertStage::copying ? "copying" : "checking", done, all);
    return true;
  };
  const auto call = [&] {
    const nb::gil_scoped_release released;
    return convert(args);
  };
  Result<Conversion> out = call();
  // Ctrl-C: KeyboardInterrupt, not the FileError of a conversion that was stopped.
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return value_or_raise(std::move(out));
}

}  // namespace

void bind_convert(nb::module_& m) {
  bind_value<ConvertedTensor>(m);
  bind_value<ConfigChange>(m);
  bind_value<Conversion>(m)
      .def(
          "describe", [](const Conversion& conversion) { return describe(conversion); },
          "The totals, one line for each tensor, the notes.")
      .def(
          "to_json", [](const Conversion& conversion) { return to_json(conversion); }, "JSON as docs/convert.md says.");
  m.def(
      "_convert", &converted, nb::arg("source"), nb::arg("output"), nb::kw_only(), nb::arg("to"),
      nb::arg("from_").none() = nb::none(), nb::arg("plan").none() = nb::none(), nb::arg("stack") = "",
      nb::arg("padded_head_dim").none() = nb::none(), nb::arg("again") = false, nb::arg("replace") = false,
      nb::arg("dry_run") = false, nb::arg("progress").none() = nb::none(),
      nb::sig("def _convert(source: bytes, output: bytes, *, to: str, from_: str | None = None, plan: Plan | None = "
              "None, stack: str = '', padded_head_dim: int | None = None, again: bool = False, replace: bool = False, "
              "dry_run: bool = False, progress: collections.abc.Callable[[str, int, int], object] | None = None) -> "
              "Conversion"));
}

}  // namespace posenc::python
