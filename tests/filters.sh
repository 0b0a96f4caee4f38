# --include and --exclude, in their order: the last match wins.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/build tree/src/build tree/.git
touch tree/build/x tree/src/build/y tree/src/a.c tree/src/a.o tree/keep.o \
  tree/.git/config

names() { "$casemate" ls -r "$(push "$@")" | sort | paste -sd' '; }

[ "$(names tree --exclude .git --exclude '*.o' --include keep.o)" = \
  "build/ build/x keep.o src/ src/a.c src/build/ src/build/y" ] || fail last
[ "$(names tree --include keep.o --exclude '*.o' --exclude .git --exclude build/)" = \
  "src/ src/a.c" ] || fail order
[ "$(names tree --exclude /build --exclude '*.[oc]' --exclude .git)" = \
  "src/ src/build/ src/build/y" ] || fail anchored
expect_exit 2 "$casemate" push tree --exclude '['
expect_text err '['
