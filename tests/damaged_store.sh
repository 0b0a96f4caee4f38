# A damaged blob is an integrity failure once, missing afterwards, and healed by
# a push; nothing wrong is ever visible at the destination.
source "$(dirname "$0")/lib.sh"

mkdir tree && echo content >tree/file && head -c 3000000 /dev/zero >tree/large
digest=$(push tree)
damage() {
  local hash=$(sha256sum "$1" | cut -d' ' -f1) blob
  blob=store/cas/sha256/${hash:0:2}/${hash:2}
  [ -f "$blob" ] || fail "no blob at $blob"
  chmod u+w "$blob"
  printf X | dd of="$blob" bs=1 seek=3 conv=notrunc status=none
}

for name in file large; do
  damage tree/$name
  expect_exit 4 "$casemate" pull "$digest" copy
  expect_text err "$name"
  [ ! -e copy ] || fail "a damaged tree was published"
  expect_exit 3 "$casemate" pull "$digest" copy
  [ "$(push tree)" = "$digest" ] || fail heal
done
pull "$digest" copy && expect_same tree copy

damage tree/file
expect_exit 4 "$casemate" verify
expect_text err "damaged, moved aside"
expect_exit 0 "$casemate" verify
push tree >/dev/null && pull "$digest" again
