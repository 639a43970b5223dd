// Run by mpirun with any number of ranks. Every rank runs every test; all end with what any of them found.
#include <gtest/gtest.h>
#include <mpi.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  testing::InitGoogleTest(&count, arguments);
  const int own = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
