# Shared by the scripts here; sourced, not run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# as_root COMMAND…: as root, through sudo where we are not.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# build PRESET CMAKE_OPTION… -- TARGET…
build() {
  local preset=$1
  shift
  local options=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# -gt 0 ] && shift
  cmake --preset "$preset" "${options[@]}" >"build-$preset.log" 2>&1 || {
    cat "build-$preset.log"
    exit 1
  }
  rm -f "build-$preset.log"
  cmake --build "build/$preset" --target "${@:-all}"
}
