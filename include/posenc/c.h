// posenc for C (C11), and for every language that calls C.
//
// Conventions, for all of this header:
// - Every function that can fail returns a posenc_status; 0 is success. posenc_last_error() then says why, in one line,
//   for the calling thread. Outputs are written on success only, tensors included, but for POSENC_CANCELLED.
// - A handle (posenc_plan, posenc_table, posenc_prepared_input, posenc_prepared_layer, posenc_vectors) is made by a
//   function that takes its address last, and ended by the _free function of its name, which takes NULL too. Handles
//   never change: threads may share them.
// - A struct that may grow begins with its size in bytes: fill it with its INIT macro and set what differs. Members
//   that are 0 or NULL stand for the default.
// - Tensors, strings and arrays belong to the caller and are used during the call only; a prepared layer's weights and
//   a prepared input's tables, as long as it is. Strings are UTF-8 and end in 0.
// - Shapes, strides, pairings, directions and errors are those of the C++ headers: tensor.h, rotate.h, rotary_table.h,
//   add_input.h, attend.h, prepared_layer.h, attend_linear.h, read_plan.h, convert.h, emit.h, extend.h, vectors.h.
//   Sizes are int64_t; strides count elements.
// - Before posenc 1.0 a minor version may change all of this.
#ifndef POSENC_C_H
#define POSENC_C_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include <stddef.h>
#include <stdint.h>

#include "posenc/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t posenc_status;
enum {
  POSENC_OK = 0,
  POSENC_WRONG_ARGUMENT = 1,  // a shape, a dtype, a position, a parameter
  POSENC_WRONG_FILE = 2,      // a file or bytes: missing, or not what they must be
  POSENC_NO_MEMORY = 3,
  POSENC_INTERNAL = 4,  // a fault of posenc
  POSENC_CANCELLED = 5  // the caller's keep_going returned false: what was to be written holds nothing of use
};

// Why the last call of this thread failed, or "". Valid until this thread's next call.
POSENC_API const char* posenc_last_error(void);
// "0.2.0"
POSENC_API const char* posenc_version(void);

// ---- Plans ----

typedef struct posenc_plan posenc_plan;

// From a config.json, a folder that holds one, a params.json or a GGUF file.
POSENC_API posenc_status posenc_plan_read(const char* path, posenc_plan** plan);
// From the bytes of such a file; `name` stands for it in errors.
POSENC_API posenc_status posenc_plan_read_bytes(const void* bytes, size_t size, const char* name, posenc_plan** plan);
// Of a model that is built in: "llama-3.1-8b".
POSENC_API posenc_status posenc_plan_preset(const char* name, posenc_plan** plan);
POSENC_API void posenc_plan_free(posenc_plan* plan);

// The plan as JSON (docs/plan.schema.json), as `posenc inspect --json` prints it. `*size` is the room at `json` on
// entry, and the length of the text and its final 0 on return; json may be NULL to ask for that. Too little room is
// POSENC_WRONG_ARGUMENT, with *size set.
POSENC_API posenc_status posenc_plan_json(const posenc_plan* plan, char* json, size_t* size);

// Another plan, with facts set by `count` settings, such as "rope_scaling=yarn,factor=4": override_plan.h. A word or
// value that is not known, and a setting without effect, are POSENC_WRONG_ARGUMENT.
POSENC_API posenc_status posenc_plan_override(const posenc_plan* plan, const char* const* settings, int64_t count,
                                              posenc_plan** overridden);
// How others are told the same, as `posenc inspect --set ... --patch --json` prints its forms: a JSON array of
// {"form", "patch", "flags", "unsaid"}. `config_json` is the text that the plan was read from, or NULL. `json` and
// `size` as for posenc_plan_json.
POSENC_API posenc_status posenc_plan_override_patches(const posenc_plan* plan, const char* const* settings,
                                                      int64_t count, const char* config_json, char* json, size_t* size);

// ---- Code ----

