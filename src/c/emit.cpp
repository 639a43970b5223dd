// Code of a layer for C: posenc_emit (posenc/emit.h), in the caller's memory.
#include "posenc/emit.h"

#include <string>
#include <string_view>

#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"

namespace posenc::c {
namespace {

EmitTarget target_of(const char* where, std::string_view name_of_it) {
  std::string names;
  for (int at = 0; at <= static_cast<int>(EmitTarget::metal); ++at) {
    const auto target = static_cast<EmitTarget>(at);
    if (name(target) == name_of_it) return target;
    names.append(at == 0 ? "" : ", ").append(name(target));
  }
  throw Error(where, {"options->as", "be one of " + names, std::string(name_of_it)});
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_emit(const posenc_plan* plan, const posenc_emit_options* options, char* text, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_emit";
    const posenc::Plan& of = c::required(kWhere, "plan", plan).plan;
    const posenc_emit_options& given = c::sized(kWhere, "options", options);
    c::require_reserved(kWhere, "options->reserved", given.reserved);
    posenc::EmitOptions wanted{.as = c::target_of(kWhere, &c::required(kWhere, "options->as", given.as)),
                               .cross = given.cross != 0};
    if (given.stack != nullptr) wanted.stack = given.stack;
    if (given.layer != -1) wanted.layer = given.layer;
    std::size_t& room = c::required(kWhere, "size", size);
    c::give_text(kWhere, emit(of, wanted).text, text, room);
  });
}
