# A pushed tree comes back identical, and its digest is all that push prints.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/src/deep/er tree/empty 'tree/a b' 'tree/-dash'
echo hello >tree/src/hello
printf '#!/bin/sh\n' >tree/src/run && chmod 755 tree/src/run
: >tree/src/nothing
head -c 3000000 /dev/urandom >tree/src/deep/large
truncate -s 5M tree/src/deep/er/sparse
echo x >'tree/a b/new
line' && echo x >'tree/a b/quote"' && echo x >'tree/a b/trailing '
echo x >tree/-dash/-rf
ln -s ../src/hello tree/empty/../src/link
ln -s /nowhere/at/all tree/dangling
ln tree/src/hello tree/src/hard
umask 022

digest=$(push tree)
[[ $digest =~ ^[0-9a-f]{64}/[0-9]+$ ]] || fail "not a digest: $digest"
[ "$(push tree)" = "$digest" ] || fail "the same tree got another digest"
expect_exit 0 "$casemate" pull "$digest" copy
[ ! -s out ] || fail "pull printed on stdout"
expect_same tree copy
[ "$(push copy)" = "$digest" ] || fail "the copy has another digest"
[ "$(ls -A | grep -c staging)" -eq 0 ] || fail "staging is left"

for function in sha1 sha384 sha512; do
  other=$(push tree --digest-function $function)
  pull "$other" "copy-$function"
  expect_same tree "copy-$function"
done

ln -s tree reached-through-a-link
[ "$(push reached-through-a-link)" = "$digest" ] || fail "the root may be a link"
