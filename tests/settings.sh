# Flags and environment name the same settings; the default store has its place.
source "$(dirname "$0")/lib.sh"

mkdir tree && echo x >tree/file
unset CASEMATE_STORE
digest=$(CASEMATE_HOME=$PWD/home push tree)
[ -f home/VERSION ] || fail "CASEMATE_HOME"
XDG_CACHE_HOME=$PWD/xdg push tree >/dev/null && [ -f xdg/casemate/VERSION ] || fail XDG
env -u XDG_CACHE_HOME HOME="$PWD/h" "$casemate" push -q tree >/dev/null
[ -f h/.cache/casemate/VERSION ] || fail HOME
CASEMATE_STORE=dir:$PWD/env push tree >/dev/null && [ -f env/VERSION ] || fail STORE
CASEMATE_STORE=dir:$PWD/no push tree --store "dir:$PWD/flag" >/dev/null
[ -f flag/VERSION ] && [ ! -e no ] || fail "a flag wins over the environment"
[ "$(CASEMATE_DIGEST_FUNCTION=sha1 push tree --store mem: | wc -c)" -lt 50 ] || fail sha1
export CASEMATE_MEMORY=nonsense
expect_exit 2 "$casemate" push tree --store mem:
unset CASEMATE_MEMORY

[ "$(push tree --store mem:)" = "$digest" ] || fail "mem:"
[ "$(push tree --dry-run --store "dir:$PWD/dry")" = "$digest" ] || fail "dry run"
[ -z "$(find dry/cas -type f)" ] || fail "a dry run stored something"

mkdir -p foreign && echo mine >foreign/thesis
expect_exit 6 "$casemate" push tree --store "dir:$PWD/foreign"
expect_text err "not a store"
echo 99 >flag/VERSION
expect_exit 6 "$casemate" push tree --store "dir:$PWD/flag"
expect_text err "layout"
