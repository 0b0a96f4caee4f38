# Bazel builds through the server: the second build is all hits; an instance
# name with a slash; and an output lost by the store costs a rebuild, not the
# build.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/server.sh"
command -v bazel >/dev/null || skip "bazel is not installed"

# Bazel's own rules, without the network: two folders that forward to the native
# ones.
mkdir -p rules_cc/cc rules_java/java
for rules in cc java; do
  echo "workspace(name = \"rules_$rules\")" >rules_$rules/WORKSPACE
  touch rules_$rules/BUILD rules_$rules/$rules/BUILD
done
for rule in cc_binary cc_import cc_library cc_proto_library cc_test \
  cc_toolchain cc_toolchain_suite fdo_prefetch_hints fdo_profile objc_import \
  objc_library; do
  echo "$rule = native.$rule"
done >rules_cc/cc/defs.bzl
for rule in java_binary java_import java_library java_lite_proto_library \
  java_package_configuration java_plugin java_proto_library java_runtime \
  java_test java_toolchain; do
  echo "$rule = native.$rule"
done >rules_java/java/defs.bzl

mkdir -p project/app
cd project
echo 'workspace(name = "sample")' >WORKSPACE
cat >app/BUILD <<'BUILD'
cc_library(name = "greet", srcs = ["greet.cc"], hdrs = ["greet.h"])
cc_library(name = "count", srcs = ["count.cc"], hdrs = ["count.h"])
cc_binary(name = "hello", srcs = ["hello.cc"], deps = [":greet", ":count"])
genrule(name = "text", outs = ["text.txt"], cmd = "seq 100000 > $@")
genrule(name = "empty", outs = ["empty.txt"], cmd = "touch $@")
BUILD
echo 'const char* Greet();' >app/greet.h
printf '#include "app/greet.h"\nconst char* Greet() { return "hello"; }\n' \
  >app/greet.cc
echo 'int Count();' >app/count.h
printf '#include "app/count.h"\nint Count() { return 42; }\n' >app/count.cc
cat >app/hello.cc <<'CC'
#include <cstdio>
#include "app/count.h"
#include "app/greet.h"
int main() { std::printf("%s %d\n", Greet(), Count()); }
CC

# build FLAG…: a build from nothing; its log ends up in log.
build() {
  bazel --batch --output_user_root="$scratch/bazel" clean >/dev/null 2>&1
  bazel --batch --output_user_root="$scratch/bazel" build \
    --override_repository=rules_cc="$scratch/rules_cc" \
    --override_repository=rules_java="$scratch/rules_java" \
    --override_repository=platforms=/usr/share/bazel/platforms \
    --spawn_strategy=local --remote_cache="grpc://$address" "$@" //app:all \
    >"$scratch/log" 2>&1 || fail "bazel: $(cat "$scratch/log")"
}
# built: how many actions Bazel ran itself.
built() { grep -oE '[0-9]+ local' "$scratch/log" | grep -oE '[0-9]+' || echo 0; }
outputs() { (cd -P bazel-bin/app && sha256sum hello text.txt empty.txt); }


serve --store "dir:$scratch/cache"
build
first=$(outputs)
[ "$(built)" -ge 6 ] || fail "too little was built: $(cat "$scratch/log")"

build
[ "$(built)" -eq 0 ] || fail "not all were hits: $(cat "$scratch/log")"
expect_text "$scratch/log" "remote cache hit"
[ "$(outputs)" = "$first" ] || fail "the outputs differ"

# Another instance has actions of its own.
build --remote_instance_name=a/b
[ "$(built)" -ge 6 ] || fail "an instance saw another's: $(cat "$scratch/log")"
build --remote_instance_name=a/b
[ "$(built)" -eq 0 ] || fail "not all were hits: $(cat "$scratch/log")"
[ "$(outputs)" = "$first" ] || fail "the outputs differ"

# An output that the store has lost makes its action a miss.
hash=$(sha256sum <bazel-bin/app/text.txt | cut -d' ' -f1)
rm -f "$scratch/cache/cas/sha256/${hash:0:2}/${hash:2}"*
build
[ "$(built)" -eq 1 ] || fail "a lost output: $(cat "$scratch/log")"
[ "$(outputs)" = "$first" ] || fail "the outputs differ"
stop_server
