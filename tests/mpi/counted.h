// What goes through MPI, counted where it is called: counted.cpp stands in for MPI_Isend and MPI_Send (MPI-3.1, 14.2).
#pragma once

#include <cstdint>

namespace posenc::test::mpi_test {

// Bytes that this rank has sent to others, ever.
std::int64_t bytes_sent();

}  // namespace posenc::test::mpi_test
