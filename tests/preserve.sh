# Modes and times: 0644, 0755 and now by default; as recorded with --preserve;
# setuid never.
source "$(dirname "$0")/lib.sh"
umask 022

mkdir -p tree/dir
echo x >tree/dir/file && chmod 640 tree/dir/file
echo x >tree/tool && chmod 4751 tree/tool
touch -d '2001-02-03 04:05:06.789' tree/dir/file
chmod 711 tree/dir && touch -d '2002-01-01' tree/dir

plain=$(push tree)
pull "$plain" plain
[ "$(stat -c %a plain/dir/file plain/tool plain/dir | paste -sd' ')" = \
  "644 755 755" ] || fail "default modes"
[ plain/dir/file -nt tree/dir/file ] || fail "the present time is wanted"

recorded=$(push tree --preserve)
[ "$recorded" != "$plain" ] || fail "properties are part of the digest"
pull "$recorded" exact --preserve
for name in dir/file dir; do
  [ "$(stat -c '%a %.9Y' "exact/$name")" = "$(stat -c '%a %.9Y' "tree/$name")" ] ||
    fail "$name: $(stat -c '%a %.9Y' "exact/$name")"
done
[ "$(stat -c %a exact/tool)" = 751 ] || fail "setuid: $(stat -c %a exact/tool)"
pull "$recorded" ignored
[ "$(stat -c %a ignored/dir/file)" = 644 ] || fail "only with --preserve"
