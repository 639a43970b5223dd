// Arrays of other people: NumPy, torch, JAX, ml_dtypes, memoryviews, and whatever else has __dlpack__ or a buffer, on
// the CPU. What comes in is a view of the caller's memory, what is made is of the caller's library.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "posenc/rotate.h"
#include "posenc/tensor.h"
#include "refuse.h"

namespace posenc::python {

// The package that an array's class comes from.
enum class Library { numpy, torch, jax, other };
Library library_of(nb::handle array);

// A module that is imported already, as an array of it is there: a look instead of an import, which asks for locks and
// takes a microsecond.
nb::object loaded(const char* name);

// Whether it shows memory, rather than lists numbers.
bool is_array(nb::handle h);

// What keeps memory where an array has shown it: the exchange, or the array itself.
struct Lender {
  nb::ndarray<nb::ro> exchange;
  nb::object array;
};

// What an array of bool is: refused, as integers are, or the numbers 1 and 0, which masks are made of.
enum class Bools : bool { refused, taken };

// An array that is read. None is no tensor: an empty view.
class ConstArray {
 public:
  // These classes may be moved, which leaves their views valid: they point to the caller's memory, or to the heap.
  ConstArray() = default;
  // TypeError for what is no array; ValueError for one that is not on the CPU, or of another dtype than float32,
  // float16, bfloat16 and float64, or of rank 0 or above 4.
  ConstArray(nb::handle array, const Place& place, Bools bools = Bools::refused);

  const ConstTensorView& view() const { return view_; }
  bool is_of_bool() const { return is_of_bool_; }

 private:
  Lender lender_;
  std::vector<std::uint16_t> mask_;  // a mask of bool, as numbers
  bool is_of_bool_ = false;
  ConstTensorView view_{};
};

// `array`, which must be given: TypeError where it is None.
nb::handle given(nb::handle array, const Place& place);

// An array that is written: ValueError, besides, for one that is read-only.
class Array {
 public:
  Array() = default;
  Array(nb::handle array, const Place& place);

  const TensorView& view() const { return view_; }

 private:
  Lender lender_;
  TensorView view_{};
};

// An array of 8-bit elements of any type: uint8, int8, torch's and ml_dtypes' float8. The view's dtype says nothing;
// strides are in bytes. Read, or written.
class Bytes {
 public:
  Bytes() = default;
  // ValueError for elements of other sizes, besides what ConstArray and Array refuse.
  Bytes(nb::handle array, const Place& place, bool is_written);

  const TensorView& view() const { return view_; }

 private:
  Lender lender_;
  TensorView view_{};
};

// Whole numbers, or numbers, that somebody passes as an array or as any iterable of Python's. An array of exactly that
// type whose elements are adjacent is not copied; one of other strides is, in C order.
template <typename T>
class Numbers {
 public:
  Numbers() = default;
  Numbers(nb::handle numbers, const Place& place);
  // `numbers`, which is an array, and what it has shown already.
  Numbers(const nb::dlpack::dltensor& shown, Lender lender, nb::handle numbers, const Place& place);
  explicit Numbers(std::vector<T> numbers);

  std::span<const T> span() const { return span_; }

 private:
  // The numbers are the lender's, or own_ where they came as a list or strided, or had to be converted.
  Lender lender_;
  std::vector<T> own_;
  std::span<const T> span_;
};
extern template class Numbers<std::int32_t>;
extern template class Numbers<std::int64_t>;
extern template class Numbers<double>;

// Positions: a whole number, where counting starts; an array of int64, int32 or float64, or of a narrower type, which
// is copied; or an iterable of numbers.
class PositionsArgument {
 public:
  PositionsArgument() = default;
  PositionsArgument(nb::handle positions, const Place& place);

  const Positions& positions() const { return positions_; }

 private:
  // Makes Numbers<T> of `seen`, and positions_ a span of it.
  template <typename T, typename... Seen>
  void take(Seen&&... seen);

  std::variant<std::monostate, Numbers<std::int64_t>, Numbers<std::int32_t>, Numbers<double>> numbers_;
  Positions positions_{};
};

// A new array of the library of `like`: NumPy's for NumPy's, torch's for torch's, and so on; a memoryview where `like`
// is of none. Elements follow one another.
struct NewArray {
  // What the caller gets, and its memory as the kernels write it. It is not cleared.
  nb::object object;
  TensorView view;
};
NewArray new_array(nb::handle like, DType dtype, std::span<const std::int64_t> shape);
NewArray new_array(nb::handle like, DType dtype, std::initializer_list<std::int64_t> shape);

// One of x's dtype and shape, whose axes lie in memory in the order of x's, as results of NumPy and torch do: queries
// and keys seen as [batch, heads, tokens, head_dim] mostly lie token by token. `x` is the view of `like`. JAX and
// memoryviews know but one order.
NewArray new_array_like(nb::handle like, const ConstTensorView& x);

}  // namespace posenc::python
