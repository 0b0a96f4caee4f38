# Files whose size says nothing, and files that change while they are read.
source "$(dirname "$0")/lib.sh"

# /proc says size 0; the content counts.
pull "$(push /proc/sys/kernel --include 'ostype' --include 'osrelease')" proc
[ "$(cat proc/ostype)" = "$(cat /proc/sys/kernel/ostype)" ] || fail "/proc"

# One that never stops growing is either a failed entry or whole lines.
mkdir tree && echo steady >tree/steady
(while :; do echo growing >>tree/grows; done) &
writer=$!
trap 'kill $writer; rm -rf "$scratch"' EXIT
for _ in 1 2 3; do
  code=0
  "$casemate" push tree >out 2>err || code=$?
  [ $code -le 1 ] || fail "exit $code: $(cat err)"
  [ $code -eq 0 ] || expect_text err "failed: grows: "
  rm -rf copy
  pull "$(cat out)" copy
  [ "$(cat copy/steady)" = steady ] || fail "the rest"
done
