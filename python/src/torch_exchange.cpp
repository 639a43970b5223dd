#include "torch_exchange.h"

#include <cstdint>

#include "arrays.h"

namespace posenc::python {
namespace {

// As dlpack.h 1.3 lays them out; members that nothing here asks for are left out where they stand last.
constexpr std::uint32_t kMajor = 1;

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct ExchangeTable {
  Version version;
  const ExchangeTable* older;
  int (*allocate)(void* prototype, ManagedTensor** out, void* error,
                  void (*set_error)(void*, const char*, const char*));
  int (*managed_from_object)(void* object, ManagedTensor** out);  // owns the memory that it shows
};

constexpr const char* kTable = "dlpack_exchange_api";
constexpr const char* kUnused = "dltensor_versioned";  // until somebody takes it, who renames it

void delete_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kUnused) == 0) return;
  auto* tensor = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kUnused));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

const ExchangeTable* table_of(nb::handle type) {
  const nb::object capsule = nb::steal(PyObject_GetAttrString(type.ptr(), "__dlpack_c_exchange_api__"));
  if (capsule.is_valid() && PyCapsule_IsValid(capsule.ptr(), kTable) != 0) {
    const auto* table = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), kTable));
    while (table != nullptr && table->version.major > kMajor) table = table->older;
    return table;
  }
  PyErr_Clear();
  return nullptr;
}

}  // namespace

nb::object torch_capsule(nb::handle array) {
  if (!array.type().is(loaded("torch").attr("Tensor"))) return {};
  const ExchangeTable* table = table_of(array.type());
  ManagedTensor* tensor = nullptr;
  if (table == nullptr || table->managed_from_object(array.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return {};
  }
  return nb::steal(PyCapsule_New(tensor, kUnused, delete_unused));
}

}  // namespace posenc::python
