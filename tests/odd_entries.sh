# FIFOs, sockets and devices are skipped and never opened; what cannot be read
# is a failed entry; the rest is pushed and its digest printed.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/sub tree/closed
echo ok >tree/sub/ok
mkfifo tree/fifo
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tree/socket")'
mknod tree/device c 1 3 2>/dev/null || true

expect_exit 0 timeout 20 "$casemate" push tree
expect_text err "skipped: fifo: FIFO"
expect_text err "skipped: socket: socket"
[ ! -e tree/device ] || expect_text err "skipped: device: character device"
rm -f tree/device

echo secret >tree/unreadable && chmod 000 tree/unreadable tree/closed
export CASEMATE_STORE=dir:$scratch/open/store
mkdir open && chmod 777 open
expect_exit 1 as_nobody "$casemate" push tree
expect_text err "failed: unreadable: "
expect_text err "failed: closed: "
expect_text err "permission denied"
digest=$(cat out)
pull "$digest" copy
[ "$(cat copy/sub/ok)" = ok ] || fail "the rest was not pushed"
[ ! -e copy/unreadable ] && [ ! -e copy/closed ] || fail "failed entries came back"

touch "$(printf 'tree/not-utf8-\xff')"
expect_exit 1 "$casemate" push tree --exclude unreadable --exclude closed
expect_text err "not UTF-8"

expect_exit 1 as_nobody "$casemate" push tree --json --exclude 'not-utf8*'
[ "$(jq -r '.failed | map(.path) | sort | join(" ")' out)" = "closed unreadable" ] ||
  fail "$(cat out)"
[ "$(jq -r '.failed[0].code' out)" = PERMISSION_DENIED ] || fail "$(cat out)"
