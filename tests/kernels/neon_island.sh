#!/bin/sh
# The island for AArch64, where its compiler is installed: it compiles without a warning, leaks no symbol
# (island_symbols.sh) and, where QEMU runs it and this machine has AVX2, gives the bits of the AVX2 kernels.
#
# usage: neon_island.sh SOURCE_DIR COMPILER      COMPILER: this machine's
set -eu

root=$1
native=$2
arm=aarch64-linux-gnu-g++
kernels=$root/src/kernels
flags='-std=c++20 -O2 -ffp-contract=off -fno-exceptions -fno-math-errno'
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers -Werror'

command -v $arm >/dev/null 2>&1 || { echo "skipped: there is no $arm (Debian: g++-aarch64-linux-gnu)"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2086  # lists of words
$arm $flags $warnings -static -DPOSENC_ISA_SUFFIX=neon -I "$root/src" \
  "$kernels"/*_neon.cpp "$kernels"/*/*_neon.cpp "$root/tests/kernels/island_bits.cpp" -o "$folder/neon"
# shellcheck disable=SC2086
$arm -std=c++20 -O2 $warnings -I "$root/src" -I "$root/include" -c "$root/src/cpu/machine/arm/machine.cpp" \
  -o "$folder/machine.o"

set --
for source in "$kernels"/*_neon.cpp "$kernels"/*/*_neon.cpp; do set -- "$@" "$source -fno-exceptions -fno-math-errno"; done
"$root/tests/kernels/island_symbols.sh" $arm "$root" "$@"

if ! command -v qemu-aarch64 >/dev/null 2>&1; then
  echo 'bits not compared: there is no qemu-aarch64 (Debian: qemu-user)'
elif ! grep -qw avx2 /proc/cpuinfo 2>/dev/null; then
  echo 'bits not compared: this machine has no AVX2'
else
  qemu-aarch64 "$folder/neon" >"$folder/neon.txt"
  # shellcheck disable=SC2086
  "$native" $flags -mavx2 -mfma -mf16c -DPOSENC_ISA_SUFFIX=avx2 -I "$root/src" \
    "$kernels"/*_avx2.cpp "$kernels"/*/*_avx2.cpp "$root/tests/kernels/island_bits.cpp" -o "$folder/avx2"
  "$folder/avx2" >"$folder/avx2.txt"
  [ "$(wc -l <"$folder/avx2.txt")" -gt 400 ] || { echo 'the comparison is blind'; exit 1; }
  diff "$folder/avx2.txt" "$folder/neon.txt"
  echo "same bits as AVX2: $(wc -l <"$folder/neon.txt") cases"
fi
