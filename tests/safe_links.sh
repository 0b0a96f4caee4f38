# Links come back as they were; --safe-links fails those that could lead out.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/a/b
ln -s /etc/passwd tree/absolute
ln -s ../../x tree/a/leaves
ln -s ../x tree/a/stays
ln -s . tree/self
ln -s self/.. tree/sneaky
digest=$(push tree)

pull "$digest" all
[ "$(readlink all/absolute)" = /etc/passwd ] || fail "links are restored"

expect_exit 1 "$casemate" pull "$digest" safe --safe-links
for name in absolute a/leaves sneaky; do
  expect_text err "failed: $name: "
  [ ! -L "safe/$name" ] || fail "$name was made"
done
[ -L safe/a/stays ] && [ -L safe/self ] || fail "safe links are missing"
