# gc removes what was not used for longest; a store in use is left alone; a push
# above --max-size collects by itself but never what it just stored.
source "$(dirname "$0")/lib.sh"

mkdir old new
head -c 2000000 /dev/urandom >old/a && head -c 2000000 /dev/urandom >new/b
old=$(push old)
find store/cas -type f -exec touch -d '2 days ago' {} +
new=$(push new)

expect_exit 0 "$casemate" gc --older-than 7d && expect_text err "removed 0 blobs"
expect_exit 0 "$casemate" gc --older-than 1d --dry-run
expect_text err "would remove 2 blobs"
[ "$(find store/cas -type f | wc -l)" -eq 4 ] || fail "a dry run removed something"
expect_exit 0 "$casemate" gc --max-size 3MiB
expect_exit 3 "$casemate" cat "$old/a"
cmp new/b <("$casemate" cat "$new/b") || fail "the newer tree is gone"

# Another process that has the store open: a cat whose reader does not read.
mkfifo pipe
"$casemate" cat "$new/b" >pipe &
exec 3<pipe
head -c 1 <&3 >/dev/null
expect_exit 6 "$casemate" gc --max-size 0B
expect_text err "in use"
exec 3<&-
wait || true

find store/cas -type f -exec touch -d '2 days ago' {} +
mkdir third && head -c 2000000 /dev/urandom >third/c
third=$(push third --max-size 1MiB)
expect_exit 3 "$casemate" cat "$new/b"
pull "$third" copy && expect_same third copy
