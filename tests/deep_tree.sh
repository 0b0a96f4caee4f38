# Trees deeper than PATH_MAX allows, up to a limit that is a setting.
source "$(dirname "$0")/lib.sh"

python3 - <<'PY'
import os
os.mkdir("tree")
here = os.open("tree", os.O_RDONLY)
for level in range(5000):
    os.mkdir("d", dir_fd=here)
    below = os.open("d", os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = below
leaf = os.open("leaf", os.O_WRONLY | os.O_CREAT, dir_fd=here)
os.write(leaf, b"deep down")
PY

digest=$(push tree)
pull "$digest" copy
[ "$(push copy)" = "$digest" ] || fail "the copy differs"
[ "$("$casemate" stat "$digest" --json | jq .tree.depth)" -eq 5000 ] || fail depth
expect_exit 6 "$casemate" pull "$digest" shallow --max-depth 4999
expect_exit 1 "$casemate" push tree --max-depth 100
expect_text err "failed: "

# Plain tools cannot remove it.
pull "$(mkdir none && push none)" tree --force
pull "$(push none)" copy --force
