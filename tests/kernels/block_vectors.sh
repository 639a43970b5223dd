#!/bin/sh
# tests/kernels/block_vectors.inc is what scripts/block_vectors.py writes, by the Python that has gguf where there is one.
#
# usage: block_vectors.sh PYTHON SOURCE_DIR
set -eu

root=$2
for python in "$root/build/oracles/bin/python3" "$root/build/python/bin/python3" "$1"; do
  [ -x "$python" ] || continue
  "$python" -c 'import numpy' 2>/dev/null || continue
  exec "$python" "$root/scripts/block_vectors.py" --check "$root"
done
echo 'skipped: there is no numpy'
exit 77
