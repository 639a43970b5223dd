// A quantised cache as Python has it, posenc.Quantised, and as the library takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "arrays/arrays.h"
#include "posenc/cache/quantised.h"

namespace posenc::python {

// Codes, scales and zeros are arrays of any library, as they were given.
struct Quantised {
  CacheFormat format = CacheFormat::int8;
  nb::object codes;  // [..., bytes of a head's row]
  nb::object scales;
  nb::object zeros;
  float scale = 1.0F;
  std::int64_t group = 0;
};

bool is_quantised(nb::handle h);

// The arrays of one as a view, for one call. Without one: an empty view.
class QuantisedArgument {
 public:
  QuantisedArgument() = default;
  // ValueError for arrays that cannot be codes, or scales, of the format; shapes are the library's to check.
  QuantisedArgument(nb::handle quantised, const Place& place, bool is_written);

  const QuantisedView& view() const { return view_; }

 private:
  Bytes codes_;
  Array written_scales_, written_zeros_;
  ConstArray read_scales_, read_zeros_;
  QuantisedView view_{};
};

}  // namespace posenc::python
