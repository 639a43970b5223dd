// The file that -o names: checked before the work; .npy or safetensors, written whole or not at all, even on a signal.
#include "tensors/tensor_output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// Of the elements, as they are written: without gaps and without the header.
std::int64_t bytes_of(const ConstTensorView& x) {
  std::int64_t out = posenc::bytes_of(x.dtype);
  for (int axis = 0; axis < x.rank; ++axis) out *= x.shape[static_cast<std::size_t>(axis)];
  return out;
}

}  // namespace

void check_output(const std::string& out, bool force) {
  const std::filesystem::path path(out);
  std::error_code failed;
  // A symbolic link counts as a file, wherever it points: the writer does not follow it. `none`: it cannot be told (no
  // permission for the folder), which the writer will report.
  const auto type = std::filesystem::symlink_status(path, failed).type();
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none && !force) {
    throw failure(kFile, formatted("-o: {}: file exists; --force overwrites it", printable(out)));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, failed)) {
    throw failure(kFile, formatted("-o: {}: no such directory: {}", printable(out), printable(folder.native())));
  }
}

std::int64_t write_tensors(const std::string& out, std::span<const NamedTensor> tensors, const Metadata& metadata,
                           bool force, Progress& progress) {
  std::int64_t all = 0;
  for (const NamedTensor& one : tensors) all += bytes_of(one.tensor);
  // Until the file is complete, or gone; outside this function Ctrl-C ends the process at once.
  const HeldSignals held;
  // keep_going counts the header too, of which `all` knows nothing. False, after a signal, has the writer remove its
  // file.
  const WriteOptions options{.replace = force, .keep_going = [&](std::int64_t bytes) {
                               progress.show("writing " + printable(out), std::min(bytes, all), all);
                               return !HeldSignals::came();
                             }};
  const Result<std::int64_t> written = out.ends_with(".npy") ? write_npy(out, tensors.front().tensor, options)
                                                             : write_safetensors(out, tensors, metadata, options);
  progress.wipe();
  if (!written) throw failure(exit_code_of(written.error()), "-o: " + written.error().message());
  return *written;
}

}  // namespace posenc::tool
