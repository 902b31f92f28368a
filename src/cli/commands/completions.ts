import { nearestName } from "../../kernel/nearest_name.ts";
import { arg, type BareContext, type Command } from "../command.ts";
import { UsageError } from "../parse/usage_error.ts";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

/** `purser completions SHELL`. Shells read the script, so it is the output with `--json` too. */
export const completions: Command = {
  name: "completions",
  args: [arg("SHELL", { oneOf: SHELLS })],
  summary: "Print the completion script of a shell",
  detail:
    "Completes commands, options and their values: agents, sessions, budgets, rules, alerts, channels, keys, tags " +
    "and models from the database or server on the line, or the default one, and profiles from the config file. " +
    "Completion waits at most a second.",
  options: {},
  examples: [
    ["source <(purser completions bash)", "In ~/.bashrc"],
    ["source <(purser completions zsh)", "In ~/.zshrc, after compinit"],
    ["purser completions fish | source", "In ~/.config/fish/config.fish"],
    ["purser completions powershell | Out-String | Invoke-Expression", "In $PROFILE"],
  ],
  runWithoutConfig: printCompletions,
};

function printCompletions(ctx: BareContext): void {
  const [typed] = ctx.args as [string];
  const shell = SHELLS.find((name) => name === typed);
  if (shell === undefined) {
    const near = nearestName(typed, SHELLS);
    throw new UsageError(
      `Cannot print the completions of ${typed}: it is not one of ${SHELLS.join(", ")}${
        near ? `; did you mean ${near}?` : ""
      }`,
      ctx.options.command,
    );
  }
  ctx.terminal.stdout.write(SCRIPTS[shell]);
}

/**
 * For bash 3.2 and later, with or without the bash-completion package. Bash splits words at `=` and `:` too, and
 * replaces only the last piece. So the script joins the words again, and cuts the text before the last piece off each
 * completion.
 */
const BASH_SCRIPT = `# Completion of purser in bash: source <(purser completions bash)
_purser() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() piece='' trimmed i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    trimmed=\${rest#"\${rest%%[![:space:]]*}"}
    # The last word ends at the cursor.
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
  # As the shell would pass them: without quotes, and ~ expanded.
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
      # The value of a tag follows.
      [[ $line == *= ]] && compopt -o nospace 2>/dev/null
    fi
  done < <("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null </dev/null)
}
complete -F _purser purser
`;

/** For zsh 5 and later: sourced after `compinit`, or as a file `_purser` in a folder of `fpath`. */
const ZSH_SCRIPT = `#compdef purser
# Completion of purser in zsh: source <(purser completions zsh)
_purser() {
  local -a typed lines values shown
  local line value description wants_files=0
  # As the shell would pass them: without quotes, and ~ expanded.
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
    description=\${line#*$'\\t'}
    values+=("$value")
    shown+=("\${(r:28:)value}  $description")
    (( $#value > 28 )) && shown[-1]="$value  $description"
  done
  local answer=1
  if (( $#values )); then
    # The value of a tag follows.
    if [[ \${values[1]} == *= ]]; then
      compadd -S '' -l -d shown -a values && answer=0
    else
      compadd -l -d shown -a values && answer=0
    fi
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

/** For fish 3 and later: a file `purser.fish` in a folder of its completions, or sourced. */
const FISH_SCRIPT = `# Completion of purser in fish: purser completions fish | source
function __purser_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # As the shell would pass it: without quotes, and ~ expanded.
    set -l unquoted (string unescape -- $current; or echo -- $current)
    set unquoted (string replace -r '^(--[^=]+=)?~/' "\\$1$HOME/" -- "$unquoted")
    for line in (command $words[1] __complete -- $words[2..-1] "$unquoted" 2>/dev/null </dev/null)
        if test "$line" = :files
            set -l lead (string match -r '^--[^=]+=' -- $current)
            set -l path (string replace -r '^--[^=]+=' '' -- $current)
            for file in (__fish_complete_path "$path")
                echo -- "$lead$file"
            end
        else
            echo -- $line
        end
    end
end
complete -c purser -f -a '(__purser_complete)'
`;

/** For PowerShell 7.3 and later, which passes an empty word on; where nothing else is returned, it completes files itself. */
const POWERSHELL_SCRIPT =
  `# Completion of purser in PowerShell: purser completions powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName purser -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
    ForEach-Object { if ($null -ne $_.Value) { "$($_.Value)" } else { "$_" } })
  foreach ($line in (& purser __complete -- @words "$wordToComplete" 2>$null)) {
    if ($line -eq ':files') { continue }
    $value, $description = $line -split "\`t", 2
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', "$value $description")
  }
}
`;

/** The completion script of each shell. */
const SCRIPTS = { bash: BASH_SCRIPT, zsh: ZSH_SCRIPT, fish: FISH_SCRIPT, powershell: POWERSHELL_SCRIPT };
