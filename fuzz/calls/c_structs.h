// Arguments of C++ calls as the structs of posenc/c.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/calls/arguments.h"
#include "posenc/attend.h"
#include "posenc/c.h"
#include "posenc/cache.h"
#include "posenc/rotate.h"

namespace posenc::fuzz {

posenc_tensor c_tensor(const ConstTensorView& x);
posenc_positions c_positions(const Positions& positions);
posenc_executor c_executor(const Executor& executor);

// What a struct of C points to beside the caller's memory: handles, and lists of them.
class CHandles {
 public:
  CHandles() = default;
  CHandles(const CHandles&) = delete;
  CHandles& operator=(const CHandles&) = delete;
  ~CHandles();

  // Copies that are freed with this; NULL for NULL.
  const posenc_table* table(const RotaryTable* table);
  const posenc_plan* plan(const LayerPlan& layer);
  const posenc_positions* positions(const std::optional<Positions>& positions);

  posenc_rotate_args rotate_args(const RotateArgs& args);
  posenc_cache_args cache_args(const CacheArgs& args);
  // Of a layer whose weights have names: of one score term, or none.
  std::optional<posenc_attend_args> attend_args(const LayerPlan& layer, const AttendArgs& args);

 private:
  std::vector<posenc_table*> tables_;
  std::vector<const posenc_table*> list_;
  std::vector<posenc_plan*> plans_;
  std::vector<posenc_positions> positions_;
  std::vector<posenc_named_tensor> weights_;
};

}  // namespace posenc::fuzz
