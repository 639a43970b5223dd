// Stubs import nothing of posenc/_arrays.py, so its types are written with the module before them. In the sources of
// the bindings they stand without it: signatures are long enough.
#include "signature.h"

#include <array>
#include <string_view>

namespace posenc::python {

std::string with_array_types(std::string signature) {
  constexpr std::array<std::string_view, 5> kNames{"ArrayLike", "IndicesLike", "PositionsLike", "ArrayT", "OtherT"};
  constexpr std::string_view kModule = "posenc._arrays.";
  // No name is part of another one, so none gets the prefix twice.
  for (const std::string_view name : kNames) {
    for (std::size_t at = signature.find(name); at != std::string::npos;
         at = signature.find(name, at + kModule.size() + name.size())) {
      signature.insert(at, kModule);
    }
  }
  return signature;
}

}  // namespace posenc::python
