// Any bytes as a .npz file.
#include "fuzz/target.h"
#include "fuzz/tensor_checks.h"

namespace posenc::fuzz {

void run_one(std::string_view bytes) { must_open_or_say_why(bytes, TensorFormat::npz); }

}  // namespace posenc::fuzz
