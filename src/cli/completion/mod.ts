/** Completion in a shell: its scripts, and what they ask. */
export { BASH_SCRIPT } from "./bash_script.ts";
export { FISH_SCRIPT } from "./fish_script.ts";
export { ZSH_SCRIPT } from "./zsh_script.ts";
export { completeLine } from "./complete_line.ts";
