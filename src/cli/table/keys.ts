import { arg, type CommandSpec, text } from "./command_spec.ts";

/** `purser keys …` */
export const keys: readonly CommandSpec[] = [
  {
    name: "keys create",
    args: [arg("NAME")],
    summary: "Make an API key, and show it once",
    detail:
      "From the first key on, a server over this database answers nobody without one. read: see everything; run: run " +
      "agents and report calls; admin: both, and change settings. The key goes to standard output, all else to " +
      "standard error.",
    options: {
      scope: text("SCOPE", "What it may do; repeat for more", { oneOf: ["read", "run", "admin"] }),
      "agent-id": text("NAME", "Only what is this agent's; not with admin", { live: "agent" }),
      expires: text("WHEN", "A span from now (12h, 90d, 4w), a date, or an ISO time"),
    },
    examples: [
      ["purser keys create ops --scope admin", "The first one"],
      [
        "purser keys create ci --scope run --agent-id researcher --expires 90d",
        "To run one agent, for a while",
      ],
      ["purser keys create dashboard --scope read > dashboard.key", "Into a file"],
    ],
    load: async () => (await import("../commands/keys/keys_create.ts")).keysCreate,
  },
  {
    name: "keys list",
    args: [],
    summary: "List the API keys, newest first",
    detail: "The expired and the revoked ones too, unless --status names one kind. No key is shown.",
    options: {
      status: text("STATUS", "Only those that are so", { oneOf: ["active", "expired", "revoked"] }),
      limit: text("N", "How many at most, 1 to 1000 (default 100)"),
    },
    examples: [["purser keys list --status active", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/keys/keys_list.ts")).keysList,
  },
  {
    name: "keys revoke",
    args: [arg("KEY_ID", { live: "key" })],
    summary: "Revoke an API key, for good",
    detail: "Its id is in purser keys list. Servers on the same database notice within 5 seconds.",
    options: {},
    examples: [["purser keys revoke key_42", ""]],
    load: async () => (await import("../commands/keys/keys_revoke.ts")).keysRevoke,
  },
];
