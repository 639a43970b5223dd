// The gradients of a call of attention: by the kernels, and by the float64 reference from the very same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/scheme_call.h"
#include "posenc/attend_backward.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/prepared_layer.h"

namespace posenc::test {

// All gradients of a call, by name: "q", "k", "v", what the layer has learned, "bias", "log_forget", "row_gate".
struct Gradients {
  struct One {
    std::string name;
    std::vector<double> values;
  };
  std::vector<One> all;
};

struct BackwardWay {
  std::int64_t threads = 1;
  Executor executor{};
  std::string only{};           // the one gradient that is asked for, of which alone there are numbers; empty: all
  std::int64_t block_size = 0;  // of pages that keys and values lie in, the last first; 0: as they are given
  const PreparedLayer* prepared = nullptr;  // of the call's layer and weights
};

class KernelGradients {
 public:
  // `bias`: a matrix of that shape is added to scores; empty: none. Numbers become what the dtype can hold.
  KernelGradients(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed,
                  DType dtype = DType::f32, const std::vector<std::int64_t>& bias = {});

  Gradients by_kernels(Isa isa, const BackwardWay& way = {});
  // Of parts of the keys, cut at these, from 0 to their number: f32 and causal, rank 3, without a bias.
  Gradients by_parts(Isa isa, const std::vector<std::int64_t>& cuts);
  Gradients by_formulas();
  // The reference's, where each number that the gradients are made of, tables included, is moved by `by` of itself.
  Gradients moved(double by, std::uint64_t seed);

  // Every number of keys and values of these tokens, and of these queries, the gates of their rows and the gradients of
  // their outputs, becomes `with`, in every member of a batch.
  void spoil(const std::vector<std::int64_t>& keys, const std::vector<std::int64_t>& queries, double with);

  // As the dtype holds them.
  struct Numbers {
    Tensor q, k, v, d_out, d_lse;
  };
  const Numbers& numbers() const { return numbers_; }

  SchemeCall call;

 private:
  Gradients reference_of(const Numbers& of);

  DType dtype_;
  Random random_;
  Numbers numbers_;
  std::vector<double> bias_;
  std::vector<std::byte> q_, k_, v_, d_out_;
};

}  // namespace posenc::test
