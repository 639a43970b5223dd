// posenc_convert of posenc/c.h: convert.h, for C.
#include "posenc/convert.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"

namespace posenc::c {
namespace {

constexpr const char* kConvert = "posenc_convert";

std::optional<Pairing> pairing_if(const char* name, posenc_pairing pairing) {
  switch (pairing) {
    case 0: return {};
    case POSENC_HALF: return Pairing::half;
    case POSENC_INTERLEAVED: return Pairing::interleaved;
    default: break;
  }
  throw Error(kConvert, {name, "be POSENC_HALF or POSENC_INTERLEAVED", std::to_string(pairing)});
}

ConvertArgs arguments_of(const posenc_convert_args& given) {
  const std::optional<Pairing> to = pairing_if("to", given.to);
  if (!to) throw Error(kConvert, {"to", "be POSENC_HALF or POSENC_INTERLEAVED", "not given"});
  if (given.padded_head_dim < 0) {
    throw Error(kConvert, {"padded_head_dim", "be at least 0", std::to_string(given.padded_head_dim)});
  }
  ConvertArgs out{.source = &required(kConvert, "source", given.source),
                  .output = given.output == nullptr ? "" : given.output,
                  .to = *to,
                  .from = pairing_if("from", given.from),
                  .plan = given.plan == nullptr ? nullptr : &given.plan->plan,
                  .stack = given.stack == nullptr ? "" : given.stack,
                  .again = given.again != 0,
                  .replace = given.replace != 0,
                  .dry_run = given.output == nullptr};
  if (given.padded_head_dim > 0) out.padded_head_dim = given.padded_head_dim;
  return out;
}

// As much of the text as fits, and a 0 behind it.
void give_what_fits(const std::string& text, char* to, size_t* size) {
  if (size == nullptr) return;
  const size_t room = *size;
  *size = text.size() + 1;
  if (to == nullptr || room == 0) return;
  const size_t count = std::min(room - 1, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_convert(const posenc_convert_args* args, char* json, size_t* size) {
  return c::guarded([&]() -> posenc_status {
    const posenc_convert_args& given = c::sized(c::kConvert, "args", args);
    posenc::ConvertArgs wanted = c::arguments_of(given);
    bool stopped = false;
    if (given.keep_going != nullptr) {
      wanted.keep_going = [&](posenc::ConvertStage, std::int64_t, std::int64_t) {
        stopped = given.keep_going(given.keep_going_context) == 0;
        return !stopped;
      };
    }
    const posenc::Result<posenc::Conversion> done = posenc::convert(wanted);
    if (!done) return c::keep(stopped ? POSENC_CANCELLED : POSENC_WRONG_FILE, done.error().message());
    c::give_what_fits(posenc::to_json(*done), json, size);
    return POSENC_OK;
  });
}
