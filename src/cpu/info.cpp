#include "posenc/info.h"

#include <fmt/compile.h>

#include "cpu/machine.h"
#include "posenc/version.h"

namespace posenc {

Info info() {
  return {
      .version = fmt::format(FMT_COMPILE("{}.{}.{}"), POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH),
      .compiler = POSENC_COMPILER,
      .build_type = POSENC_BUILD_TYPE,
      .cpu = cpu::processor_name(),
      .cpu_features = cpu::processor_features(),
      .isas = supported_isas(),
      .selected = selected_isa(),
  };
}

}  // namespace posenc
