// Backward passes in C, by the conventions of c.h, which includes this: of attention, of linear attention, of the input
// stage and of keys and values on their way into a cache.
#ifndef POSENC_C_GRADIENTS_H
#define POSENC_C_GRADIENTS_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include "posenc/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Attention ----

// The gradient of a learned tensor, by the name that gradient_names() of attend_backward.h has for it: those of
// posenc_named_tensor, "inv_freq", "slopes".
typedef struct posenc_named_gradient {
  const char* name;
  posenc_tensor gradient;  // written
} posenc_named_gradient;

// Members are those of AttendBackwardArgs in attend_backward.h, and up to `lse` what posenc_attend was given and wrote.
typedef struct posenc_attend_backward_args {
  size_t size;
  const posenc_plan* plan;
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;
  posenc_tensor q;
  posenc_tensor k;
  posenc_tensor v;
  const posenc_named_tensor* weights;
  int64_t weights_count;
  const posenc_positions* q_positions;
  const posenc_positions* k_positions;
  const int64_t* q_order;
  int64_t q_order_count;
  const int64_t* k_order;
  int64_t k_order_count;
  const int32_t* cu_seqlens_q;
  int64_t cu_seqlens_q_count;
  const int32_t* cu_seqlens_k;
  int64_t cu_seqlens_k_count;
  const int32_t* block_table;
  int64_t block_table_count;
  const int32_t* q_segments;
  int64_t q_segments_count;
  const int32_t* k_segments;
  int64_t k_segments_count;
  posenc_tensor attn_mask;
  posenc_tensor bias;
  posenc_tensor log_forget;
  posenc_tensor row_gate;
  int64_t prefix;
  int64_t length;
  int32_t q_rotated;
  int32_t k_rotated;
  posenc_tensor out;
  posenc_tensor lse;
  posenc_tensor d_out;
  posenc_tensor d_lse;  // may be omitted
  posenc_tensor d_q;    // written, as all that follow; each may be omitted
  posenc_tensor d_k;
  posenc_tensor d_v;
  const posenc_named_gradient* d_weights;
  int64_t d_weights_count;
  posenc_tensor d_bias;
  posenc_tensor d_log_forget;
  posenc_tensor d_row_gate;
  posenc_tensor carry;                              // read; of a part of the keys
  posenc_tensor d_carry;                            // read and written
  int32_t (*keep_going)(void* keep_going_context);  // as for posenc_attend
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
  const posenc_prepared_layer* prepared;  // instead of plan, stack, layer, mask and weights, which are omitted
} posenc_attend_backward_args;
#define POSENC_ATTEND_BACKWARD_ARGS_INIT \
  { .size = sizeof(posenc_attend_backward_args) }

POSENC_API posenc_status posenc_attend_backward(const posenc_attend_backward_args* args);

// ---- Linear attention ----

// Members are those of AttendLinearBackwardArgs in attend_linear.h: the gradients of a call without a state.
typedef struct posenc_attend_linear_backward_args {
  size_t size;
  const posenc_plan* plan;
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;
  posenc_tensor q;
  posenc_tensor k;
  posenc_tensor v;
  const posenc_positions* q_positions;
  const posenc_positions* k_positions;
  const int32_t* cu_seqlens_q;
  int64_t cu_seqlens_q_count;
  const int32_t* cu_seqlens_k;
  int64_t cu_seqlens_k_count;
  int64_t length;
  posenc_feature_map feature_map;
  posenc_angles angles;
  posenc_tensor d_out;
  posenc_tensor d_q;  // written, as all that follow; each may be omitted
  posenc_tensor d_k;
  posenc_tensor d_v;
  const posenc_named_gradient* d_weights;
  int64_t d_weights_count;
  int32_t (*keep_going)(void* keep_going_context);  // as for posenc_attend
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_attend_linear_backward_args;
#define POSENC_ATTEND_LINEAR_BACKWARD_ARGS_INIT \
  { .size = sizeof(posenc_attend_linear_backward_args) }

POSENC_API posenc_status posenc_attend_linear_backward(const posenc_attend_linear_backward_args* args);

// ---- The input stage ----

// Members are those of AddInputBackwardArgs in add_input.h.
typedef struct posenc_add_input_backward_args {
  size_t size;
  const posenc_prepared_input* prepared;
  posenc_tensor d_out;
  posenc_tensor x;  // where rows multiply
  posenc_positions positions;
  const int64_t* token_types;  // [tokens] or [batch * tokens]
  int64_t token_types_count;
  int64_t length;
  const double* lengths;
  int64_t lengths_count;
  const int32_t* cu_seqlens;
  int64_t cu_seqlens_count;
  posenc_tensor d_x;  // written, as all that follow; each may be omitted
  posenc_tensor d_positions;
  posenc_tensor d_token_types;
  posenc_tensor d_scale;
  int32_t (*keep_going)(void* keep_going_context);  // as for posenc_attend
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_add_input_backward_args;
#define POSENC_ADD_INPUT_BACKWARD_ARGS_INIT \
  { .size = sizeof(posenc_add_input_backward_args) }

POSENC_API posenc_status posenc_add_input_backward(const posenc_add_input_backward_args* args);

// ---- Keys and values into a cache ----

// Members are those of CacheBackwardArgs in cache/backward.h; of the norm as in posenc_cache_args.
typedef struct posenc_cache_backward_args {
  size_t size;
  posenc_tensor d_k_cache;  // of the shape of what posenc_rotate_into_cache wrote
  posenc_tensor d_v_cache;  // omitted together with d_v
  posenc_tensor k;
  posenc_positions positions;
  const posenc_table* table;  // NULL: keys were not rotated
  const posenc_table* const* tables;
  int64_t tables_count;
  posenc_norm norm;
  int32_t norm_after;
  int32_t norm_over_all_heads;
  int32_t weight_plus_one;
  double epsilon;
  posenc_tensor norm_weight;
  posenc_tensor norm_bias;
  const int64_t* slots;  // [tokens]
  int64_t slots_count;
  const int32_t* cu_seqlens;
  int64_t cu_seqlens_count;
  posenc_tensor d_k;  // written, as all that follow; each may be omitted
  posenc_tensor d_v;
  posenc_tensor d_norm_weight;
  posenc_tensor d_norm_bias;
  int32_t (*keep_going)(void* keep_going_context);  // as for posenc_attend
  void* keep_going_context;
  int64_t threads;  // at most so many; 0: all
  posenc_executor executor;
} posenc_cache_backward_args;
#define POSENC_CACHE_BACKWARD_ARGS_INIT \
  { .size = sizeof(posenc_cache_backward_args), .epsilon = 1e-6 }

POSENC_API posenc_status posenc_rotate_into_cache_backward(const posenc_cache_backward_args* args);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)
#endif  // POSENC_C_GRADIENTS_H
