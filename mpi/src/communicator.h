// The library's messages have a communicator of their own, so that they meet none of the caller's: neither their tags
// nor a receive that the caller has open for any tag (MPI-3.1, 6.1).
#pragma once

#include <mpi.h>

namespace posenc::mpi_library {

// Of the same ranks; made by the first call of all ranks, kept as an attribute of comm, freed with it.
MPI_Comm own_communicator(const char* where, MPI_Comm comm);

// What a call of MPI answered. With MPI_ERRORS_ARE_FATAL, the default, it has ended the job before.
void require(const char* where, int answer);

int rank_of(MPI_Comm comm);
int ranks_of(MPI_Comm comm);

}  // namespace posenc::mpi_library
