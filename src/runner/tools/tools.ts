import type { ToolSet } from "ai";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { BUILT_IN_TOOLS } from "./builtin_tool_names.ts";
import { findToolFault } from "./tool_fault.ts";

export { loadToolModules, type ToolKit } from "./tool_modules.ts";

/** The tools that agents may name. */
export interface Toolbox {
  /** Their names, sorted. */
  names(): string[];
  /** Throws `invalid`, listing the known ones, on a name that is not there. */
  check(names: readonly string[]): void;
  /** The tools of these names. Rejects as `check` throws. */
  pick(names: readonly string[]): Promise<ToolSet>;
}

/**
 * Gathers the built-in tools, those of the config's modules, and those a library user passes in. Throws
 * `invalid` on a name that providers don't accept, on a tool that can't be run, and on two tools of one name.
 */
export function createToolbox(input: { clock: Clock; modules?: ToolSet; custom?: ToolSet }): Toolbox {
  // The built-in ones are made when they are wanted: most commands run nothing.
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
