#!/usr/bin/env bash
# HTTP/2 itself, by h2spec, strict: no failure, plain and under TLS.
source "$(dirname "$0")/lib.sh"
go_program github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible h2spec

run() {
  "$program" --strict --host 127.0.0.1 --port "$port" --timeout 5 "$@" \
    >"$work/report" || {
    sed -n '/^Failures/,$p' "$work/report"
    exit 1
  }
  tail -n 1 "$work/report"
  grep -q ' 0 skipped, 0 failed' "$work/report"
}

start_server
run
stop_server
make_certificates
start_server --tls "$work/server.pem" "$work/server.key"
run --tls --insecure
stop_server
