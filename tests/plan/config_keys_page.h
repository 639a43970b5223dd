// docs/config-keys.md, made from the tables that the reader of configs uses.
#pragma once

#include <string>

namespace posenc::test {

std::string config_keys_page();

}  // namespace posenc::test
