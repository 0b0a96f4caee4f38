# After kill -9, the same push continues from what the store already has.
source "$(dirname "$0")/lib.sh"

mkdir tree
for i in $(seq 1 3000); do echo "file $i" >tree/f$i; done
head -c 3000000 /dev/urandom >tree/large

"$casemate" push tree --jobs 1 >out 2>err &
for _ in $(seq 1 2000); do
  compgen -G 'store/cas/sha256/*/*' >/dev/null && break
  sleep 0.005
done
kill -KILL $! 2>/dev/null || true
wait $! 2>/dev/null || true

before=$(find store/cas -type f | wc -l)
[ "$before" -gt 0 ] || fail "killed before anything was stored"
"$casemate" verify 2>err || fail "$(cat err)"
"$casemate" push tree --json >out
stored=$(jq .stored.blobs out)
[ $((before + stored)) -eq 3002 ] || fail "$before were there, $stored stored"
pull "$(jq -r .digest out)" copy
diff -r tree copy
[ -z "$(find store/tmp -type f)" ] || fail "temporary files of the dead are left"
