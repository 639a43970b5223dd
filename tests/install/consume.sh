#!/bin/sh
# Installs posenc, or builds somebody else's program with it and runs that.
#
#   consume.sh install BUILD PREFIX
#   consume.sh cmake SOURCE BUILD [-D...]
#   consume.sh pkg_config PREFIX BUILD static|shared COMPILER SOURCE     (reads CXXFLAGS)
#   consume.sh pip PYTHON SOURCE WORK CONSUMER [arguments of pip]
set -eu

install_tree() {  # BUILD PREFIX
  rm -rf "$2"  # a file that is no longer installed must not be found
  cmake --install "$1" --prefix "$2"
}

consume_by_cmake() {  # SOURCE BUILD [-D...]
  source=$1
  build=$2
  shift 2
  cmake -S "$source" -B "$build" "$@"
  cmake --build "$build" --parallel "$("$jobs")"
  "$build/consumer"
}

consume_by_pkg_config() {  # PREFIX BUILD KIND COMPILER SOURCE
  pc=$(find "$1" -name posenc.pc)
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  kind=''
  if [ "$3" = static ]; then kind=--static; fi
  # shellcheck disable=SC2086  # the empty word is no word
  flags=$(pkg-config $kind --cflags --libs posenc)
  library_dir=$(pkg-config --variable=libdir posenc)
  mkdir -p "$2"
  # shellcheck disable=SC2086  # lists of words
  "$4" -std=c++20 ${CXXFLAGS:-} "$5" $flags -o "$2/consumer"
  LD_LIBRARY_PATH=$library_dir "$2/consumer"
}

# A wheel, made by what PYTHON has, goes into a virtual environment that has nothing else.
consume_by_pip() {  # PYTHON SOURCE WORK CONSUMER [arguments of pip]
  python=$1
  source=$2
  work=$3
  consumer=$4
  shift 4
  rm -rf "$work/wheel" "$work/venv"
  CMAKE_BUILD_PARALLEL_LEVEL=$("$jobs") "$python" -m pip wheel "$source" --wheel-dir "$work/wheel" \
    --no-build-isolation --no-deps --no-index --config-settings build-dir="$work/build" "$@"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/python3" -m pip install --no-index "$work"/wheel/posenc-*.whl
  cd "$work"
  "$work/venv/bin/posenc" info >"$work/command.txt"
  "$work/venv/bin/python3" -m posenc info | cmp - "$work/command.txt"
  "$work/venv/bin/python3" "$consumer"
}

jobs=$(dirname "$0")/../../scripts/build_jobs
verb=$1
shift
case $verb in
  install) install_tree "$@" ;;
  cmake) consume_by_cmake "$@" ;;
  pkg_config) consume_by_pkg_config "$@" ;;
  pip) consume_by_pip "$@" ;;
  *) exit 2 ;;
esac
