# A program of ten lines builds against the installed package and runs.
# Arguments: the program, the build directory, the source directory.
source "$(dirname "$0")/lib.sh"

cmake --install "$2" --prefix "$scratch/prefix" >log 2>&1 || fail "$(cat log)"
[ -x prefix/bin/casemate ] || fail "the program is not installed"
# Whoever embeds a library built for a sanitizer builds for it too.
flags=$(sed -n 's/^CMAKE_CXX_FLAGS:[A-Z]*=//p' "$2/CMakeCache.txt")
cmake -S "$3/tests/installed" -B built -G Ninja -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release >log 2>&1 &&
  cmake --build built >>log 2>&1 || fail "$(cat log)"
mkdir tree && echo hello >tree/file
[ "$(built/embed tree copy)" = "$("$casemate" push -q tree)" ] || fail digest
diff -r tree copy
