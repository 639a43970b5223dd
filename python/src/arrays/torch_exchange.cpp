// Where a torch.Tensor's elements lie, without a call of Python code and without an object that owns the exchange:
// rotate_ of one token takes 1.2 instead of 1.7 microseconds by it (docs/performance/python.md). Callers keep the
// tensor itself alive.
#include "arrays/torch_exchange.h"

#include <cstdint>

#include "arrays/arrays.h"

namespace posenc::python {
namespace {

// As dlpack.h 1.3 lays them out; members that nothing here asks for are left out where they stand last.
constexpr std::uint32_t kMajor = 1;

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct ExchangeTable {
  Version version;
  // Tables of earlier versions, for consumers that do not know this one; null at the end.
  const ExchangeTable* older;
  // In dlpack.h managed_tensor_allocator, managed_tensor_from_py_object_no_sync, managed_tensor_to_py_object_no_sync
  // and dltensor_from_py_object_no_sync. Not called here but for the last, so the first three have no types.
  void (*allocate)();
  void (*managed_from_object)();
  void (*object_from_managed)();
  int (*show_object)(void* object, nb::dlpack::dltensor* out);  // optional; owns nothing
};

constexpr const char* kTable = "dlpack_exchange_api";

// Null where the class has no table (an older torch), or none of a major version that is laid out as above.
const ExchangeTable* exchange_of(nb::handle type) {
  const nb::object capsule = nb::steal(PyObject_GetAttrString(type.ptr(), "__dlpack_c_exchange_api__"));
  if (capsule.is_valid() && PyCapsule_IsValid(capsule.ptr(), kTable) != 0) {
    const auto* table = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), kTable));
    while (table != nullptr && table->version.major > kMajor) table = table->older;
    return table;
  }
  PyErr_Clear();
  return nullptr;
}

struct TensorClass {
  // torch.Tensor, and its table or null.
  nb::handle type;
  const ExchangeTable* table;
};

// Looked up when the first tensor comes, and never again: both live as long as torch, which nothing unloads. (No Python
// code runs in here, so no thread waits here with the GIL for another that wants it.)
const TensorClass& tensor_class() {
  static const TensorClass kClass = [] {
    const nb::handle type = nb::object(loaded("torch").attr("Tensor")).release();
    return TensorClass{type, exchange_of(type)};
  }();
  return kClass;
}

}  // namespace

std::optional<nb::dlpack::dltensor> shown_by_torch(nb::handle array) {
  const auto [type, table] = tensor_class();
  if (!array.type().is(type) || table == nullptr || table->show_object == nullptr) return std::nullopt;
  nb::dlpack::dltensor shown;
  if (table->show_object(array.ptr(), &shown) == 0) return shown;
  PyErr_Clear();  // the slow exchange says it again
  return std::nullopt;
}

}  // namespace posenc::python
