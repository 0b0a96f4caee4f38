# The server as its operator sees it.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/server.sh"
use_python
cache=$scratch/cache

# It says where it listens, on stdout and nothing else there.
serve --store "dir:$cache" --grpc "unix:$scratch/socket" --access-log log
[ "$(wc -l <serve.out)" -eq 2 ] || fail "stdout: $(cat serve.out)"
expect_text serve.out "unix:$scratch/socket"

# Other commands on its folder are sent to its address; a second server, too.
expect_exit 6 "$casemate" push --store "dir:$cache" generated
expect_text err "grpc://127.0.0.1"
expect_exit 6 "$casemate" serve --store "dir:$cache" --grpc 127.0.0.1:0
expect_text err "grpc://127.0.0.1"

# A port that is taken is named.
expect_exit 5 "$casemate" serve --store mem: --grpc "$address"
expect_text err "$address"

# One line for each call, with what the client says of itself and no more.
run_python every_method.py "$address" >/dev/null
stop_server
jq -es 'length > 20 and all(.method and .status and .duration_us >= 0)' log \
  >/dev/null || fail "the access log: $(head -3 log)"
jq -es 'any(.status == "NOT_FOUND") and any(.status == "UNIMPLEMENTED")' log \
  >/dev/null || fail "the access log: $(head -3 log)"

# What was acknowledged is there after kill -9, and the folder is free.
serve --store "dir:$cache"
run_python every_method.py "$address" >/dev/null
kill -9 "$server"
wait "$server" || true
"$casemate" verify --quiet --store "dir:$cache"
"$casemate" gc --quiet --store "dir:$cache"

# As JSON; separate instances; a unix socket alone.
"$casemate" serve --json --store mem: --instances separate \
  --grpc "unix:$scratch/socket" >json 2>err &
server=$!
servers+=("$server")
for _ in $(seq 100); do [ -s json ] && break || sleep 0.05; done
[ "$(jq -r '.grpc[0]' json)" = "unix:$scratch/socket" ] || fail "$(cat json)"
run_python every_method.py "unix:$scratch/socket" >/dev/null
stop_server
[ ! -e socket ] || fail "the socket is left"

# Bad settings are refused before anything listens.
expect_exit 2 "$casemate" serve --store mem: --zstd-level 99
expect_exit 2 "$casemate" serve --store mem: --memory 12parsec
expect_exit 2 "$casemate" serve --store mem: --grpc nonsense
