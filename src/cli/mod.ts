/** The command line. */
export { main, type MainOptions } from "./main.ts";
export { processTerminal } from "./terminal/process_terminal.ts";
export type { Output, Terminal } from "./terminal/terminal.ts";