typedef struct posenc_emit_options {
  size_t size;
  const char* as;     // "numpy", "torch", "c", "cpp", "cuda", "triton" or "metal"
  const char* stack;  // by its name; NULL: the first
  int64_t layer;      // its number, from 0; -1: any, where all layers of the stack are alike
  int32_t cross;      // 1: its attention to an encoder instead of that to itself
  int32_t reserved;
} posenc_emit_options;
#define POSENC_EMIT_OPTIONS_INIT \
  { .size = sizeof(posenc_emit_options), .layer = -1 }

// What a layer does with positions, as code (emit.h). `*size` as for posenc_plan_json. POSENC_WRONG_ARGUMENT, too, for
// what the language cannot express or emit does not write yet, by the scheme's name.
POSENC_API posenc_status posenc_emit(const posenc_plan* plan, const posenc_emit_options* options, char* text,
                                     size_t* size);

// ---- Reports ----

typedef struct posenc_report_options {
  size_t size;
  int64_t length;              // of the sequence that the models are wanted for, in tokens; 0: what each serves
  const posenc_plan* against;  // what the first is held against; NULL: nothing
  int32_t json;                // 1: the numbers as JSON instead of the page
  int32_t reserved;
} posenc_report_options;
#define POSENC_REPORT_OPTIONS_INIT \
  { .size = sizeof(posenc_report_options) }

// What `count` models do with positions, as one HTML page (report.h). `*size` as for posenc_plan_json.
POSENC_API posenc_status posenc_report(const posenc_plan* const* plans, int64_t count,
                                       const posenc_report_options* options, char* text, size_t* size);

// ---- Tables ----

typedef struct posenc_table posenc_table;

// 0 stands for none: a pairing must be given, since a wrong one fails silently and ruins a model.
typedef int32_t posenc_pairing;
enum { POSENC_HALF = 1, POSENC_INTERLEAVED = 2 };

typedef int32_t posenc_angles;
enum { POSENC_ANGLES_EXACT = 0, POSENC_ANGLES_FLOAT32 = 1, POSENC_ANGLES_BFLOAT16 = 2 };

typedef struct posenc_table_options {
  size_t size;
  int64_t start;   // first position
  int64_t count;   // positions held; 0: none, rows are made as they are needed, for any position
  int64_t length;  // of the sequence, for rules that depend on it; 0: see frequencies() in rope.h
  posenc_angles angles;
  int32_t reserved;
} posenc_table_options;
#define POSENC_TABLE_OPTIONS_INIT \
  { .size = sizeof(posenc_table_options) }

// The rotation of queries and keys in one layer of a plan: `stack` by its name, NULL for the first; `layer` counts from
// 0 within it. POSENC_WRONG_ARGUMENT when that layer does not rotate. Of xPos it is the rotation alone, as keys are
// cached: the decay is posenc_attend's to apply.
POSENC_API posenc_status posenc_table_of_layer(const posenc_plan* plan, const char* stack, int64_t layer,
                                               const posenc_table_options* options, posenc_table** table);

typedef struct posenc_layout {
  size_t size;
  posenc_pairing pairing;
  int32_t axes;  // coordinates of a token
  int64_t head_dim;
  int64_t first_channel;
  int64_t dim;
} posenc_layout;
// Without a pairing: posenc_table_layout writes it, and posenc_table_of_frequencies has to be given one.
#define POSENC_LAYOUT_INIT \
  { .size = sizeof(posenc_layout), .axes = 1 }

// From frequencies of your own, inv_freq[dim / 2] in radians per position, clockwise where negative; options->count
// rows are held, at least 1.
POSENC_API posenc_status posenc_table_of_frequencies(const posenc_layout* layout, const double* inv_freq,
                                                     double attention_factor, const posenc_table_options* options,
                                                     posenc_table** table);
POSENC_API void posenc_table_free(posenc_table* table);

