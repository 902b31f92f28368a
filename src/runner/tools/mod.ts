import type { ToolSet } from "ai";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { importFile } from "../../kernel/files/import_file.ts";

/** The tools that agents may use, by name. */
export interface Toolbox {
  /** Returns the names, sorted. */
  names(): string[];
  /** Throws `invalid`, listing the known names, if one is unknown. */
  check(names: readonly string[]): void;
  /** Returns the tools of these names. Rejects like `check()` throws. */
  pick(names: readonly string[]): Promise<ToolSet>;
}

/**
 * Creates the toolbox: the built-in tools, those of the config's modules, and those of a library user. Throws `invalid` for a
 * name that providers don't accept, a tool that can't be run, and two tools of one name.
 */
export function createToolbox(input: { clock: Clock; modules?: ToolSet; custom?: ToolSet }): Toolbox {
  // The built-in tools are created on first use: most commands run no agent.
  const tools = new Map<string, ToolSet[string] | undefined>(BUILT_IN_TOOLS.map((name) => [name, undefined]));
  for (
    const [name, tool] of [...Object.entries(input.modules ?? {}), ...Object.entries(input.custom ?? {})]
  ) {
    const fault = findToolFault(name, tool, tools);
    if (fault) throw new PurserError("invalid", `Cannot add the tool ${name}: ${fault}`);
    tools.set(name, tool);
  }
  const names = () => [...tools.keys()].sort();
  function check(wanted: readonly string[]): void {
    const unknown = wanted.filter((name) => !tools.has(name));
    if (unknown.length === 0) return;
    throw new PurserError(
      "invalid",
      `Cannot use the tool ${unknown.join(", ")}: it is not known; there are ${names().join(", ")}`,
    );
  }
  return {
    names,
    check,
    async pick(wanted) {
      check(wanted);
      if (wanted.some((name) => tools.get(name) === undefined)) {
        const { createBuiltInTools } = await import("./builtin_tools.ts");
        for (const [name, tool] of Object.entries(createBuiltInTools(input))) tools.set(name, tool);
      }
      return Object.fromEntries(wanted.map((name) => [name, tools.get(name)!]));
    },
  };
}

/** The names of the built-in tools; no other tool may have them. */
export const BUILT_IN_TOOLS = ["calculator", "current_time"] as const;

/** Returns the reason that a tool can't be offered to a model, or undefined. */
function findToolFault(
  name: string,
  tool: unknown,
  existing: { has(name: string): boolean },
): string | undefined {
  // The narrowest of the providers' rules.
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) return "a name takes letters, digits, _ and -, at most 64";
  if (existing.has(name)) return "there already is a tool of that name";
  if (typeof tool !== "object" || tool === null) return "it is not a tool; write tool({…})";
  if (!("inputSchema" in tool) || !tool.inputSchema) return "it has no inputSchema";
  if (!("execute" in tool) || typeof tool.execute !== "function") return "it has no execute function";
  return undefined;
}

/** The arguments of a module of tools. */
export interface ToolKit {
  /** Defines a tool, as the AI SDK does. */
  tool: typeof import("ai").tool;
  /** The schema library. */
  z: typeof import("zod").z;
}

/**
 * Loads TypeScript modules from disk by absolute path, also beside a compiled binary. The default export of a module is
 * `({ tool, z }) => ({ name: tool({…}) })`: its dependencies are passed in, so it has no imports to resolve. Throws `invalid`,
 * naming the file and the problem.
 */
export async function loadToolModules(paths: readonly string[]): Promise<ToolSet> {
  if (paths.length === 0) return {};
  const [{ tool }, { z }] = await Promise.all([import("ai"), import("zod")]);
  const tools = new Map<string, ToolSet[string]>();
  const existing = {
    has: (name: string) => tools.has(name) || (BUILT_IN_TOOLS as readonly string[]).includes(name),
  };
  for (const path of paths) {
    const made = await runModule(path, { tool, z });
    for (const [name, candidate] of Object.entries(made)) {
      const fault = findToolFault(name, candidate, existing);
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
