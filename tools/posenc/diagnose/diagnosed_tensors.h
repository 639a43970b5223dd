// The two tensors of posenc diagnose, in the order of axes that the library takes.
#pragma once

#include <optional>
#include <string>

#include "inspect/layer_choice.h"
#include "line/command_line.h"
#include "posenc/tensor.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {

struct DiagnosedTensor {
  TensorArgument source;
  ConstTensorView heads{};      // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], of `source`
  ConstTensorView exchanged{};  // the other reading of the axes, where the command line leaves it open; else empty
};

// `choice`: of the model, or null. Throws Failure for what cannot be read or does not fit.
DiagnosedTensor read_diagnosed(const TensorWord& word, const DiagnoseArguments& arguments, const LayerChoice* choice);

}  // namespace posenc::tool
