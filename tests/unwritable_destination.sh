# A destination that cannot be written, or whose disk is full, is refused and
# nothing is left.
source "$(dirname "$0")/lib.sh"

mkdir tree && head -c 400000 /dev/urandom >tree/large && echo x >tree/small
digest=$(push tree)

mkdir readonly && chmod 555 readonly
chmod -R a+rX store && chmod 777 store store/* 2>/dev/null
expect_exit 6 as_nobody "$casemate" pull "$digest" readonly/copy
expect_text err "permission denied"

[ "$(id -u)" -eq 0 ] || skip "only root may mount a small disk"
unshare -m true 2>/dev/null || skip "no private mounts here"
mkdir disk
cat >inside.sh <<'INNER'
mount -t tmpfs -o size=128k tmpfs disk
"$1" pull "$2" disk/copy
code=$?
[ -z "$(ls -A disk)" ] || { echo "left: $(ls -A disk)" >&2; exit 99; }
exit $code
INNER
expect_exit 6 unshare -m bash inside.sh "$casemate" "$digest"
expect_text err "no space left"
