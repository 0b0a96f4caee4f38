# Ctrl-C ends a push and a pull with 130 and leaves nothing half visible; the
# next pull removes what a killed one left.
source "$(dirname "$0")/lib.sh"

mkdir tree
head -c 200000000 /dev/zero >tree/first
for i in $(seq 1 400); do head -c 300000 /dev/urandom >tree/f$i; done

# until_exists COMMAND…: runs it until it succeeds, for at most 20 s.
until_exists() {
  for _ in $(seq 1 2000); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.01
  done
  fail "never: $*"
}

"$casemate" push tree >out 2>err &
until_exists compgen -G 'store/cas/sha256/*/*'
kill -INT $!
code=0 && wait $! || code=$?
[ $code -eq 130 ] || fail "push: exit $code: $(cat err)"
[ ! -s out ] || fail "an interrupted push printed a digest"

digest=$(push tree)
"$casemate" pull "$digest" copy 2>err &
until_exists compgen -G '.casemate-staging-*/f*'
kill -INT $!
code=0 && wait $! || code=$?
[ $code -eq 130 ] || fail "pull: exit $code: $(cat err)"
[ ! -e copy ] && ! compgen -G '.casemate-staging-*' || fail "something is left"

"$casemate" pull "$digest" copy 2>err &
until_exists compgen -G '.casemate-staging-*/f*'
kill -KILL $!
wait $! 2>/dev/null || true
[ ! -e copy ] || fail "a killed pull left a destination"
compgen -G '.casemate-staging-*' >/dev/null || fail "nothing to clean up"
pull "$digest" copy
! compgen -G '.casemate-staging-*' || fail "stale staging is left"
diff -r tree copy
