// posenc::study, a library of its own beside posenc: what position encodings are good for, measured, and schemes of
// papers that no plan can say. Nothing here is needed to run a model. CMake: posenc::study; pkg-config: posenc_study.
#pragma once

#include "posenc/properties.h"          // properties, curves, costs and experiments
#include "posenc/reference_research.h"  // PoPE, FoPE, GRAPE, PaTH, relative logits, one score at a time
