# What pull does about a destination that exists.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/sub && echo new >tree/sub/file && ln -s sub tree/link
digest=$(push tree)
umask 022

mkdir empty && pull "$digest" empty && expect_same tree empty

mkdir -p full/sub && echo old >full/sub/file && echo own >full/own
expect_exit 6 "$casemate" pull "$digest" full
expect_text err "--force"
[ "$(cat full/sub/file)" = old ] || fail "a refused pull changed something"

expect_exit 6 "$casemate" pull "0000000000000000000000000000000000000000000000000000000000000000/1" full
expect_text err "not empty"  # Refused before anything is fetched.

pull "$digest" full --into
[ "$(cat full/sub/file)" = new ] && [ "$(cat full/own)" = own ] || fail merge
[ "$(readlink full/link)" = sub ] || fail "merged link"

pull "$digest" full --force
expect_same tree full
[ "$(ls -A | grep -c staging)" -eq 0 ] || fail "the replaced tree is left"

touch file && expect_exit 6 "$casemate" pull "$digest" file
expect_text err "regular file"
ln -s nowhere/at/all dangling && expect_exit 6 "$casemate" pull "$digest" dangling
mkdir real && ln -s real to-real && pull "$digest" to-real
[ -L to-real ] && expect_same tree real
expect_exit 3 "$casemate" pull "$digest" no/such/parent

mkdir -p clash/link clash/sub/file
expect_exit 1 "$casemate" pull "$digest" clash --into
expect_text err "failed: link: "
expect_text err "failed: sub/file: "
