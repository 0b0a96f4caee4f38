# A bar on a terminal, lines elsewhere, silence on request; results stay alone
# on stdout.
source "$(dirname "$0")/lib.sh"

mkdir tree && head -c 300000000 /dev/zero >tree/large
on_terminal() { # COMMAND…: what it shows on a terminal of its own.
  python3 - "$@" <<'PY'
import os, pty, sys
shown = b""
def read(fd):
    global shown
    data = os.read(fd, 4096)
    shown += data
    return b""
pty.spawn(sys.argv[1:], read)
sys.stdout.write(shown.decode())
PY
}
on_terminal "$casemate" push tree --store mem: >out
expect_text out "pushing"
expect_text out $'\033[K'
on_terminal "$casemate" push tree --store mem: --progress none >out
expect_no_text out "pushing"
on_terminal "$casemate" push tree --store mem: --quiet >out
expect_no_text out "pushed"
expect_exit 0 "$casemate" push tree --store mem:
[ "$(wc -l <out)" -eq 1 ] || fail "stdout holds more than the digest"
expect_text err "pushed 1 file, 1 directory"
