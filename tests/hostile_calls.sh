# Calls that no honest client makes, on the real server.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/server.sh"
use_python

serve --store "dir:$scratch/cache" --sync=off
run_python hostile_calls.py "$address" "$server" "$scratch/cache"

# A tree that expands to 2^30 directories does not keep a server from ending.
stop_server
