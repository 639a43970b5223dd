#include "plan/other_stacks.h"

#include <fmt/compile.h>

namespace posenc::plan {

void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace&, Plan& plan) {
  reader.warn("stack-not-read", fmt::format(FMT_COMPILE("{} describes a stack that is not read."), object.from),
              {object.from});
  plan.known = false;
}

}  // namespace posenc::plan
