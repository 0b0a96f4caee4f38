#!/usr/bin/env bash
# Every kind of call by Python's grpcio.
source "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
"$python" -c 'import grpc' 2>/dev/null || skip "no python3-grpcio here"
start_server
timeout 120 "$python" "$(dirname "$0")/grpc_python.py" "127.0.0.1:$port"
stop_server
