#include "plan/rope/native_rules.h"

#include "base/formatted.h"

namespace posenc::plan {

double scaling_number_beside(RopeKeys& keys, const Key& key, std::string_view field) {
  const auto place = keys.scope().find(key);
  if (!place) {
    keys.fail_missing(key.name());
    return 1.0;
  }
  keys.note(formatted("scaling/{}", field), *place);
  return keys.reader().number(*place).value_or(1.0);
}

std::int64_t original_length_beside(RopeKeys& keys, const Key& key) {
  const auto place = keys.scope().find(key);
  if (!place) {
    keys.fail_missing(key.name());
    return 1;
  }
  keys.note("scaling/original_max_position_embeddings", *place);
  return keys.reader().integer(*place, {1, kMaxPosition}).value_or(1);
}

}  // namespace posenc::plan
