# A client that shares no code with us, Python's grpcio, calls every method.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/server.sh"
use_python

for store in mem: "dir:$scratch/cache"; do
  serve --store "$store"
  run_python every_method.py "$address"
  stop_server
done

serve --store mem: --grpc "unix:$scratch/socket"
run_python every_method.py "unix:$scratch/socket"
stop_server
