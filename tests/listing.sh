# ls, cat and stat.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/lib/deep
echo hello >tree/lib/hello && cp tree/lib/hello tree/lib/again
printf x >tree/lib/run && chmod +x tree/lib/run
ln -s hello tree/lib/link
head -c 2000000 /dev/urandom >tree/lib/deep/large
digest=$(push tree)

[ "$("$casemate" ls "$digest")" = "lib/" ] || fail ls
[ "$("$casemate" ls "$digest/lib/" | paste -sd' ')" = \
  "deep/ again hello run link -> hello" ] || fail "$("$casemate" ls "$digest/lib")"
"$casemate" ls "$digest" -r >out
expect_text out "lib/deep/large"
"$casemate" ls "$digest/lib" -l >out
expect_text out "executable            1"
"$casemate" ls "$digest/lib/run" >out && expect_text out run
"$casemate" ls "$digest" -r --json >out
[ "$(jq -r '.entries[] | select(.path == "lib/link").target' out)" = hello ] || fail json

cmp <("$casemate" cat "$digest/lib/deep/large") tree/lib/deep/large
blob=$("$casemate" ls "$digest/lib/hello" --json | jq -r '.entries[0].digest')
[ "$("$casemate" cat "$blob")" = hello ] || fail "cat of a blob"
expect_exit 6 "$casemate" cat "$digest/lib" && expect_text err "directory"
expect_exit 6 "$casemate" cat "$digest/lib/link" && expect_text err "symbolic link to hello"

"$casemate" stat "$digest" --json >out
[ "$(jq -c '.tree | [.files, .directories, .symlinks, .contents]' out)" = "[4,3,1,3]" ] ||
  fail "$(cat out)"
"$casemate" stat "$blob" >out && expect_text out "blob"
