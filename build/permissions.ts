/** The permissions that the command line needs on Deno, and no others; docs/installing.md has the reasons. */
export const CLI_PERMISSIONS: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net",
  // Unrestricted: Deno asks for `ca` when a webhook uses TLS, and its command line has no such name.
  "--allow-sys",
];
