import type { LogImporter } from "./importer.ts";

/** The built-in importers by name, each with a function that imports its module. */
export const IMPORTERS: Readonly<Record<string, () => Promise<{ default: LogImporter }>>> = {
  "claude-code": () => import("./claude_code.ts"),
  cline: () => import("./cline.ts"),
  codex: () => import("./codex.ts"),
  "gemini-cli": () => import("./gemini_cli.ts"),
  kilo: () => import("./kilo.ts"),
  langfuse: () => import("./langfuse.ts"),
  litellm: () => import("./litellm.ts"),
  opencode: () => import("./opencode.ts"),
  pi: () => import("./pi.ts"),
  "qwen-code": () => import("./qwen_code.ts"),
  roo: () => import("./roo.ts"),
};
