#include "communicator.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

// Attributes are pointers; a communicator is a pointer (Open MPI) or an int (MPICH), and is stored in place of one.
constexpr std::size_t kBytes = sizeof(MPI_Comm);  // NOLINT(bugprone-sizeof-expression): of the handle
static_assert(kBytes <= sizeof(void*));

int free_own(MPI_Comm /*comm*/, int /*key*/, void* kept, void* /*extra*/) {
  MPI_Comm own = MPI_COMM_NULL;
  std::memcpy(&own, &kept, kBytes);
  return MPI_Comm_free(&own);
}

int made_key() {
  int key = MPI_KEYVAL_INVALID;
  require("mpi", MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_own, &key, nullptr));
  return key;
}

}  // namespace

MPI_Comm own_communicator(const char* where, MPI_Comm comm) {
  static const int key = made_key();
  void* kept = nullptr;
  int is_there = 0;
  require(where, MPI_Comm_get_attr(comm, key, static_cast<void*>(&kept), &is_there));
  MPI_Comm own = MPI_COMM_NULL;
  if (is_there != 0) {
    std::memcpy(&own, &kept, kBytes);
    return own;
  }
  require(where, MPI_Comm_dup(comm, &own));
  std::memcpy(&kept, &own, kBytes);
  require(where, MPI_Comm_set_attr(comm, key, kept));
  return own;
}

void require(const char* where, int answer) {
  if (answer == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(answer, text, &length);
  throw Error(where, {"comm", "answer", std::string(text, static_cast<std::size_t>(length))});
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  require("mpi", MPI_Comm_rank(comm, &rank));
  return rank;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  require("mpi", MPI_Comm_size(comm, &ranks));
  return ranks;
}

}  // namespace posenc::mpi_library
