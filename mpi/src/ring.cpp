// attend_ring: what a rank needs comes piece by piece from those that hold it. In turn s rank r has the keys of rank
// r - s; of schemes that sum along the keys, runs of neighbouring rows, from the last to the first.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "agreement.h"
#include "posenc/error.h"
#include "posenc/mpi.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kRing = "mpi::attend_ring";
constexpr int kTag = 7002;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

[[noreturn]] void refuse(const char* field, std::string must, std::string is) {
  throw Error(kRing, {field, std::move(must), std::move(is)});
}

bool sums_along_keys(const ScoreTerm& term) {
  return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
}

// Rows of one owner that travel together.
struct Piece {
  int owner = 0;
  std::int64_t first = 0;  // among the owner's rows
  const Shard* rows = nullptr;
  std::int64_t count() const { return std::ssize(rows->rows); }
};

// What is said of the pieces, and which each rank needs.
struct Schedule {
  Sharding runs{};
  std::vector<Piece> pieces{};
  ShardWork work{};
  std::vector<std::vector<std::int64_t>> turns{};  // [turn][rank]: a piece, or -1

  Schedule(const LayerPlan& layer, const Sharding& queries, const Sharding& keys, std::int64_t prefix, bool in_runs) {
    const auto ranks = std::ssize(queries.ranks);
    if (in_runs) {
      ShardRuns made = runs_of(keys);
      runs = std::move(made.runs);
      std::vector<std::int64_t> taken(keys.ranks.size());
      for (std::size_t n = 0; n < made.owners.size(); ++n) {
        std::int64_t& first = taken[index(made.owners[n])];
        pieces.push_back({static_cast<int>(made.owners[n]), first, &runs.ranks[n]});
        first += pieces.back().count();
      }
      work = shard_work(queries, runs, layer.mask, prefix);
      for (std::int64_t p = std::ssize(pieces); p-- > 0;) {
        turns.emplace_back();
        for (std::int64_t r = 0; r < ranks; ++r) turns.back().push_back(work.pairs_of(r, p) > 0 ? p : -1);
      }
      return;
    }
    for (std::size_t r = 0; r < keys.ranks.size(); ++r) pieces.push_back({static_cast<int>(r), 0, &keys.ranks[r]});
    work = shard_work(queries, keys, layer.mask, prefix);
    for (std::int64_t s = 0; s < ranks; ++s) {
      turns.emplace_back();
      for (std::int64_t r = 0; r < ranks; ++r) {
        const std::int64_t p = (r - s + ranks) % ranks;
        turns.back().push_back(work.pairs_of(r, p) > 0 ? p : -1);
      }
    }
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
};

// A tensor that goes with the keys, row by row.
struct Travelling {
  const std::byte* own = nullptr;
  std::int64_t row_bytes = 0;
};

// One piece here: its rows of each tensor, own or received.
struct Arrived {
  std::vector<const std::byte*> data{};
  std::vector<std::vector<std::byte>> memory{};
  std::vector<MPI_Request> requests{};
};

// Nothing may be freed that MPI still reads or writes, whatever is thrown.
struct Requests {
  std::vector<MPI_Request> all{};
  void wait() {
    if (!all.empty()) MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
    all.clear();
  }
  ~Requests() { wait(); }
};

bool is_dense(const ConstTensorView& x) {
  std::int64_t stride = 1;
  for (int axis = x.rank; axis-- > 0;) {
    if (x.shape[index(axis)] > 1 && x.strides[index(axis)] != stride) return false;
    stride *= x.shape[index(axis)];
  }
  return true;
}

std::int64_t row_bytes(const ConstTensorView& x) {
  std::int64_t elements = 1;
  for (int axis = 1; axis < x.rank; ++axis) elements *= x.shape[index(axis)];
  return elements * bytes_of(x.dtype);
}

void check_rows(const char* field, const ConstTensorView& x, int rank, std::int64_t rows) {
  if (x.rank != rank || x.shape[0] != rows) {
    refuse(field, "have rank " + std::to_string(rank) + " and " + std::to_string(rows) + " rows",
           "of rank " + std::to_string(x.rank) + " and " + std::to_string(x.rank > 0 ? x.shape[0] : 0));
  }
  if (!is_dense(x)) refuse(field, "lie row after row in memory", "strided");
  if (row_bytes(x) > std::numeric_limits<int>::max()) refuse(field, "have rows below 2 GiB", "larger");
}

// Of a part: q_order and so on of the rank's queries, k_order and so on of the piece.
LayerInputs inputs_of(const LayerInputs& given, const Sharding& sharding, const Shard& queries, const Shard& keys) {
  LayerInputs out = given;
  out.q_order = queries.order;
  out.k_order = keys.order;
  if (sharding.axes > 0) out.q_positions = std::span<const double>(queries.positions);
  if (sharding.axes > 0) out.k_positions = std::span<const double>(keys.positions);
  if (sharding.documents > 1) {
    out.cu_seqlens_q = queries.cu_seqlens;
    out.cu_seqlens_k = keys.cu_seqlens;
  }
  return out;
}

struct Ring {
  MPI_Comm comm;
  const LayerPlan& layer;
  const mpi::RingArgs& args;
  const Sharding& queries;
  const Sharding& keys;
  int rank = rank_of(comm);
  int ranks = ranks_of(comm);

