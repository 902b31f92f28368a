/** For fish 3 and later: a file `purser.fish` in a folder of its completions, or sourced. */
export const FISH_SCRIPT = `# Completion of purser in fish: purser completions fish | source
function __purser_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # As the shell would hand it over: without quotes, and ~ spelt out.
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
