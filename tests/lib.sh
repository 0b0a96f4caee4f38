# Shared by the whole-program tests: sourced with the program's path as $1.
# Gives $casemate, a scratch directory as the working directory, a store of its
# own, and small assertions that say what they missed.
set -euo pipefail

casemate=$1
scratch=$(mktemp -d)
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cd "$scratch"
export CASEMATE_STORE=dir:$scratch/store
unset CASEMATE_HOME CASEMATE_MEMORY CASEMATE_JOBS

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect_exit CODE COMMAND…: its stdout and stderr end up in out and err.
expect_exit() {
  local wanted=$1 code=0
  shift
  "$@" >out 2>err || code=$?
  [ "$code" -eq "$wanted" ] ||
    fail "exit $code, not $wanted: $*"$'\n'"$(cat err)"
}

# expect_text FILE TEXT: FILE holds TEXT.
expect_text() {
  grep -qF -- "$2" "$1" || fail "\"$2\" is not in $1:"$'\n'"$(cat "$1")"
}

expect_no_text() {
  ! grep -qF -- "$2" "$1" || fail "\"$2\" is in $1:"$'\n'"$(cat "$1")"
}

# expect_same TREE TREE: names, content, links and modes are the same.
expect_same() {
  diff -r --no-dereference "$1" "$2" || fail "$1 and $2 differ"
  local list='%P %y %m %l\n'
  diff <(cd "$1" && find . -printf "$list" | sort) \
    <(cd "$2" && find . -printf "$list" | sort) || fail "modes differ"
}

push() { "$casemate" push --quiet "$@"; }
pull() { "$casemate" pull --quiet "$@"; }

# as_nobody COMMAND…: root may read everything, so tests about permissions
# become somebody else.
as_nobody() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
  else
    "$@"
  fi
}

skip() {
  echo "SKIPPED: $*"
  exit 77
}