  bool in_runs() const { return std::ranges::any_of(layer.score, sums_along_keys); }
  const Shard& own_queries() const { return queries.ranks[index(rank)]; }
  const Shard& own_keys() const { return keys.ranks[index(rank)]; }
  std::int64_t rows(const Shard& shard) const { return std::ssize(shard.rows); }

  std::int64_t check() const;
  std::vector<Travelling> travelling() const;
  void probe() const;
  void run() const;
  void ask(const Schedule& schedule, std::int64_t p, const std::vector<Travelling>& tensors, Arrived& to) const;
};

// The kernels refuse what does not fit the layer, of a query and a key of zeros.
void Ring::probe() const {
  const std::vector<std::byte> zeros(
      index(std::max({row_bytes(args.local.q), row_bytes(args.local.k), row_bytes(args.local.v), std::int64_t{1}})));
  std::vector<float> out(index(layer.heads * layer.value_dim));
  const auto one = [&](ConstTensorView x) {
    x.data = zeros.data();
    x.shape[0] = 1;
    return x;
  };
  const std::vector<float> gates(index(layer.heads));
  const std::vector<std::int32_t> segment(1);
  const std::vector<std::int64_t> order(1);
  const std::vector<double> position(index(std::max<std::int64_t>(queries.axes, 1)));
  LayerInputs inputs = args.local.inputs;
  inputs.q_order = inputs.k_order = order;
  if (queries.axes > 0) inputs.q_positions = inputs.k_positions = std::span<const double>(position);
  if (!inputs.q_segments.empty()) inputs.q_segments = inputs.k_segments = segment;
  if (!inputs.log_forget.empty()) inputs.log_forget = tensor(gates.data(), {1, layer.heads});
  AttendArgs call{.out = tensor(out.data(), {1, layer.heads, layer.value_dim}),
                  .q = one(args.local.q),
                  .k = one(args.local.k),
                  .v = one(args.local.v),
                  .weights = args.local.weights,
                  .inputs = inputs,
                  .parallel = {.threads = 1}};
  (void)attend(layer, call);
}

std::int64_t Ring::check() const {
  const LayerInputs& inputs = args.local.inputs;
  for (const auto& [field, of] : {std::pair{"sharding", &queries}, {"key_sharding", &keys}}) {
    if (std::ssize(of->ranks) != ranks) {
      refuse(field, "deal to the " + std::to_string(ranks) + " ranks of the communicator",
             "to " + std::to_string(of->ranks.size()));
    }
  }
  if (queries.documents != keys.documents || queries.axes != keys.axes) {
    refuse("key_sharding", "have the documents and axes of sharding", "of others");
  }
  if (layer.mask.kind == MaskKind::sparse) refuse("layer.mask", "be a function of orders", "sparse");
  if (std::ranges::count_if(layer.score, sums_along_keys) > 1) {
    refuse("layer", "have at most one scheme that sums along the keys", "of several");
  }
  if (!inputs.attn_mask.empty() || !inputs.bias.empty() || !inputs.row_gate.empty()) {
    refuse("inputs", "have no attn_mask, bias or row_gate, which attend_ring does not cut", "given");
  }
  if (!inputs.q_order.empty() || !inputs.k_order.empty() || inputs.q_positions || inputs.k_positions ||
      !inputs.cu_seqlens_q.empty() || !inputs.cu_seqlens_k.empty()) {
    refuse("inputs", "leave orders, positions and cu_seqlens to the shardings", "given");
  }
  if (!args.local.pages.block_table.empty() || !args.local.carry.empty()) {
    refuse("local", "have neither pages nor carry", "given");
  }
  const std::int64_t q_rows = rows(own_queries());
  const std::int64_t k_rows = rows(own_keys());
  check_rows("q", args.local.q, 3, q_rows);
  check_rows("k", args.local.k, 3, k_rows);
  check_rows("v", args.local.v, 3, k_rows);
  check_rows("out", args.local.out, 3, q_rows);
  if (!args.local.lse.empty()) check_rows("lse", args.local.lse, 2, q_rows);
  if (!inputs.log_forget.empty()) {
    check_rows("log_forget", inputs.log_forget, 2, k_rows);
    if (inputs.log_forget.dtype != DType::f32)
      refuse("log_forget", "be f32", std::string(name(inputs.log_forget.dtype)));
  }
  if (!inputs.k_segments.empty() && std::ssize(inputs.k_segments) != k_rows) {
    refuse("k_segments", "be of the rank's keys", "of others");
  }
  probe();
  (void)Schedule(layer, queries, keys, inputs.prefix, in_runs());
  Digest digest;
  digest.add_layer(layer);
  digest.add_sharding(queries);
  digest.add_sharding(keys);
  for (const DType dtype : {args.local.q.dtype, args.local.k.dtype, args.local.v.dtype}) {
    digest.add_number(static_cast<std::int64_t>(dtype));
  }
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number((inputs.q_rotated ? 1 : 0) + (inputs.k_rotated ? 2 : 0) + (inputs.log_forget.empty() ? 0 : 4) +
                    (inputs.k_segments.empty() ? 0 : 8));
  return digest.value();
}

std::vector<Travelling> Ring::travelling() const {
  std::vector<Travelling> out;
  const auto add = [&](const void* data, std::int64_t bytes) {
    out.push_back({static_cast<const std::byte*>(data), bytes});
  };
  add(args.local.k.data, row_bytes(args.local.k));
  add(args.local.v.data, row_bytes(args.local.v));
  const LayerInputs& inputs = args.local.inputs;
  if (!inputs.log_forget.empty()) add(inputs.log_forget.data, row_bytes(inputs.log_forget));
  if (!inputs.k_segments.empty()) add(inputs.k_segments.data(), std::int64_t{sizeof(std::int32_t)});
  return out;
}

// A datatype of a row, so that the count of rows, not of bytes, is an int.
struct RowType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  explicit RowType(std::int64_t bytes) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;
  ~RowType() { MPI_Type_free(&type); }
};

