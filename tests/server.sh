# Sourced after lib.sh by the tests of the server. Every server that was started
# is killed when the test ends.
servers=()
trap 'kill -9 "${servers[@]}" 2>/dev/null || true
      chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT

# serve FLAG…: starts a server on a free port. Sets server (its process) and
# address ("127.0.0.1:4711") once it answers.
serve() {
  : >"$scratch/serve.out"
  "$casemate" serve --grpc 127.0.0.1:0 "$@" >"$scratch/serve.out" 2>"$scratch/serve.err" &
  server=$!
  servers+=("$server")
  for _ in $(seq 1 200); do
    address=$(sed -n 's,^grpc://,,p' "$scratch/serve.out" | head -1)
    [ -n "$address" ] && return
    kill -0 "$server" 2>/dev/null || fail "no server: $(cat "$scratch/serve.err")"
    sleep 0.05
  done
  fail "the server does not answer: $(cat "$scratch/serve.err")"
}

# stop_server: SIGTERM, and it must end with 0.
stop_server() {
  kill -TERM "$server"
  local code=0
  wait "$server" || code=$?
  [ "$code" -eq 0 ] || fail "the server ended with $code: $(cat "$scratch/serve.err")"
}

# use_python: makes ready what run_python needs, or skips the test. (Debian's
# interpreter, because its gRPC is there.)
use_python() {
  /usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null ||
    skip "python3-grpcio is not installed"
  python_tests=$(cd "$(dirname "$0")/python" && pwd)
  local protos=$(cd "$(dirname "$0")/../src/proto" && pwd)
  mkdir -p generated
  (cd "$protos" && find . -name '*.proto' -printf '%P\n') |
    (cd "$protos" && xargs protoc --python_out="$scratch/generated")
}

# run_python SCRIPT ARGUMENT…: one of tests/python.
run_python() {
  local script=$1
  shift
  (cd "$scratch" && PYTHONPATH=generated:$python_tests PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 "$python_tests/$script" "$@") || fail "$script"
}
