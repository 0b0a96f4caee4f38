# Links are kept by default; with --follow-symlinks they stand for what they
# lead to, and loops are failed entries.
source "$(dirname "$0")/lib.sh"

mkdir -p tree/dir outside
echo inside >tree/dir/file
echo outside >outside/file
ln -s dir/file tree/to-file
ln -s ../outside tree/to-outside

pull "$(push tree)" kept
[ -L kept/to-file ] && [ -L kept/to-outside ] || fail "links were not kept"

pull "$(push tree --follow-symlinks)" followed
[ ! -L followed/to-file ] && [ "$(cat followed/to-file)" = inside ] || fail file
[ "$(cat followed/to-outside/file)" = outside ] || fail directory

ln -s .. tree/dir/loop
ln -s nowhere tree/dangling
ln -s self tree/self
expect_exit 0 "$casemate" push tree
expect_exit 1 timeout 20 "$casemate" push tree --follow-symlinks
expect_text err "failed: dir/loop: "
expect_text err "failed: dangling: "
expect_text err "failed: self: "
