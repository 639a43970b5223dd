// Ways to a longer context for C: posenc_extend (posenc/extend.h), in the caller's memory.
#include "posenc/extend.h"

#include <string_view>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"

namespace c = posenc::c;

posenc_status posenc_extend(const posenc_plan* plan, const posenc_extend_options* options, char* text, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_extend";
    const posenc::Plan& of = c::required(kWhere, "plan", plan).plan;
    const posenc_extend_options& given = c::sized(kWhere, "options", options);
    c::require_reserved(kWhere, "options->reserved", given.reserved);
    posenc::ExtendOptions wanted;
    wanted.to = given.to;
    if (given.from != 0) wanted.from = given.from;
    wanted.q = c::view(kWhere, "options->q", given.q);
    wanted.k = c::view(kWhere, "options->k", given.k);
    std::size_t& room = c::required(kWhere, "size", size);
    const std::string_view config = given.config_json == nullptr ? std::string_view() : given.config_json;
    const posenc::ExtensionStudy study = study_extension(of, wanted, config);
    c::give_text(kWhere, given.json != 0 ? to_json(study) : describe(study), text, room);
  });
}
