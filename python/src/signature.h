// Signatures, as stubs and help() show them.
//
// They are written with the names of posenc/_arrays.py (ArrayLike, IndicesLike, PositionsLike, ArrayT, OtherT), which
// need their module's name before them. A function whose result has the type of an argument has one signature for each
// way of being called, all of one implementation: for type checkers. All have the same docstring, as then help() shows
// it once, behind the signatures, and each signature once.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace posenc::python {

namespace nb = nanobind;

// `signature` with "posenc._arrays." before each of those names.
std::string with_array_types(std::string signature);

// Binds `function` under the name that stands in each signature, between "def " and the first parenthesis, once for
// each. `arguments`: what nanobind takes after the function (nb::arg, nb::kw_only), the same for all of them.
template <typename Function, typename... Extra>
void def(nb::module_& module, const std::vector<std::string>& signatures, const char* doc, Function function,
         const Extra&... arguments) {
  for (const std::string& written : signatures) {
    const std::size_t name = std::char_traits<char>::length("def ");
    const std::string signature = with_array_types(written);
    module.def(signature.substr(name, signature.find('(') - name).c_str(), function, arguments...,
               nb::sig(signature.c_str()), doc);
  }
}

}  // namespace posenc::python
