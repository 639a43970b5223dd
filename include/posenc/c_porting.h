// The porter's kit in C, by the conventions of c.h, which includes this: checkpoints converted, golden vectors, and
// what is wrong with a port.
#ifndef POSENC_C_PORTING_H
#define POSENC_C_PORTING_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include "posenc/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Checkpoints ----

// Members are those of ConvertArgs in convert.h, which says what is converted, and what is refused.
typedef struct posenc_convert_args {
  size_t size;
  const char* source;
  const char* output;  // NULL: a dry run
  posenc_pairing to;
  posenc_pairing from;                              // 0: what the plan says
  const posenc_plan* plan;                          // NULL: that of the source
  const char* stack;                                // NULL: the first that rotates
  int64_t padded_head_dim;                          // 0: heads are not padded
  int32_t replace;                                  // an output that is one file
  int32_t again;                                    // marks of earlier conversions do not hold
  int32_t (*keep_going)(void* keep_going_context);  // called every few MiB; 0 stops, and the same call goes on later
  void* keep_going_context;
} posenc_convert_args;
#define POSENC_CONVERT_ARGS_INIT \
  { .size = sizeof(posenc_convert_args) }

// A checkpoint's q and k projections to the other pairing. POSENC_WRONG_FILE for what cannot be converted as a whole,
// with the tensor and the reason; then nothing is written. POSENC_CANCELLED leaves what is written so far in
// OUTPUT.posenc-partial. The report as JSON, as `posenc convert --json` prints it: `*size` is the room at `json` on
// entry, and the length of the text and its final 0 on return, of which as much as fits is written; both may be NULL.
POSENC_API posenc_status posenc_convert(const posenc_convert_args* args, char* json, size_t* size);
// ---- Golden vectors ----

// Of a layer: vectors.h.
typedef struct posenc_vectors posenc_vectors;

typedef struct posenc_vectors_options {
  size_t size;
  const char* stack;  // by its name; NULL where one stack attends
  int64_t layer;      // with has_layer: the block, counted from 0; else all layers of the stack must be alike
  int64_t tokens;     // 0: 12, or more where the layer's rules have more edges
  int64_t start;      // with has_start: tokens at start, start + 1, ...; else at the edges of the layer's rules
  int64_t length;     // of the sequence, for rules that depend on it; 0: the last position + 1
  int32_t has_layer;
  int32_t has_start;
  int32_t cross;  // 1: the layer's cross-attention
  int32_t reserved;
} posenc_vectors_options;
#define POSENC_VECTORS_OPTIONS_INIT \
  { .size = sizeof(posenc_vectors_options) }

// options NULL: all as INIT has it.
POSENC_API posenc_status posenc_vectors_of_layer(const posenc_plan* plan, const posenc_vectors_options* options,
                                                 posenc_vectors** vectors);

// Inputs of the caller's own in place of drawn ones: VectorInputs. Read before the call returns.
typedef struct posenc_vectors_inputs {
  size_t size;
  posenc_tensor q;  // [tokens, heads, head_dim]; of a rotation alone q or k
  posenc_tensor k;
  posenc_tensor v;                    // omitted: there is the rotation alone
  const int64_t* positions;           // [axes][tokens]; NULL: options->start and on
  int64_t positions_count;            // axes times tokens
  const posenc_named_tensor* tables;  // the layer's learned tables; others are ignored
  int64_t tables_count;
} posenc_vectors_inputs;
#define POSENC_VECTORS_INPUTS_INIT \
  { .size = sizeof(posenc_vectors_inputs) }

POSENC_API posenc_status posenc_vectors_of_inputs(const posenc_plan* plan, const posenc_vectors_options* options,
                                                  const posenc_vectors_inputs* inputs, posenc_vectors** vectors);
// What posenc_vectors_write or `posenc vectors` wrote.
POSENC_API posenc_status posenc_vectors_read(const char* directory, posenc_vectors** vectors);
// `format`: "npy", "safetensors", "json", "c", "rust" or "python"; `test`: "none", "pytest", "googletest", "c" or
// "cargo", NULL for the one of the format. The directory must not be there, or be empty.
POSENC_API posenc_status posenc_vectors_write(const posenc_vectors* vectors, const char* directory, const char* format,
                                              const char* test);
POSENC_API void posenc_vectors_free(posenc_vectors* vectors);
// A view of doubles that ends with the handle: "q", "positions", "q_rotated", "out", ... Not to be written to.
POSENC_API posenc_status posenc_vectors_tensor(const posenc_vectors* vectors, const char* name, posenc_tensor* tensor);

