// Compiled by two tests: with the pairing it must compile, without it must not.
#include "posenc/rope.h"
#ifdef POSENC_WITH_PAIRING
const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = 64, .dim = 64};
#else
const posenc::Rope rope{.head_dim = 64, .dim = 64};
#endif
