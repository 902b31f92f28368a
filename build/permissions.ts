/** What the command line needs on Deno, and nothing else; docs/installing.md says what for. */
export const CLI_PERMISSIONS: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net",
  "--allow-sys=hostname,statfs",
];
