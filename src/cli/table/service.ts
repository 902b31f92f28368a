import { arg, type CommandSpec, text } from "./command_spec.ts";

/** The service itself */
export const service: readonly CommandSpec[] = [
  {
    name: "doctor",
    args: [],
    summary: "Check that all works, and say what to do",
    detail:
      "Looks at the config, the database, each channel's settings, the alert rules, keys and deliveries. It " +
      "tries no channel and no key. Exit code 1 if a check failed; 0 with warnings.",
    options: {},
    examples: [
      ["purser doctor", ""],
      ["purser doctor --server http://127.0.0.1:8420", "What a server finds about itself"],
    ],
    load: async () => (await import("../commands/service/doctor.ts")).doctor,
  },
  {
    name: "completions",
    args: [arg("SHELL", { oneOf: ["bash", "zsh", "fish"] })],
    summary: "Print what completes commands in a shell",
    detail:
      "Commands, options and their values; agents, sessions, rules and channels are asked of the place that the line " +
      "names, for at most a second.",
    options: {},
    examples: [
      ["source <(purser completions bash)", "In ~/.bashrc"],
      ["source <(purser completions zsh)", "In ~/.zshrc, after compinit"],
      ["purser completions fish > ~/.config/fish/completions/purser.fish", ""],
    ],
    loadBare: async () => (await import("../commands/service/completions.ts")).completions,
  },
  {
    name: "serve",
    args: [],
    summary: "Serve the API until Ctrl-C",
    detail:
      "Without an API key it answers this machine only, and listens nowhere else; see purser keys. Requests in flight " +
      "and runs in progress get 30 seconds to end. A second Ctrl-C ends at once.",
    options: {
      host: text("ADDRESS", "Where to listen (default 127.0.0.1)"),
      port: text("N", "On which port (default 8420); 0 takes a free one"),
    },
    examples: [
      ["purser serve", "On http://127.0.0.1:8420, with docs at /docs"],
      ["purser serve --host 0.0.0.0", "For other machines, once there is a key"],
      ["purser serve --db libsql://books.example.com --port 9000", "Over a shared database"],
    ],
    handlesInterrupt: true,
    load: async () => (await import("../commands/service/serve.ts")).serveCommand,
  },
];
