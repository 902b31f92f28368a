import { arg, type CommandSpec, text } from "./command_spec.ts";

/** `purser profiles …`: places that the config file names. */
export const profiles: readonly CommandSpec[] = [
  {
    name: "profiles list",
    args: [],
    summary: "List the profiles of the config file",
    options: {},
    examples: [["purser profiles list", ""]],
    loadBare: async () => (await import("../commands/profiles/profiles_list.ts")).profilesList,
  },
  {
    name: "profiles add",
    args: [arg("NAME")],
    summary: "Give a server or a database a name",
    detail:
      "Takes --server or --db as the place, and writes it into the config file; all else in the file stays as it is. " +
      "--profile NAME on any command, or PURSER_PROFILE, then stands for it. The key stays in a file of its own, which " +
      "is read when it is needed and shown to that server only.",
    options: {
      "api-key-file": text("FILE", "A file with the key for that server", { isFile: true }),
    },
    examples: [
      ["purser profiles add prod --server https://purser.example.com --api-key-file ~/.purser_prod", ""],
      [
        "purser profiles add books --db libsql://books.example.com",
        "A database, its token in PURSER_DB_TOKEN",
      ],
    ],
    loadBare: async () => (await import("../commands/profiles/profiles_add.ts")).profilesAdd,
  },
  {
    name: "profiles remove",
    args: [arg("NAME", { live: "profile" })],
    summary: "Take a profile out of the config file",
    options: {},
    examples: [["purser profiles remove prod", ""]],
    loadBare: async () => (await import("../commands/profiles/profiles_remove.ts")).profilesRemove,
  },
];