// layout->size must be set.
POSENC_API posenc_status posenc_table_layout(const posenc_table* table, posenc_layout* layout);
// 0 for NULL.
POSENC_API double posenc_table_attention_factor(const posenc_table* table);

// ---- Tensors and positions ----

typedef int32_t posenc_dtype;
enum { POSENC_F32 = 0, POSENC_F16 = 1, POSENC_BF16 = 2, POSENC_F64 = 3 };

// rank 0: there is no tensor.
typedef struct posenc_tensor {
  void* data;
  posenc_dtype dtype;
  int32_t rank;
  int64_t shape[4];
  int64_t strides[4];
} posenc_tensor;

typedef int32_t posenc_position_type;
enum { POSENC_COUNTED = 0, POSENC_INT64 = 1, POSENC_INT32 = 2, POSENC_DOUBLE = 3 };

typedef struct posenc_positions {
  posenc_position_type type;
  int32_t reserved;
  int64_t start;     // POSENC_COUNTED: token t of each sequence stands at start + t
  const void* data;  // else [axes, rows]
  int64_t count;     // axes * rows
} posenc_positions;

// cos and sin, both [rows, dim / 2]; positions->count is axes * rows, or `rows` says it where they are counted.
POSENC_API posenc_status posenc_cos_sin(const posenc_table* table, const posenc_positions* positions, int64_t rows,
                                        float* cos, float* sin);

// ---- Can it go to a longer context? ----

typedef struct posenc_extend_options {
  size_t size;
  int64_t to;       // tokens
  int64_t from;     // trained, in tokens; 0: what the plan says
  posenc_tensor q;  // with k, or neither: queries and keys before their rotation, as ExtendOptions has them
  posenc_tensor k;
  const char* config_json;  // that the plan was read from, for its patches; NULL: none
  int32_t json;             // 1: JSON (docs/extend.md) instead of a table and sentences
  int32_t reserved;
} posenc_extend_options;
#define POSENC_EXTEND_OPTIONS_INIT \
  { .size = sizeof(posenc_extend_options) }

// Every way to a longer context, side by side, and which is recommended (extend.h). `*size` as for posenc_plan_json.
POSENC_API posenc_status posenc_extend(const posenc_plan* plan, const posenc_extend_options* options, char* text,
                                       size_t* size);

// ---- Rotation ----

typedef int32_t posenc_direction;
enum { POSENC_FORWARD = 0, POSENC_INVERSE = 1, POSENC_TRANSPOSE = 2 };

// The caller's threads: see Executor in parallel.h. run NULL: posenc's own.
typedef void (*posenc_task)(void* data, int64_t index);
typedef struct posenc_executor {
  void* context;
  void (*run)(void* context, int64_t tasks, posenc_task task, void* data);
  int64_t threads;
} posenc_executor;

