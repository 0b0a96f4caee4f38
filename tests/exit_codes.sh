# Exit codes and errors are an interface.
source "$(dirname "$0")/lib.sh"

mkdir tree && echo x >tree/file
digest=$(push tree)
absent=${digest%/*}/123456

expect_exit 0 "$casemate" --help && expect_text out "casemate push"
expect_exit 0 "$casemate" --version
for command in push pull ls cat stat gc verify completion; do
  expect_exit 0 "$casemate" $command --help
  expect_text out "Examples:"
done
expect_exit 2 "$casemate"
expect_exit 2 "$casemate" push
expect_exit 2 "$casemate" push tree --no-such-flag
expect_text err "casemate push --help"
expect_exit 2 "$casemate" push tree --memory 64
expect_exit 2 "$casemate" push tree --memory lots
expect_text err "64MiB"
expect_exit 2 "$casemate" push tree --store nowhere:x
expect_text err "dir:PATH"
expect_exit 2 "$casemate" pull nonsense copy
expect_text err "HASH/SIZE"
expect_exit 3 "$casemate" push no-such-dir
expect_text err "no-such-dir"
expect_exit 3 "$casemate" pull "$absent" copy
expect_text err "in this store"
expect_exit 3 "$casemate" cat "$digest/no/such"
expect_exit 3 "$casemate" stat "$absent"
expect_exit 3 "$casemate" ls "$absent"
expect_exit 6 "$casemate" pull "$digest" copy --max-bytes 1
expect_exit 6 "$casemate" pull "$digest" copy --max-entries 1
[ ! -e copy ] || fail "a refused pull left something"

expect_exit 3 "$casemate" stat "$absent" --json
[ "$(jq -r .error.code out)" = NOT_FOUND ] || fail "$(cat out)"
