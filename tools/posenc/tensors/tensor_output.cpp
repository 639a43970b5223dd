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

std::int64_t bytes_of(const ConstTensorView& x) {
  std::int64_t out = posenc::bytes_of(x.dtype);
  for (int axis = 0; axis < x.rank; ++axis) out *= x.shape[static_cast<std::size_t>(axis)];
  return out;
}

}  // namespace

void check_output(const std::string& out, bool force) {
  const std::filesystem::path path(out);
  std::error_code failed;
  const auto type = std::filesystem::symlink_status(path, failed).type();
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none && !force) {
    throw failure(kFile, formatted("-o: {}: file exists; --force overwrites it", printable(out)));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, failed)) {
    throw failure(kFile, formatted("-o: {}: no such directory: {}", printable(out), printable(folder.native())));
  }
}

std::int64_t write_tensors(const std::string& out, std::span<const NamedTensor> tensors, bool force,
                           Progress& progress) {
  std::int64_t all = 0;
  for (const NamedTensor& one : tensors) all += bytes_of(one.tensor);
  const HeldSignals held;
  const WriteOptions options{.replace = force, .keep_going = [&](std::int64_t bytes) {
                               progress.show("writing " + printable(out), std::min(bytes, all), all);
                               return !HeldSignals::came();
                             }};
  const Result<std::int64_t> written = out.ends_with(".npy") ? write_npy(out, tensors.front().tensor, options)
                                                             : write_safetensors(out, tensors, {}, options);
  progress.wipe();
  if (!written) throw failure(exit_code_of(written.error()), "-o: " + written.error().message());
  return *written;
}

}  // namespace posenc::tool
