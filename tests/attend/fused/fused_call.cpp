#include "attend/fused/fused_call.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "attend/fused/in_dtype.h"

namespace posenc::test {
namespace {

// What a call views: elements at strides of its own, between bytes that are NaN.
struct Stored {
  Stored(std::int64_t size, std::optional<Edge> guard) {
    if (guard) {
      guarded = std::make_unique<GuardedMemory>(size, *guard, 0);
    } else {
      bytes.resize(static_cast<std::size_t>(size));
    }
    view.data = guard ? guarded->data() : bytes.data();
    std::fill_n(memory(), size, std::byte{0xFF});
  }
  std::byte* memory() const { return static_cast<std::byte*>(view.data); }

  std::vector<std::byte> bytes{};
  std::unique_ptr<GuardedMemory> guarded{};
  TensorView view{};

  void copy(const std::vector<std::byte>& elements, const Tensor& like, bool is_written) {
    const auto size = static_cast<std::size_t>(bytes_of(view.dtype));
    std::size_t n = 0;
    std::array<std::int64_t, 4> at{};
    for (std::size_t left = elements.size() / size; left-- > 0; ++n) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < like.shape.size(); ++axis) offset += at[axis] * view.strides[axis];
      std::byte* const own = memory() + static_cast<std::size_t>(offset) * size;
      const std::byte* const other = elements.data() + n * size;
      if (is_written) {
        std::copy_n(own, size, const_cast<std::byte*>(other));
      } else {
        std::copy_n(other, size, own);
      }
      for (std::size_t axis = like.shape.size(); axis-- > 0 && ++at[axis] == like.shape[axis];) at[axis] = 0;
    }
  }
};

Stored stored(const Tensor& like, const std::vector<std::byte>& elements, DType dtype, const FusedWay& way) {
  TensorView view = Tensor(like).writable();
  view.dtype = dtype;
  std::int64_t stride = 1;
  for (std::size_t axis = like.shape.size(); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= like.shape[axis];
    if (axis + 1 == like.shape.size()) stride += way.padding;
  }
  Stored out(stride * bytes_of(dtype), way.guard);
  view.data = out.memory();
  out.view = view;
  out.copy(elements, like, false);
  return out;
}

// Tokens of packed sequences in blocks, those of the last token first.
Stored in_blocks(const Tensor& like, const std::vector<std::byte>& elements, DType dtype,
                 const std::vector<std::int32_t>& table, const FusedWay& way, std::span<const std::int32_t> ends) {
  const auto row = static_cast<std::size_t>(like.shape[1] * like.shape[2] * bytes_of(dtype));
  const auto blocks = static_cast<std::int64_t>(table.size());
  const std::int64_t block_size = way.block_size;
  Stored out(blocks * block_size * static_cast<std::int64_t>(row), way.guard);
  const std::int64_t of_sequence = blocks / (std::ssize(ends) - 1);
  for (std::int64_t s = 0; s + 1 < std::ssize(ends); ++s) {
    const std::int32_t first = ends[static_cast<std::size_t>(s)];
    for (std::int64_t t = 0; t < ends[static_cast<std::size_t>(s + 1)] - first; ++t) {
      const std::int64_t block = table[static_cast<std::size_t>(s * of_sequence + t / block_size)];
      std::copy_n(elements.data() + static_cast<std::size_t>(first + t) * row, row,
                  out.memory() + static_cast<std::size_t>(block * block_size + t % block_size) * row);
    }
  }
  out.view = {.data = out.memory(),
              .dtype = dtype,
              .rank = 4,
              .shape = {blocks, block_size, like.shape[1], like.shape[2]},
              .strides = {block_size * like.shape[1] * like.shape[2], like.shape[1] * like.shape[2], like.shape[2], 1}};
  return out;
}

}  // namespace

FusedCall::FusedCall(SchemeCall& call, DType dtype, Products products)
    : call_(call),
      dtype_(dtype),
      products_(products),
      q_(in_dtype(call.q.values, dtype)),
      k_(in_dtype(call.k.values, dtype)),
      v_(in_dtype(call.v.values, dtype)) {}

SchemeCall::Result FusedCall::by_kernels(Isa isa, const FusedWay& way) {
  Tensor like{{}, call_.q.shape};
  like.shape.back() = call_.layer.value_dim;
  const std::size_t rows = call_.q.values.size() / static_cast<std::size_t>(call_.layer.head_dim);
  const std::size_t elements = rows * static_cast<std::size_t>(call_.layer.value_dim);
  std::vector<std::byte> written(elements * static_cast<std::size_t>(bytes_of(dtype_)), std::byte{0xFF});
  Stored out = stored(like, written, dtype_, way);
  std::vector<float> lse(rows);
  Tensor lse_like{{}, call_.q.shape};
  lse_like.shape.pop_back();
  TensorView lse_view = lse_like.writable();
  lse_view.data = lse.data();
  lse_view.dtype = DType::f32;
  const Stored q = stored(call_.q, q_, dtype_, way);
  LayerInputs inputs = call_.inputs;
  std::vector<std::int32_t> table;
  const std::array<std::int32_t, 2> all_q{0, static_cast<std::int32_t>(call_.sizes.queries)};
  const std::array<std::int32_t, 2> all_k{0, static_cast<std::int32_t>(call_.sizes.keys)};
  if (way.block_size > 0) {
    if (inputs.cu_seqlens_q.empty()) {
      inputs.cu_seqlens_q = all_q;
      inputs.cu_seqlens_k = all_k;
    }
    const auto blocks =
        (std::ssize(inputs.cu_seqlens_k) - 1) * ((call_.sizes.keys + way.block_size - 1) / way.block_size);
    for (std::int64_t n = blocks; n-- > 0;) table.push_back(static_cast<std::int32_t>(n));
  }
  const auto of_keys = [&](const Tensor& x, const std::vector<std::byte>& bytes) {
    return way.block_size > 0 ? in_blocks(x, bytes, dtype_, table, way, inputs.cu_seqlens_k)
                              : stored(x, bytes, dtype_, way);
  };
  const Stored k = of_keys(call_.k, k_);
  const Stored v = of_keys(call_.v, v_);
  AttendArgs args{.out = out.view,
                  .q = q.view,
                  .k = k.view,
                  .v = v.view,
                  .pages = {.block_table = table},
                  .weights = call_.weights,
                  .inputs = inputs,
                  .lse = lse_view,
                  .products = products_,
                  .parallel = {.threads = way.threads, .executor = way.executor},
                  .isa = isa,
                  .work = way.work};
  const auto with_layer = [&](const auto& layer) {
    if (way.spare_scratch) {
      scratch.resize(static_cast<std::size_t>(attend_scratch_bytes(layer, args) + *way.spare_scratch));
      args.scratch = scratch;
    }
    (void)attend(layer, args);
  };
  if (way.prepared == nullptr) {
    with_layer(call_.layer);
  } else {
    args.weights = {};
    with_layer(*way.prepared);
  }
  out.copy(written, like, true);
  return {
      cpu::read_all(tensor(static_cast<const void*>(written.data()), dtype_, {static_cast<std::int64_t>(elements)})),
      {lse.begin(), lse.end()}};
}

}  // namespace posenc::test
