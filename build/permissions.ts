/** What the command line needs on Deno, and nothing else; docs/installing.md says what for. */
export const CLI_PERMISSIONS: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net",
  // All of it: Deno asks for `ca` where a webhook goes by TLS, and its command line knows no such name.
  "--allow-sys",
];
