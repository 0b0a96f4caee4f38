# Shared by the scripts here; sourced with the path of interop_server in $1.
set -euo pipefail

server_program=$1
work=$(mktemp -d)
server_pid=
cleanup() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

skip() {
  echo "SKIPPED: $*"
  exit 77
}

# start_server [FLAG…]: on a free port of 127.0.0.1, which is left in $port.
start_server() {
  mkfifo "$work/stdin"
  : >"$work/address"
  "$server_program" "$@" 127.0.0.1:0 <"$work/stdin" >"$work/address" &
  server_pid=$!
  exec 9>"$work/stdin"  # It serves until this is closed.
  until grep -q : "$work/address"; do
    kill -0 "$server_pid" || { echo "the server has ended"; exit 1; }
    read -rt 0.05 <>/dev/zero || true
  done
  port=$(sed 's/.*://' "$work/address")
}

stop_server() {
  exec 9>&-
  wait "$server_pid"
  server_pid=
  rm -f "$work/stdin" "$work/address"
}

# An authority and a certificate for localhost: authority.pem, server.pem,
# server.key.
make_certificates() {
  local ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
  openssl req -x509 "${ec[@]}" -keyout "$work/authority.key" \
    -out "$work/authority.pem" -days 2 -subj /CN=authority 2>/dev/null
  openssl req "${ec[@]}" -keyout "$work/server.key" -out "$work/request.pem" \
    -subj /CN=localhost 2>/dev/null
  echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' >"$work/extensions"
  openssl x509 -req -in "$work/request.pem" -CA "$work/authority.pem" \
    -CAkey "$work/authority.key" -CAcreateserial -days 2 \
    -extfile "$work/extensions" -out "$work/server.pem" 2>/dev/null
}

# go_program MODULE@VERSION NAME: builds it once, by name from the Go module
# proxy; leaves its path in $program.
go_program() {
  local version minor
  version=$(go env GOVERSION 2>/dev/null) || skip "$2 needs Go 1.21 or later"
  minor=${version#go1.}
  [ "${minor%%[!0-9]*}" -ge 21 ] || skip "$2 needs Go 1.21, here is $version"
  local bin=${XDG_CACHE_HOME:-$HOME/.cache}/casemate-interop/${1##*@}
  program=$bin/$2
  [ -x "$program" ] || GOBIN=$bin GOFLAGS=-mod=mod go install "$1" ||
    skip "$2 could not be built"
}
