// posenc inspect --set ... --patch: how others are told what --set says.
#pragma once

#include "line/command_line.h"
#include "line/page.h"
#include "posenc/override_plan.h"

namespace posenc::tool {

// A section: what it is for, the patch or the flags ready to be copied, and what the form cannot say.
void add_patch(Page& page, const OverridePatch& patch);

int run_override_patches(const InspectArguments& arguments);

}  // namespace posenc::tool
