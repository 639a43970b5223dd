// How a batch is dealt to ranks (posenc/distributed/shard.h), as Python sees it.
#pragma once

#include "convert.h"
#include "describe/described.h"
#include "posenc/distributed/shard.h"

namespace posenc::python {

// clang-format off
template <> struct Last<Dealing> : LastIs<Dealing::balanced> {};
template <> struct Last<ContextMode> : LastIs<ContextMode::hybrid> {};
// clang-format on

constexpr auto description(Type<RankCost>) {
  using T = RankCost;
  return described_as<T>(
      "RankCost", "What one rank computes, sends and holds.",
      member("query_rows", &T::query_rows, "That it computes, of all tokens of its group where heads are dealt."),
      member("pairs", &T::pairs, "Of a query and a key that it sees, of each of its heads."),
      member("tiles", &T::tiles, "Of 64 queries and 64 keys, of which any is seen."), member("heads", &T::heads),
      member("kv_heads", &T::kv_heads),
      member("flops", &T::flops, "Of the products of the forward pass: 2 pairs heads (head_dim + value_dim)."),
      member("forward_sent", &T::forward_sent, "Bytes."), member("backward_sent", &T::backward_sent, "Bytes."),
      member("held_keys", &T::held_keys, "Rows of keys at a time, its own and those of others."));
}

}  // namespace posenc::python
