#include "signature.h"

#include <array>
#include <string_view>

namespace posenc::python {

std::string with_array_types(std::string signature) {
  constexpr std::array<std::string_view, 5> kNames{"ArrayLike", "IndicesLike", "PositionsLike", "ArrayT", "OtherT"};
  constexpr std::string_view kModule = "posenc._arrays.";
  for (const std::string_view name : kNames) {
    for (std::size_t at = signature.find(name); at != std::string::npos;
         at = signature.find(name, at + kModule.size() + name.size())) {
      signature.insert(at, kModule);
    }
  }
  return signature;
}

}  // namespace posenc::python
