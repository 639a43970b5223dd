// Any bytes as a GGUF file whose tensors are wanted.
#include "fuzz/target.h"
#include "fuzz/tensor_checks.h"

namespace posenc::fuzz {

void run_one(std::string_view bytes) { must_open_or_say_why(bytes, TensorFormat::gguf); }

}  // namespace posenc::fuzz
