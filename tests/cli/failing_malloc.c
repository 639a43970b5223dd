// malloc and its kin, made to fail: loaded before the C library (LD_PRELOAD) by memory_test.py.
//
// POSENC_FAIL_AT=N: call N, counted from 1, gives no memory; with POSENC_FAIL_ON=1 all after it too.
// POSENC_COUNT_IN=FILE: where to write how many calls there were, at the end of a process that ends by exit().
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// NOLINTBEGIN(readability-*): the C library names these.
// glibc's own, under the names by which others may put something before them.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static _Atomic long calls;
static long fail_at = -1;  // not read yet
static int fail_on;

static int fails(void) {
  if (fail_at < 0) {  // the loader calls before any constructor
    const char* at = getenv("POSENC_FAIL_AT");
    fail_on = getenv("POSENC_FAIL_ON") != NULL;
    fail_at = at == NULL ? 0 : strtol(at, NULL, 10);
  }
  const long call = ++calls;
  if (fail_at == 0 || (fail_on ? call < fail_at : call != fail_at)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* block, size_t size) { return fails() ? NULL : __libc_realloc(block, size); }
void* memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const got = memalign(alignment, size);
  if (got == NULL) return ENOMEM;
  *block = got;
  return 0;
}

// NOLINTEND(readability-*)
__attribute__((destructor)) static void report(void) {
  const char* const path = getenv("POSENC_COUNT_IN");
  if (path == NULL) return;
  char text[32];
  const int length = snprintf(text, sizeof text, "%ld\n", (long)calls);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write(file, text, (size_t)length) != length) _exit(99);
  close(file);
}
