// What may be done with a KV cache, and views of one, in C, by the conventions of posenc/c.h, which includes this.
#ifndef POSENC_CACHE_C_H
#define POSENC_CACHE_C_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include "posenc/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Verdicts ----

// In the order of CacheOperation, StoredKeys and Reuse in cache/reuse.h, which says what they are.
typedef int32_t posenc_cache_operation;
enum {
  POSENC_SHIFT = 0,
  POSENC_FRONT_TRIM = 1,
  POSENC_SPLICE = 2,
  POSENC_REORDER = 3,
  POSENC_MERGE = 4,
  POSENC_EVICT = 5,
  POSENC_SINKS = 6,
  POSENC_SWITCH_RULE = 7,
  POSENC_SHARE = 8
};
typedef int32_t posenc_reuse;
enum { POSENC_EXACT = 0, POSENC_APPROXIMATE = 1, POSENC_NO_REUSE = 2 };

typedef struct posenc_reuse_args {
  size_t size;
  const posenc_plan* plan;
  const char* stack;  // NULL: the first that decodes, else that caches
  int64_t layer;      // its place in the stack
  posenc_cache_operation operation;
  int32_t keys_rotated;       // keys are stored with RoPE applied
  const posenc_plan* reader;  // of POSENC_SHARE; NULL: the plan with every base doubled
} posenc_reuse_args;
#define POSENC_REUSE_ARGS_INIT \
  { .size = sizeof(posenc_reuse_args) }

typedef struct posenc_reuse_verdict_out {
  posenc_reuse reuse;
  int32_t reserved;
  int64_t reach;        // tokens behind an edge; -1: all
  int64_t period;       // 0: none
  int64_t exact_below;  // 0: nowhere
} posenc_reuse_verdict_out;

// The verdict, and with its reasons as JSON in `text` (as ReuseVerdict's; `*size` as for posenc_plan_json). Both may be
// NULL, then size too.
POSENC_API posenc_status posenc_reuse_verdict(const posenc_reuse_args* args, posenc_reuse_verdict_out* verdict,
                                              char* text, size_t* size);

// Sizes, verdicts and, with `simulate`, what shifts by `shift_by` leave, as JSON (docs/cache.schema.json). `stack` as
// above; shift_by 0: 1.
POSENC_API posenc_status posenc_study_cache(const posenc_plan* plan, const char* stack, int32_t simulate,
                                            int64_t shift_by, char* text, size_t* size);

// ---- Views ----

// A CacheView (cache/view.h). Unlike other handles it changes: a thread at a time.
typedef struct posenc_cache_view posenc_cache_view;

POSENC_API posenc_status posenc_cache_view_new(int64_t block_size, int64_t axes, posenc_cache_view** view);
POSENC_API void posenc_cache_view_free(posenc_cache_view* view);
POSENC_API int64_t posenc_cache_view_tokens(const posenc_cache_view* view);         // 0 for NULL
POSENC_API int64_t posenc_cache_view_next_position(const posenc_cache_view* view);  // 0 for NULL

// `coordinates` [axes, count]; NULL: they count on from the next position.
POSENC_API posenc_status posenc_cache_view_append(posenc_cache_view* view, int64_t slot, int64_t count,
                                                  const int64_t* coordinates);
POSENC_API posenc_status posenc_cache_view_shift(posenc_cache_view* view, int64_t by);
// `open`: not 0: those behind them stay where they stand.
POSENC_API posenc_status posenc_cache_view_erase(posenc_cache_view* view, int64_t first, int64_t count, int32_t open);
POSENC_API posenc_status posenc_cache_view_passage(const posenc_cache_view* view, int64_t first, int64_t count,
                                                   posenc_cache_view** passage);
POSENC_API posenc_status posenc_cache_view_insert(posenc_cache_view* view, int64_t at,
                                                  const posenc_cache_view* passage);

// ViewRows: arrays that posenc_attend takes by these names. They belong to the handle and end with it.
typedef struct posenc_view_rows posenc_view_rows;
POSENC_API posenc_status posenc_view_rows_new(const posenc_cache_view* const* views, const int64_t* queries,
                                              int64_t count, posenc_view_rows** rows);
POSENC_API void posenc_view_rows_free(posenc_view_rows* rows);
// Sets block_table, cu_seqlens_q and _k, q_order and k_order of `args`, and q_positions and k_positions, of which the
// structs are the handle's.
POSENC_API posenc_status posenc_view_rows_give(const posenc_view_rows* rows, posenc_attend_args* args);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)
#endif  // POSENC_CACHE_C_H
