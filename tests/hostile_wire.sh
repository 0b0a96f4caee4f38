# Peers that misbehave below gRPC, on the real server.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/server.sh"
use_python
/usr/bin/python3 -c 'import h2' 2>/dev/null || skip "python3-h2 is not installed"
ulimit -n "$(ulimit -Hn)"

serve --store mem: --idle-timeout 2s --keepalive-time 2s --keepalive-timeout 2s
run_python hostile_wire.py "$address" "$server" reader_that_stops slow_writer \
  stalled_writer resets go_away half_open
stop_server

# Nobody is sent away here for being idle.
serve --store mem: --idle-timeout 10min
run_python hostile_wire.py "$address" "$server" idle_streams idle_connections
stop_server
