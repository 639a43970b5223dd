// Which rows of which tensors move, and why those that cannot move make the whole checkpoint refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/head_rows.h"
#include "convert/layer_rotations.h"
#include "posenc/convert.h"

namespace posenc::conversion {

// How a tensor's rows make the numbers of q or k, for the check of scores.
enum class RowUse : std::uint8_t { adds, multiplies };

struct TensorMove {
  std::size_t entry = 0;  // of io::TensorList::tensors
  ConvertedPart part = ConvertedPart::queries;
  RowUse use = RowUse::adds;
  std::int64_t layer = 0;
  std::int64_t row_bytes = 0;
  std::vector<HeadRows> heads;  // one, or of a fused tensor two
};

// The tensors of one attention, for the check of scores.
struct AttentionMoves {
  std::string module;              // "model.layers.3.self_attn."
  std::vector<std::size_t> moves;  // into RowMoves::moves
};

struct RowMoves {
  std::vector<TensorMove> moves;  // in the order of entries
  std::vector<AttentionMoves> attentions;
  std::vector<std::string> notes;
  bool adapter = false;
};

struct MoveOptions {
  std::optional<std::int64_t> padded_head_dim{};
};

Result<RowMoves> find_row_moves(const Checkpoint& checkpoint, const Plan& plan, const StackRotations& rotations,
                                const MoveOptions& options);

}  // namespace posenc::conversion
