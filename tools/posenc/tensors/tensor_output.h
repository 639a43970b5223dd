// The file that -o names: what stands in its way, and how it is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "line/progress.h"
#include "posenc/tensor_file.h"
#include "tensors/rotation_record.h"

namespace posenc::tool {

// Throws Failure where a file is there already (unless `force` replaces it) or its folder is not: told before minutes
// of work and not after. The writer looks again.
void check_output(const std::string& out, bool force);

// The bytes written: .npy of the one tensor, which has no place for metadata, or safetensors. A signal that comes
// meanwhile ends the process when what is half written is gone. Throws Failure.
std::int64_t write_tensors(const std::string& out, std::span<const NamedTensor> tensors, const Metadata& metadata,
                           bool force, Progress& progress);

}  // namespace posenc::tool
