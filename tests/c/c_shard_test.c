// How a batch is dealt to ranks through the C ABI: what ranks hold, what they cost, and what is refused.
#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "posenc/c.h"

static const char kLlama[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
    " \"num_hidden_layers\": 1, \"vocab_size\": 8, \"max_position_embeddings\": 128, \"head_dim\": 16}";

// Two documents of 8 and of 4 tokens on 2 ranks, in zigzag: of the second, the ranks change places.
static void expect_rows(const posenc_sharding* sharding) {
  static const int64_t rows[2][6] = {{0, 1, 6, 7, 9, 10}, {2, 3, 4, 5, 8, 11}};
  static const int64_t order[2][6] = {{0, 1, 6, 7, 1, 2}, {2, 3, 4, 5, 0, 3}};
  for (int64_t r = 0; r < 2; ++r) {
    posenc_rank_rows own = POSENC_RANK_ROWS_INIT;
    EXPECT(posenc_sharding_rank(sharding, r, &own) == POSENC_OK);
    EXPECT(own.count == 6 && own.documents_count == 2 && own.axes == 1);
    EXPECT(memcmp(own.rows, rows[r], sizeof rows[r]) == 0);
    EXPECT(memcmp(own.order, order[r], sizeof order[r]) == 0);
    EXPECT(own.cu_seqlens[1] == 4 && own.cu_seqlens[2] == 6);
    for (int n = 0; n < 6; ++n) {
      EXPECT(own.documents[n] == (n >= 4));
      EXPECT(own.positions[n] == (double)(100 + order[r][n]));
    }
  }
  const int64_t* places = NULL;
  int64_t tokens = 0;
  EXPECT(posenc_sharding_places(sharding, &places, &tokens) == POSENC_OK);
  EXPECT(tokens == 12 && places[0] == 0 && places[2] == 6 && places[11] == 11);
  posenc_rank_rows none = POSENC_RANK_ROWS_INIT;
  EXPECT(posenc_sharding_rank(sharding, 2, &none) == POSENC_WRONG_ARGUMENT);
  EXPECT(strcmp(posenc_last_error(), "[posenc_sharding_rank] rank must be from 0 to 1 but is 2") == 0);
}

static void expect_costs(const posenc_sharding* sharding) {
  posenc_plan* plan = NULL;
  EXPECT(posenc_plan_read_bytes(kLlama, strlen(kLlama), "config.json", &plan) == POSENC_OK);
  posenc_shard_cost_args args = POSENC_SHARD_COST_ARGS_INIT;
  args.plan = plan;
  args.queries = sharding;
  args.key_bytes = 2;
  posenc_rank_cost costs[2];
  EXPECT(posenc_shard_cost(&args, costs, 2) == POSENC_OK);
  EXPECT(costs[0].pairs + costs[1].pairs == 8 * 9 / 2 + 4 * 5 / 2);
  EXPECT(costs[0].forward_sent == 6 * 2 * (16 + 16) * 2);
  EXPECT(costs[0].backward_sent == costs[0].forward_sent + 6 * 2 * (16 + 16) * 4);
  EXPECT(posenc_shard_cost(&args, costs, 1) == POSENC_WRONG_ARGUMENT);
  args.mode = 7;
  EXPECT(posenc_shard_cost(&args, costs, 2) == POSENC_WRONG_ARGUMENT);
  posenc_plan_free(plan);
}

int main(void) {
  static const int32_t ends[] = {0, 8, 12};
  posenc_positions positions = {.type = POSENC_COUNTED, .start = 100};
  posenc_shard_args args = POSENC_SHARD_ARGS_INIT;
  args.ranks = 2;
  args.dealing = POSENC_DEAL_ZIGZAG;
  args.cu_seqlens = ends;
  args.cu_seqlens_count = 3;
  args.positions = &positions;
  posenc_sharding* sharding = NULL;
  EXPECT(posenc_shard(&args, &sharding) == POSENC_OK);
  expect_rows(sharding);
  expect_costs(sharding);
  posenc_sharding_free(sharding);
  args.dealing = 9;
  EXPECT(posenc_shard(&args, &sharding) == POSENC_WRONG_ARGUMENT);
  EXPECT(strcmp(posenc_last_error(), "[posenc_shard] dealing must be a POSENC_DEAL_ but is 9") == 0);
  args.dealing = POSENC_DEAL_ZIGZAG;
  args.size = 8;
  EXPECT(posenc_shard(&args, &sharding) == POSENC_WRONG_ARGUMENT);
  return verdict();
}
