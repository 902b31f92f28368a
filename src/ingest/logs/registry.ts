import type { LogImporter } from "./importer.ts";

/** The built-in importers by name, each with a function that imports its module. */
export const IMPORTERS: Readonly<Record<string, () => Promise<{ default: LogImporter }>>> = {
  "claude-code": () => import("./claude_code.ts"),
  codex: () => import("./codex.ts"),
};