typedef struct posenc_check_port_args {
  size_t size;
  const posenc_vectors* vectors;
  const posenc_named_tensor* outputs;  // "q_rotated", "k_rotated", "scores", "out", ... as the port made them
  int64_t outputs_count;
  int32_t has_dtype;   // 1: the port computes in `dtype`; else in what its tensors are stored in
  posenc_dtype dtype;  // POSENC_F32, POSENC_F16, POSENC_BF16
  int32_t* passes;     // written: 1 or 0
  char* json;          // written, with `json_size`: the report (docs/vectors.md); both may be NULL
  size_t* json_size;   // the room at `json` on entry, the length of the text and its final 0 on return
} posenc_check_port_args;
#define POSENC_CHECK_PORT_ARGS_INIT \
  { .size = sizeof(posenc_check_port_args) }

// Too little room for the report is POSENC_WRONG_ARGUMENT, with *json_size and *passes set.
POSENC_API posenc_status posenc_check_port(const posenc_check_port_args* args);
// ---- What is wrong with a port: diagnose.h, diagnose_attention.h, diagnose_weights.h ----

typedef int32_t posenc_verdict;
enum {
  POSENC_AS_THE_PLAN = 0,
  POSENC_DIFFERS = 1,
  POSENC_CANNOT_TELL = 2,
  POSENC_RECOVERED = 3  // without a plan
};

// Queries or keys before and after somebody's rotation. Without a plan, what was done is recovered.
typedef struct posenc_diagnose_args {
  size_t size;
  const posenc_plan* plan;  // with stack and layer, as for posenc_table_of_layer; or NULL
  const char* stack;
  int64_t layer;
  int64_t rotation;      // which of the layer's, counted from 0
  posenc_tensor before;  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  posenc_tensor after;
  posenc_tensor before_k;  // both or none: keys of the same call, in what is said of both
  posenc_tensor after_k;
  int32_t has_start;  // 0: where the first token stands is not known
  int32_t reserved;
  int64_t start;
  const double* positions;  // instead of a start: [axes, tokens] or [axes, batch * tokens]
  int64_t positions_count;
  int64_t length;  // of the sequence, for rules that depend on it; 0: not said
} posenc_diagnose_args;
#define POSENC_DIAGNOSE_ARGS_INIT \
  { .size = sizeof(posenc_diagnose_args) }

// The verdict, and the report as JSON (docs/diagnose.md); both calls say `*size` as posenc_plan_json does, and json may
// be NULL where the verdict is all that is asked for, with size NULL too.
POSENC_API posenc_status posenc_diagnose(const posenc_diagnose_args* args, posenc_verdict* verdict, char* json,
                                         size_t* size);

// Queries, keys, values, and what an attention made of them. One of scores, weights and out at least, v with out.
typedef struct posenc_diagnose_attention_args {
  size_t size;
  const posenc_plan* plan;
  const char* stack;
  int64_t layer;
  posenc_tensor q;
  posenc_tensor k;
  posenc_tensor v;
  posenc_tensor scores;   // [heads, queries, keys] or [batch, heads, queries, keys]
  posenc_tensor weights;  // likewise
  posenc_tensor out;
  const posenc_named_tensor* tables;  // all that the layer has, each once, as for posenc_attend
  int64_t tables_count;
  int32_t unrotated;  // not 0: q and k are not rotated yet
  int32_t reserved;
  const int64_t* q_order;  // [queries]
  int64_t q_order_count;
  const int64_t* k_order;  // [keys]
  int64_t k_order_count;
  posenc_tensor attn_mask;  // [queries, keys]
  int64_t prefix;
  int64_t sequence;  // which of the batch is looked at
} posenc_diagnose_attention_args;
#define POSENC_DIAGNOSE_ATTENTION_ARGS_INIT \
  { .size = sizeof(posenc_diagnose_attention_args) }

POSENC_API posenc_status posenc_diagnose_attention(const posenc_diagnose_attention_args* args, posenc_verdict* verdict,
                                                   char* json, size_t* size);

// Projections of one layer.
typedef struct posenc_query_key_rows {
  posenc_tensor q;  // [heads * head_dim, inputs]
  posenc_tensor k;  // [kv_heads * head_dim, inputs]
} posenc_query_key_rows;

typedef struct posenc_diagnose_pairing_args {
  size_t size;
  const posenc_query_key_rows* layers;
  int64_t layers_count;
  int64_t head_dim;
  int64_t first_channel;  // of the rotated ones
  int64_t dim;            // rotated channels; 0: all from first_channel on
} posenc_diagnose_pairing_args;
#define POSENC_DIAGNOSE_PAIRING_ARGS_INIT \
  { .size = sizeof(posenc_diagnose_pairing_args) }

// In which order the q and k projections of a checkpoint have their channels, told from their numbers alone: *pairing
// is POSENC_HALF, POSENC_INTERLEAVED, or 0, where it cannot tell. json and size as above.
POSENC_API posenc_status posenc_diagnose_pairing(const posenc_diagnose_pairing_args* args, posenc_pairing* pairing,
                                                 char* json, size_t* size);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)
#endif  // POSENC_C_PORTING_H
