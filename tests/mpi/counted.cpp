#include "mpi/counted.h"

#include <mpi.h>

namespace {

std::int64_t sent = 0;

void add(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  sent += std::int64_t{count} * size;
}

}  // namespace

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  add(count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  add(count, type);
  return PMPI_Send(data, count, type, to, tag, comm);
}

namespace posenc::test::mpi_test {

std::int64_t bytes_sent() { return sent; }

}  // namespace posenc::test::mpi_test
