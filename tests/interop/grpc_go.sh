#!/usr/bin/env bash
# The gRPC project's own client: all cases for a server, plain and under TLS.
source "$(dirname "$0")/lib.sh"
go_program google.golang.org/grpc/interop/client@v1.71.0 client

cases=(empty_unary large_unary client_streaming server_streaming ping_pong
       empty_stream timeout_on_sleeping_server cancel_after_begin
       cancel_after_first_response status_code_and_message
       special_status_message custom_metadata unimplemented_method
       unimplemented_service)

run() {
  for each in "${cases[@]}"; do
    timeout 60 "$program" -server_host 127.0.0.1 -server_port "$port" \
      -test_case "$each" "$@" 2>"$work/log" || {
      echo "$each $*"
      cat "$work/log"
      exit 1
    }
  done
  echo "${#cases[@]} cases passed"
}

start_server
run
stop_server
make_certificates
start_server --tls "$work/server.pem" "$work/server.key"
run -use_tls -use_test_ca -ca_file "$work/authority.pem" \
  -server_host_override localhost
stop_server