void Ring::ask(const Schedule& schedule, std::int64_t p, const std::vector<Travelling>& tensors, Arrived& to) const {
  const Piece& piece = schedule.pieces[index(p)];
  for (const Travelling& one : tensors) {
    if (piece.owner == rank) {
      to.data.push_back(one.own + piece.first * one.row_bytes);
      continue;
    }
    std::vector<std::byte>& memory = to.memory.emplace_back(index(piece.count() * one.row_bytes));
    to.data.push_back(memory.data());
    const RowType type(one.row_bytes);
    require(kRing, MPI_Irecv(memory.data(), static_cast<int>(piece.count()), type.type, piece.owner, kTag, comm,
                             &to.requests.emplace_back()));
  }
}

void Ring::run() const {
  const Schedule schedule(layer, queries, keys, args.local.inputs.prefix, in_runs());
  const std::vector<Travelling> tensors = travelling();
  std::int64_t sent = 0;
  Requests sending;
  std::vector<std::int64_t> needed;
  for (const std::vector<std::int64_t>& turn : schedule.turns) {
    for (int to = 0; to < ranks; ++to) {
      const std::int64_t p = turn[index(to)];
      if (p < 0) continue;
      if (to == rank) needed.push_back(p);
      const Piece& piece = schedule.pieces[index(p)];
      if (to == rank || piece.owner != rank) continue;
      for (const Travelling& one : tensors) {
        const RowType type(one.row_bytes);
        require(kRing, MPI_Isend(one.own + piece.first * one.row_bytes, static_cast<int>(piece.count()), type.type, to,
                                 kTag, comm, &sending.all.emplace_back()));
        sent += piece.count() * one.row_bytes;
      }
    }
  }

  const std::int64_t q_rows = rows(own_queries());
  LayerPlan part_layer = layer;
  part_layer.sinks = false;
  LayerWeights weights = args.local.weights;
  weights.sinks = {};
  struct Summed {
    std::vector<float> out, lse;
  };
  const auto empty = [&] {
    return Summed{std::vector<float>(index(q_rows * layer.heads * layer.value_dim)),
                  std::vector<float>(index(q_rows * layer.heads), -std::numeric_limits<float>::infinity())};
  };
  const auto as_out = [&](Summed& x) { return tensor(x.out.data(), {q_rows, layer.heads, layer.value_dim}); };
  const auto as_lse = [&](Summed& x) { return tensor(x.lse.data(), {q_rows, layer.heads}); };
  Summed sum = empty();
  Summed part = empty();
  std::vector<float> carry(index(in_runs() ? q_rows * layer.heads : 0));
  std::vector<Arrived> arrived(needed.size());
  // What was asked for and did not come is waited for, if anything below throws.
  struct Draining {
    std::vector<Arrived>& arrived;
    ~Draining() {
      for (Arrived& one : arrived) {
        if (!one.requests.empty()) {
          MPI_Waitall(static_cast<int>(one.requests.size()), one.requests.data(), MPI_STATUSES_IGNORE);
        }
      }
    }
  } draining{arrived};
  for (std::size_t n = 0; n < needed.size(); ++n) {
    if (n == 0) ask(schedule, needed[0], tensors, arrived[0]);
    if (n + 1 < needed.size()) ask(schedule, needed[n + 1], tensors, arrived[n + 1]);
    Arrived& here = arrived[n];
    if (!here.requests.empty()) {
      require(kRing, MPI_Waitall(static_cast<int>(here.requests.size()), here.requests.data(), MPI_STATUSES_IGNORE));
      here.requests.clear();
    }
    const Piece& piece = schedule.pieces[index(needed[n])];
    const auto of = [&](ConstTensorView x, std::size_t which) {
      x.data = here.data[which];
      x.shape[0] = piece.count();
      return x;
    };
    LayerInputs inputs = inputs_of(args.local.inputs, queries, own_queries(), *piece.rows);
    std::size_t next = 2;
    if (!inputs.log_forget.empty()) inputs.log_forget = of(inputs.log_forget, next++);
    if (!inputs.k_segments.empty()) {
      inputs.k_segments = {reinterpret_cast<const std::int32_t*>(here.data[next]), index(piece.count())};
    }
    Summed& to = n == 0 ? sum : part;
    AttendArgs call = args.local;
    call.out = as_out(to);
    call.lse = as_lse(to);
    call.k = of(args.local.k, 0);
    call.v = of(args.local.v, 1);
    call.weights = weights;
    call.inputs = inputs;
    if (in_runs()) call.carry = tensor(carry.data(), {q_rows, layer.heads});
    (void)attend(part_layer, call);
    here.memory.clear();
    if (n == 0) continue;
    const std::vector<AttendPart> parts{{as_out(sum), as_lse(sum)}, {as_out(part), as_lse(part)}};
    merge({.out = as_out(sum), .lse = as_lse(sum), .parts = parts});
  }
  const std::vector<AttendPart> all{{as_out(sum), as_lse(sum)}};
  merge({.out = args.local.out,
         .lse = args.local.lse,
         .parts = all,
         .sinks = layer.sinks ? args.local.weights.sinks : ConstTensorView{}});
  sending.wait();
  if (args.sent != nullptr) *args.sent = sent;
}

}  // namespace

namespace mpi {

void attend_ring(MPI_Comm comm, const LayerPlan& layer, const RingArgs& args) {
  static const Sharding none;
  const Sharding& queries = args.sharding == nullptr ? none : *args.sharding;
  const Ring ring{comm, layer, args, queries, args.key_sharding == nullptr ? queries : *args.key_sharding};
  agree(comm, kRing, [&] { return ring.check(); });
  ring.run();
}

}  // namespace mpi
}  // namespace posenc
