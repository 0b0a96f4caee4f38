# Several processes push and pull one store at once.
source "$(dirname "$0")/lib.sh"

for tree in one two; do
  mkdir $tree
  for i in $(seq 1 300); do echo "$((i % 200)) $tree" >$tree/f$i; done
  head -c 2000000 /dev/zero >$tree/same
done
pids=()
for i in 1 2 3; do
  for tree in one two; do
    push $tree >$tree-$i &
    pids+=($!)
  done
done
for pid in "${pids[@]}"; do wait "$pid"; done
for tree in one two; do
  cmp $tree-1 $tree-2 && cmp $tree-1 $tree-3
  pull "$(cat $tree-1)" copy-$tree &
done
wait
diff -r one copy-one && diff -r two copy-two
"$casemate" verify --quiet
