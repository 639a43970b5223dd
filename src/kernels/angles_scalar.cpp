#include "kernels/angles_loop.h"
#include "kernels/vec_scalar.h"

namespace posenc::kernels {

void angles_scalar(const AngleRows& rows) noexcept { angles<ScalarVec>(rows); }

}  // namespace posenc::kernels
