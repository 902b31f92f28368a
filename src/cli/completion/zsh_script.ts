/** For zsh 5 and later: sourced after `compinit`, or as a file `_purser` in a folder of `fpath`. */
export const ZSH_SCRIPT = `#compdef purser
# Completion of purser in zsh: source <(purser completions zsh)
_purser() {
  local -a typed lines values shown
  local line value note wants_files=0
  # As the shell would hand them over: without quotes, and ~ spelt out.
  typed=("\${(@)words[2,CURRENT-1]}" "$PREFIX")
  typed=("\${(@Q)typed}")
  typed=("\${(@)typed/#\\~\\//$HOME/}")
  lines=("\${(@f)$("\${(Q)words[1]}" __complete -- "\${(@)typed}" 2>/dev/null </dev/null)}")
  for line in "\${(@)lines}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then
      wants_files=1
      continue
    fi
    value=\${line%%$'\\t'*}
    note=\${line#*$'\\t'}
    values+=("$value")
    shown+=("\${(r:28:)value}  $note")
    (( $#value > 28 )) && shown[-1]="$value  $note"
  done
  local answer=1
  if (( $#values )); then
    compadd -l -d shown -a values && answer=0
  fi
  if (( wants_files )); then
    [[ $PREFIX == --*=* ]] && compset -P '*='
    _files && answer=0
  fi
  return answer
}
if [[ $funcstack[1] == _purser ]]; then
  _purser "$@"
else
  compdef _purser purser
fi
`;
