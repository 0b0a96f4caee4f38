#!/usr/bin/env bash
# Clients that speak HTTP/2 but no gRPC get an answer, never a hang.
source "$(dirname "$0")/lib.sh"
for tool in curl nghttp h2load; do
  command -v "$tool" >/dev/null || skip "no $tool here"
done
start_server
url=http://127.0.0.1:$port
path=/grpc.testing.TestService/EmptyCall

code() {
  curl --http2-prior-knowledge --silent --max-time 20 --output "$work/body" \
    --write-out '%{http_code}' "$@"
}
[ "$(code "$url/")" = 405 ]
grep -q 'gRPC server' "$work/body"
[ "$(code --data '{}' -H 'content-type: application/json' "$url$path")" = 415 ]
head -c 3000000 /dev/zero >"$work/large"
[ "$(code --data-binary "@$work/large" "$url$path")" = 415 ]

# An EmptyCall by hand: an empty message has five zero bytes.
printf '\0\0\0\0\0' >"$work/message"
[ "$(code --data-binary "@$work/message" -H 'te: trailers' \
  -H 'content-type: application/grpc' "$url$path")" = 200 ]
cmp "$work/body" "$work/message"
curl --http2-prior-knowledge --silent --max-time 20 --include --output - \
  --data-binary "@$work/message" -H 'content-type: application/grpc' \
  "$url$path" | grep -aqi 'grpc-status: 0'

nghttp --timeout=20 --null-out --stat "$url/" | grep -q 405
nghttp --timeout=20 --data="$work/message" --verbose \
  -H'content-type: application/grpc' "$url$path" |
  grep -q 'grpc-status: 0'
h2load -n 2000 -c 4 -m 50 --data="$work/message" -H 'te: trailers' \
  -H 'content-type: application/grpc' "$url$path" |
  grep -q '2000 succeeded, 0 failed'
stop_server
