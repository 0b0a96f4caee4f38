# The test of the layers finds an include that breaks them.
# Arguments: the program (unused), the build directory (unused), the sources.
source "$(dirname "$0")/lib.sh"

cp -r "$3/src" "$3/include" .
python3 "$3/tests/layers_test.py" . >/dev/null || fail "the tree itself"
echo '#include "store/blob_store.h"' >>src/files/root.cc
echo '#include "casemate/push.h"' >>include/casemate/digest.h
code=0 && python3 "$3/tests/layers_test.py" . >found || code=$?
[ $code -eq 1 ] && expect_text found "files/ may not include store/"
expect_text found "digest/ may not include transfer/"
