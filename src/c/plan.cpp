// Plans for C: posenc_plan_read and its kin (read_plan.h), presets, settings (override_plan.h), and the plan as JSON in
// the caller's memory, in two calls: one that asks for the size and one that fills it.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/arguments.h"
#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"
#include "posenc/override_plan.h"
#include "posenc/read_plan.h"
#include "posenc/version.h"

namespace posenc::c {
namespace {

// A plan becomes a handle in `to`; a FileError becomes a code and a reason, with `to` untouched.
posenc_status give(Result<Plan> plan, posenc_plan*& to) {
  if (!plan) return keep(POSENC_WRONG_FILE, plan.error().message());
  to = std::make_unique<posenc_plan>(posenc_plan{std::move(plan).value()}).release();
  return POSENC_OK;
}

std::vector<std::string> words_of(const char* where, const char* const* settings, std::int64_t count) {
  constexpr std::int64_t kMost = 1024;  // override_plan's own limit: no more texts are looked at than it takes
  std::vector<std::string> words;
  const std::span<const char* const> given = list(where, "settings", settings, count);
  if (count > kMost) throw Error(where, {"count", "be at most " + std::to_string(kMost), std::to_string(count)});
  for (const char* one : given) words.emplace_back(&required(where, "settings", one));
  return words;
}

}  // namespace

const Stack& stack_of(const char* where, const posenc_plan& plan, const char* stack) {
  const std::vector<Stack>& stacks = plan.plan.stacks;
  // NULL is the first stack, the only one of most models.
  const auto found =
      stack == nullptr ? stacks.begin() : std::ranges::find(stacks, std::string_view(stack), &Stack::name);
  if (found == stacks.end()) {
    std::string names;
    for (const Stack& s : stacks) names.append(names.empty() ? "" : ", ").append(s.name);
    throw Error(where, {"stack", "be one of the plan's: " + names, stack == nullptr ? "NULL" : stack});
  }
  return *found;
}

const LayerPlan& layer_of(const char* where, const posenc_plan& plan, const char* stack, std::int64_t layer) {
  const std::vector<LayerPlan>& layers = stack_of(where, plan, stack).layers;
  if (layer < 0 || layer >= std::ssize(layers)) {
    throw Error(where, {"layer", "be at least 0 and below " + std::to_string(layers.size()), std::to_string(layer)});
  }
  return layers[static_cast<std::size_t>(layer)];
}

}  // namespace posenc::c

namespace c = posenc::c;

// Never freed: a string of the library's own.
const char* posenc_version() {
#define POSENC_TEXT_OF(number) #number
#define POSENC_VERSION_TEXT(major, minor, patch) \
  POSENC_TEXT_OF(major) "." POSENC_TEXT_OF(minor) "." POSENC_TEXT_OF(patch)
  return POSENC_VERSION_TEXT(POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH);
#undef POSENC_VERSION_TEXT
#undef POSENC_TEXT_OF
}

posenc_status posenc_plan_read(const char* path, posenc_plan** plan) {
  return c::guarded([&] {
    c::required("posenc_plan_read", "plan", plan);
    return c::give(posenc::read_plan(&c::required("posenc_plan_read", "path", path)), *plan);
  });
}

posenc_status posenc_plan_read_bytes(const void* bytes, size_t size, const char* name, posenc_plan** plan) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_plan_read_bytes";
    c::required(kWhere, "plan", plan);
    if (size > 0 && bytes == nullptr) throw posenc::Error(kWhere, {"bytes", "be given", "NULL"});
    const std::span file(static_cast<const std::byte*>(bytes), size);
    return c::give(posenc::read_plan(file, name == nullptr ? "bytes" : name), *plan);
  });
}

posenc_status posenc_plan_preset(const char* name, posenc_plan** plan) {
  return c::guarded([&] {
    c::required("posenc_plan_preset", "plan", plan);
    const char& given = c::required("posenc_plan_preset", "name", name);
    *plan = std::make_unique<posenc_plan>(posenc_plan{posenc::preset_plan(&given)}).release();
  });
}

void posenc_plan_free(posenc_plan* plan) { delete plan; }

posenc_status posenc_plan_json(const posenc_plan* plan, char* json, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_plan_json";
    c::give_text(kWhere, to_json(c::required(kWhere, "plan", plan).plan), json, c::required(kWhere, "size", size));
  });
}

posenc_status posenc_plan_override(const posenc_plan* plan, const char* const* settings, int64_t count,
                                   posenc_plan** overridden) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_plan_override";
    const posenc::Plan& given = c::required(kWhere, "plan", plan).plan;
    c::required(kWhere, "overridden", overridden);
    const std::vector<std::string> words = c::words_of(kWhere, settings, count);
    *overridden = std::make_unique<posenc_plan>(posenc_plan{posenc::override_plan(given, words)}).release();
  });
}

posenc_status posenc_plan_override_patches(const posenc_plan* plan, const char* const* settings, int64_t count,
                                           const char* config_json, char* json, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_plan_override_patches";
    const posenc::Plan& given = c::required(kWhere, "plan", plan).plan;
    const std::vector<std::string> words = c::words_of(kWhere, settings, count);
    const std::string_view config = config_json == nullptr ? std::string_view() : std::string_view(config_json);
    c::give_text(kWhere, to_json(posenc::override_patches(given, words, config)), json,
                 c::required(kWhere, "size", size));
  });
}
