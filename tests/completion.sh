# Completions are valid and know every command and flag.
source "$(dirname "$0")/lib.sh"

source <("$casemate" completion bash)
complete_words() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _casemate
  echo "${COMPREPLY[*]}"
}
[ "$(complete_words casemate pu)" = "push pull" ] || fail commands
[ "$(complete_words casemate pull --safe)" = "--safe-links" ] || fail flags
if command -v zsh >/dev/null; then
  "$casemate" completion zsh >script && zsh -n script || fail zsh
fi
expect_exit 2 "$casemate" completion fish
