// All of posenc, but for studies (posenc/study.h, another library). Each header can be included alone.
#pragma once

#include "posenc/add_input.h"           // the input stage: position rows into embeddings
#include "posenc/attend.h"              // attention, fused
#include "posenc/attend_backward.h"     // its gradients
#include "posenc/attend_linear.h"       // linear attention with rotation
#include "posenc/cache.h"               // keys and values into a KV cache: normalised, rotated, converted
#include "posenc/cache/backward.h"      // its gradients: of keys, values and the norm's weight
#include "posenc/cache/quantised.h"     // what a quantised KV cache is made of
#include "posenc/cache/reuse.h"         // may a layer's cache be moved, spliced, merged, shared
#include "posenc/cache/study_cache.h"   // a model's cache: sizes, verdicts, simulated shifts
#include "posenc/cache/view.h"          // a cache whose tokens move without touching a key
#include "posenc/compare.h"             // what differs between two plans, and what follows
#include "posenc/convert.h"             // a checkpoint's q and k projections to the other pairing
#include "posenc/diagnose.h"            // what a port's rotation did
#include "posenc/diagnose_attention.h"  // what a port's attention did
#include "posenc/diagnose_weights.h"    // in which order a checkpoint has its channels
#include "posenc/distributed/shard.h"   // how a batch is dealt to ranks
#include "posenc/emit.h"                // a layer as code
#include "posenc/error.h"
#include "posenc/extend.h"          // Error, FileError, Result
#include "posenc/grid_positions.h"  // positions of text, images and videos
#include "posenc/info.h"            // version, instruction sets
#include "posenc/input.h"           // rows of the input stage, places, tables that grow
#include "posenc/named_weights.h"   // learned tables by name
#include "posenc/override_plan.h"   // a plan with facts set by the user
#include "posenc/pairing.h"         // from one pairing to the other
#include "posenc/parallel.h"        // threads: how many, and whose
#include "posenc/plan.h"            // Plan: what a model does with positions
#include "posenc/prepared_layer.h"  // a layer whose weights are prepared once
#include "posenc/read_plan.h"       // from a model's files to its plan
#include "posenc/reference.h"       // the float64 reference
#include "posenc/report.h"          // a page of what models do
#include "posenc/rope.h"            // the rotary scheme and its frequencies
#include "posenc/rotary_table.h"    // tables of cos and sin
#include "posenc/rotate.h"          // applies RoPE to q and k
#include "posenc/schemes.h"         // the other schemes
#include "posenc/tensor.h"          // views of tensors
#include "posenc/tensor_file.h"     // .npy, safetensors, GGUF, llama2.c
#include "posenc/vectors.h"         // golden vectors, and a port held to them
#include "posenc/version.h"
#include "posenc/wavelength.h"  // what wavelengths say about length
#include "posenc/write_file.h"  // a file that is whole or not there
