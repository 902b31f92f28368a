import type { ToolSet } from "ai";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { importFile } from "../../kernel/files.ts";
import { BUILT_IN_TOOLS } from "./builtin_tool_names.ts";
import { findToolFault } from "./tool_fault.ts";

/** What a module of tools is handed. */
export interface ToolKit {
  tool: typeof import("ai").tool;
  z: typeof import("zod").z;
}

/**
 * Loads TypeScript modules from disk by absolute path, also beside a compiled binary. A module's default
 * export is `({ tool, z }) => ({ name: tool({…}) })`: what it needs is handed in, so it has no import to
 * resolve. Throws `invalid`, naming the file and what is wrong with it.
 */
export async function loadToolModules(paths: readonly string[]): Promise<ToolSet> {
  if (paths.length === 0) return {};
  const [{ tool }, { z }] = await Promise.all([import("ai"), import("zod")]);
  const tools = new Map<string, ToolSet[string]>();
  const taken = {
    has: (name: string) => tools.has(name) || (BUILT_IN_TOOLS as readonly string[]).includes(name),
  };
  for (const path of paths) {
    const made = await runModule(path, { tool, z });
    for (const [name, candidate] of Object.entries(made)) {
      const fault = findToolFault(name, candidate, taken);
      if (fault) throw refuse(path, `tool ${name}: ${fault}`);
      tools.set(name, candidate as ToolSet[string]);
    }
  }
  return Object.fromEntries(tools);
}

async function runModule(path: string, kit: ToolKit): Promise<object> {
  const { default: make } = await importFile(path).catch((error) => {
    throw refuse(path, messageOf(error), error);
  });
  if (make === undefined) throw refuse(path, "it has no default export");
  if (typeof make !== "function") throw refuse(path, "its default export is not a function");
  let made: unknown;
  try {
    made = await make(kit);
  } catch (error) {
    throw refuse(path, `its default export failed: ${messageOf(error)}`, error);
  }
  if (typeof made !== "object" || made === null || Array.isArray(made)) {
    throw refuse(path, "its default export returned no object of tools");
  }
  return made;
}

function refuse(path: string, reason: string, cause?: unknown): PurserError {
  return new PurserError("invalid", `Cannot load tools from ${path}: ${reason}`, { cause });
}
