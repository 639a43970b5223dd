// info() of posenc/info.h: version, compiler, build type, processor and instruction sets, as `posenc info` prints them.
#include "posenc/info.h"

#include "base/formatted.h"
#include "cpu/machine/machine.h"
#include "posenc/version.h"

namespace posenc::inline v0_2 {

Info info() {
  return {
      .version = formatted("{}.{}.{}", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH),
      .compiler = POSENC_COMPILER,
      .build_type = POSENC_BUILD_TYPE,
      .cpu = cpu::processor_name(),
      .cpu_features = cpu::processor_features(),
      .isas = supported_isas(),
      .selected = selected_isa(),
  };
}

}  // namespace posenc::inline v0_2