typedef struct posenc_rotate_args {
  size_t size;
  posenc_tensor q;       // written
  posenc_tensor k;       // written
  posenc_tensor q_from;  // read instead of q
  posenc_tensor k_from;
  posenc_positions positions;
  const posenc_table* table;
  const posenc_table* const* tables;  // [sequences], instead of table
  int64_t tables_count;
  posenc_direction direction;
  int32_t reserved;
  const int32_t* cu_seqlens;  // [sequences + 1]
  int64_t cu_seqlens_count;
  const int32_t* block_table;  // [sequences, blocks of one]: k is a paged cache
  int64_t block_table_count;
  const int32_t* block_first;  // [sequences]
  int64_t block_first_count;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_rotate_args;
#define POSENC_ROTATE_ARGS_INIT \
  { .size = sizeof(posenc_rotate_args) }

POSENC_API posenc_status posenc_rotate(const posenc_rotate_args* args);

typedef struct posenc_rerotate_args {
  size_t size;
  posenc_tensor k;       // written
  posenc_tensor k_from;  // read instead of k
  const posenc_table* from_table;
  posenc_positions from_positions;
  const posenc_table* to_table;
  posenc_positions to_positions;
  const int32_t* cu_seqlens;
  int64_t cu_seqlens_count;
  const int32_t* block_table;
  int64_t block_table_count;
  const int32_t* block_first;
  int64_t block_first_count;
  const posenc_plan* plan;  // with stack and layer: whose keys they are, to refuse what cannot be rotated again
  const char* stack;
  int64_t layer;
  int64_t threads;
  posenc_executor executor;
  const struct posenc_quantised* k_quantised;  // refused, saying what to do instead
} posenc_rerotate_args;
#define POSENC_REROTATE_ARGS_INIT \
  { .size = sizeof(posenc_rerotate_args) }

POSENC_API posenc_status posenc_rerotate(const posenc_rerotate_args* args);

// ---- Into a KV cache ----

typedef int32_t posenc_norm;
enum { POSENC_NO_NORM = 0, POSENC_RMS_NORM = 1, POSENC_L2_NORM = 2, POSENC_LAYER_NORM = 3 };

typedef struct posenc_quantised posenc_quantised;  // a quantised cache: posenc/cache/c_quantised.h

typedef struct posenc_cache_args {
  size_t size;
  posenc_tensor k;
  posenc_tensor v;  // omitted together with v_cache
  posenc_positions positions;
  const posenc_table* table;  // NULL: keys are not rotated
  const posenc_table* const* tables;
  int64_t tables_count;
  posenc_norm norm;             // of the keys: KeyNorm in cache.h
  int32_t norm_after;           // 1: after the rotation
  int32_t norm_over_all_heads;  // 1: not over each head
  int32_t weight_plus_one;      // 1: the weight is what is stored and 1
  double epsilon;
  posenc_tensor norm_weight;  // omitted: without weight
  posenc_tensor norm_bias;
  posenc_tensor k_cache;  // written: [rows, heads, head_dim], or [blocks, block_size, heads, head_dim]
  posenc_tensor v_cache;  // written
  const int64_t* slots;   // [tokens]; -1: the token is not stored
  int64_t slots_count;
  const int32_t* cu_seqlens;
  int64_t cu_seqlens_count;
  int64_t threads;
  posenc_executor executor;
  const posenc_quantised* k_quantised;  // written instead of k_cache, and v_cache; NULL: those are
  const posenc_quantised* v_quantised;
} posenc_cache_args;
#define POSENC_CACHE_ARGS_INIT \
  { .size = sizeof(posenc_cache_args), .epsilon = 1e-6 }

POSENC_API posenc_status posenc_rotate_into_cache(const posenc_cache_args* args);

// ---- The input stage ----

// One of the inputs of a plan's stack, ready for many calls: PreparedInput in add_input.h.
typedef struct posenc_prepared_input posenc_prepared_input;

typedef struct posenc_prepare_input_args {
  size_t size;
  const posenc_plan* plan;    // not used any more after the call
  const char* stack;          // by its name; NULL: the first
  int64_t input;              // counts from 0 within the stack
  int64_t channels;           // of the embeddings; 0: those of the learned table
  posenc_tensor positions;    // a learned table [rows, channels]; its memory must stay until the handle is freed
  posenc_tensor token_types;  // likewise [types, channels]; may be omitted
  const double* scale;        // the learned scale of sinusoids; NULL: there is none
  int64_t start;              // rows of positions start .. start + count - 1 are held, of sinusoids
  int64_t count;
} posenc_prepare_input_args;
#define POSENC_PREPARE_INPUT_ARGS_INIT \
  { .size = sizeof(posenc_prepare_input_args) }

POSENC_API posenc_status posenc_prepare_input(const posenc_prepare_input_args* args, posenc_prepared_input** prepared);
POSENC_API void posenc_prepared_input_free(posenc_prepared_input* prepared);

// Members are those of AddInputArgs in add_input.h, which says shapes and meaning.
typedef struct posenc_add_input_args {
  size_t size;
  const posenc_prepared_input* prepared;
  posenc_tensor x;       // written: [tokens, channels] or [batch, tokens, channels]
  posenc_tensor x_from;  // read instead of x
  posenc_positions positions;
  const int64_t* token_types;  // [tokens] or [batch * tokens]
  int64_t token_types_count;
  int64_t length;         // that divides normalised integers; 0: the tokens of x
  const double* lengths;  // of normalised axis_sines: cells along each axis
  int64_t lengths_count;
  const int32_t* cu_seqlens;  // [sequences + 1]
  int64_t cu_seqlens_count;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_add_input_args;
#define POSENC_ADD_INPUT_ARGS_INIT \
  { .size = sizeof(posenc_add_input_args) }

POSENC_API posenc_status posenc_add_input(const posenc_add_input_args* args);

// ---- Attention ----

// A learned table, by the name that docs/cli.md lists: "table", "hidden.weight", "sinks".
typedef struct posenc_named_tensor {
  const char* name;
  posenc_tensor tensor;
} posenc_named_tensor;

typedef int32_t posenc_mask_kind;
enum { POSENC_CAUSAL = 0, POSENC_BIDIRECTIONAL = 1, POSENC_PREFIX = 2, POSENC_SPARSE = 3 };

// The attention mask of a layer: Mask in plan.h.
typedef struct posenc_mask {
  size_t size;
  posenc_mask_kind kind;
  int32_t has_window;   // 1: visible only where -window_future <= i - j <= window_past
  int64_t window_past;  // tokens
  int64_t window_future;
  int64_t chunk;  // tokens: only keys of the query's own chunk are visible; 0: no chunks
} posenc_mask;
#define POSENC_MASK_INIT \
  { .size = sizeof(posenc_mask) }

// A layer whose weights are prepared once, for many calls of posenc_attend: prepared_layer.h.
typedef struct posenc_prepared_layer posenc_prepared_layer;

typedef struct posenc_prepare_layer_args {
  size_t size;
  const posenc_plan* plan;  // with stack and layer, and mask: as for posenc_attend; not used any more after the call
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;
  const posenc_named_tensor* weights;  // as for posenc_attend; their memory must stay until the handle is freed
  int64_t weights_count;
  int64_t max_distance;  // biases are kept of distances up to here; 0: as PrepareOptions has it
  int64_t threads;       // at most so many; 0: all
  posenc_executor executor;
} posenc_prepare_layer_args;
#define POSENC_PREPARE_LAYER_ARGS_INIT \
  { .size = sizeof(posenc_prepare_layer_args) }

POSENC_API posenc_status posenc_prepare_layer(const posenc_prepare_layer_args* args, posenc_prepared_layer** prepared);
POSENC_API void posenc_prepared_layer_free(posenc_prepared_layer* prepared);

// AttendWork in attend.h.
typedef struct posenc_attend_work {
  int64_t tiles;
  int64_t skipped;
} posenc_attend_work;

// The type of QK^T and PV: f32, or rounded to bfloat16 first where that is faster (docs/attention.md).
typedef int32_t posenc_products;
enum { POSENC_PRODUCTS_F32 = 0, POSENC_PRODUCTS_BF16 = 1 };

// Members are those of AttendArgs in attend.h and of LayerInputs in attention.h, which say shapes and meaning.
typedef struct posenc_attend_args {
  size_t size;
  const posenc_plan* plan;  // with stack and layer: what the layer does, as for posenc_table_of_layer
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;  // NULL: the plan's
  posenc_tensor out;        // written
  posenc_tensor lse;        // written
  posenc_tensor carry;      // read and written
  posenc_tensor q;
  posenc_tensor k;
  posenc_tensor v;
  const posenc_named_tensor* weights;  // all that the layer has, each once
  int64_t weights_count;
  const posenc_positions* q_positions;  // NULL: the order
  const posenc_positions* k_positions;
  const int64_t* q_order;  // [rows]
  int64_t q_order_count;
  const int64_t* k_order;
  int64_t k_order_count;
  const int32_t* cu_seqlens_q;  // [sequences + 1]
  int64_t cu_seqlens_q_count;
  const int32_t* cu_seqlens_k;
  int64_t cu_seqlens_k_count;
  const int32_t* block_table;  // [sequences, blocks of one]: k and v are paged caches
  int64_t block_table_count;
  const int32_t* q_segments;  // [rows]
  int64_t q_segments_count;
  const int32_t* k_segments;
  int64_t k_segments_count;
  posenc_tensor attn_mask;
  posenc_tensor bias;
  posenc_tensor log_forget;
  posenc_tensor row_gate;
  int64_t prefix;  // tokens
  int64_t length;  // of the sequences, for rules that depend on it; 0: as for posenc_table_of_layer
  int32_t q_rotated;
  int32_t k_rotated;
  posenc_angles angles;
  posenc_products products;
  posenc_attend_work* work;  // written
  int32_t (*keep_going)(
      void* keep_going_context);  // called every millisecond or so, by one thread at a time; 0 cancels
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
  const posenc_prepared_layer* prepared;  // instead of plan, stack, layer, mask and weights, which are omitted
  const posenc_quantised* k_quantised;    // instead of k, and v
  const posenc_quantised* v_quantised;
} posenc_attend_args;
#define POSENC_ATTEND_ARGS_INIT \
  { .size = sizeof(posenc_attend_args) }

POSENC_API posenc_status posenc_attend(const posenc_attend_args* args);

// What posenc_attend made of a part of the keys: merge in attend.h.
typedef struct posenc_attend_part {
  posenc_tensor out;
  posenc_tensor lse;
} posenc_attend_part;

typedef struct posenc_merge_args {
  size_t size;
  posenc_tensor out;  // written; may be that of a part
  posenc_tensor lse;  // written, without the sinks; may be omitted
  const posenc_attend_part* parts;
  int64_t parts_count;
  posenc_tensor sinks;  // [heads], or omitted
} posenc_merge_args;
#define POSENC_MERGE_ARGS_INIT \
  { .size = sizeof(posenc_merge_args) }

POSENC_API posenc_status posenc_merge(const posenc_merge_args* args);

// ---- Linear attention ----

typedef int32_t posenc_feature_map;
enum { POSENC_ELU_PLUS_ONE = 0, POSENC_IDENTITY = 1, POSENC_RELU = 2 };

// Members are those of AttendLinearArgs in attend_linear.h, which says shapes and meaning.
typedef struct posenc_attend_linear_args {
  size_t size;
  const posenc_plan* plan;  // with stack and layer, and mask: as for posenc_attend
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;
  posenc_tensor out;  // written
  posenc_tensor q;
  posenc_tensor k;
  posenc_tensor v;
  posenc_tensor products;               // read and written: the state
  posenc_tensor totals;                 // read and written
  const posenc_positions* q_positions;  // NULL: the order
  const posenc_positions* k_positions;
  const int32_t* cu_seqlens_q;  // [sequences + 1]
  int64_t cu_seqlens_q_count;
  const int32_t* cu_seqlens_k;
  int64_t cu_seqlens_k_count;
  int64_t length;  // of the sequences, for rules that depend on it; 0: as for posenc_table_of_layer
  posenc_feature_map feature_map;
  posenc_angles angles;
  int32_t (*keep_going)(void* keep_going_context);  // as for posenc_attend
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_attend_linear_args;
#define POSENC_ATTEND_LINEAR_ARGS_INIT \
  { .size = sizeof(posenc_attend_linear_args) }

POSENC_API posenc_status posenc_attend_linear(const posenc_attend_linear_args* args);

#ifdef __cplusplus
}
#endif

#include "posenc/c_porting.h"
#include "posenc/cache/c.h"
#include "posenc/cache/c_quantised.h"
#include "posenc/distributed/c.h"
#include "posenc/gradients/c.h"

// NOLINTEND(readability-identifier-naming)
#endif  // POSENC_C_H
