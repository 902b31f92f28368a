/**
 * For bash 3.2 and later, with or without the bash-completion package. Bash cuts words at `=` and `:` too, and puts
 * what is offered in place of the last piece only; so the words are put together again here, and what stands before
 * the last piece is cut off from each offer.
 */
export const BASH_SCRIPT = `# Completion of purser in bash: source <(purser completions bash)
_purser() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() piece='' trimmed i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    trimmed=\${rest#"\${rest%%[![:space:]]*}"}
    # The last word reaches to the cursor only.
    ((i == COMP_CWORD)) && piece=$trimmed
    if ((i > 0)) && [[ $trimmed == "$rest" ]]; then
      words[\${#words[@]} - 1]+=$piece
    else
      words+=("$piece")
    fi
    rest=\${trimmed#"$piece"}
  done
  local cur=\${words[\${#words[@]} - 1]} lead=''
  [[ $piece == [=:] ]] && piece=''
  lead=\${cur%"$piece"}
  # As the shell would hand them over: without quotes, and ~ spelt out.
  for ((i = 1; i < \${#words[@]}; i++)); do
    case \${words[i]} in
      '"'* | "'"*) words[i]=\${words[i]//[\\"\\']/} ;;
      *'\\'*) words[i]=\${words[i]//\\\\/} ;;
    esac
    case \${words[i]} in
      '~/'*) words[i]=$HOME/\${words[i]:2} ;;
      --*=~/*) words[i]=\${words[i]%%=*}=$HOME/\${words[i]#*=~/} ;;
    esac
  done
  COMPREPLY=()
  local line
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$piece")
    else
      line=\${line%%$'\\t'*}
      COMPREPLY+=("\${line#"$lead"}")
    fi
  done < <("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null </dev/null)
}
complete -F _purser purser
`;
