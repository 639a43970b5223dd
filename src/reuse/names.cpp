#include "reuse/names.h"

namespace posenc::inline v0_2 {

std::string_view name(CacheOperation operation) noexcept { return plan::enum_name(operation); }
std::string_view name(StoredKeys keys) noexcept { return plan::enum_name(keys); }
std::string_view name(Reuse reuse) noexcept { return plan::enum_name(reuse); }
std::string_view name(KvFormat format) noexcept { return plan::enum_name(format); }
std::string_view name(ReuseFact fact) noexcept { return plan::enum_name(fact); }

}  // namespace posenc::inline v0_2
