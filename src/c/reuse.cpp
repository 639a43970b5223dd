// posenc_reuse_verdict and posenc_study_cache of posenc/cache/c.h: cache/reuse.h and cache/study_cache.h for C.
#include "posenc/cache/reuse.h"

#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"
#include "posenc/cache/study_cache.h"

namespace posenc::c {
namespace {

std::optional<std::string> stack_if(const char* stack) {
  return stack == nullptr ? std::nullopt : std::optional<std::string>(stack);
}

// An enumerator of C++ for the number; casting any other would be undefined behaviour.
CacheOperation operation_of(const char* where, posenc_cache_operation operation) {
  if (operation >= 0 && operation < kCacheOperations) return static_cast<CacheOperation>(operation);
  throw Error(where,
              {"args->operation", "be from 0 to " + std::to_string(kCacheOperations - 1), std::to_string(operation)});
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_reuse_verdict(const posenc_reuse_args* args, posenc_reuse_verdict_out* verdict, char* text,
                                   size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_reuse_verdict";
    const posenc_reuse_args& given = c::sized(kWhere, "args", args);
    const posenc::Plan& plan = c::required(kWhere, "args->plan", given.plan).plan;
    const posenc::ReuseOptions options{
        .keys = given.keys_rotated != 0 ? posenc::StoredKeys::rotated : posenc::StoredKeys::unrotated,
        .stack = c::stack_if(given.stack),
        .reader = given.reader == nullptr ? nullptr : &given.reader->plan};
    const posenc::ReuseVerdict found =
        reuse_verdict(plan, given.layer, c::operation_of(kWhere, given.operation), options);
    if (text != nullptr || size != nullptr)
      c::give_text(kWhere, to_json(found), text, c::required(kWhere, "size", size));
    if (verdict == nullptr) return;
    *verdict = {.reuse = static_cast<posenc_reuse>(found.reuse),
                .reserved = 0,
                .reach = found.reach.value_or(-1),
                .period = found.period,
                .exact_below = found.exact_below.value_or(0)};
  });
}

posenc_status posenc_study_cache(const posenc_plan* plan, const char* stack, int32_t simulate, int64_t shift_by,
                                 char* text, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_study_cache";
    const posenc::Plan& of = c::required(kWhere, "plan", plan).plan;
    std::size_t& room = c::required(kWhere, "size", size);
    const posenc::CacheStudyOptions options{
        .stack = c::stack_if(stack), .simulate = simulate != 0, .shift_by = shift_by == 0 ? 1 : shift_by};
    c::give_text(kWhere, to_json(study_cache(of, options)), text, room);
  });
}
