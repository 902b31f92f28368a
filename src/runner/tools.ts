import type { ToolSet } from "ai";
import type { Clock } from "../clock.ts";
import { PurserError } from "../errors.ts";
import { createBuiltInTools } from "./builtin_tools.ts";
import { findToolFault } from "./tool_fault.ts";

export { BUILT_IN_TOOLS } from "./builtin_tools.ts";
export { loadToolModules, type ToolKit } from "./tool_modules.ts";

/** The tools that agents may name. */
export interface Toolbox {
  /** Their names, sorted. */
  names(): string[];
  /** The tools of these names. Throws `invalid`, listing the known ones, on a name that is not there. */
  pick(names: readonly string[]): ToolSet;
}

/**
 * Gathers the built-in tools, those of the config's modules, and those a library user passes in. Throws
 * `invalid` on a name that providers don't accept, on a tool that can't be run, and on two tools of one name.
 */
export async function createToolbox(input: {
  clock: Clock;
  modules?: ToolSet;
  custom?: ToolSet;
}): Promise<Toolbox> {
  const tools = new Map<string, ToolSet[string]>(Object.entries(await createBuiltInTools(input)));
  for (
    const [name, tool] of [...Object.entries(input.modules ?? {}), ...Object.entries(input.custom ?? {})]
  ) {
    const fault = findToolFault(name, tool, tools);
    if (fault) throw new PurserError("invalid", `Cannot add the tool ${name}: ${fault}`);
    tools.set(name, tool);
  }
  const names = () => [...tools.keys()].sort();
  return {
    names,
    pick(wanted) {
      const unknown = wanted.filter((name) => !tools.has(name));
      if (unknown.length > 0) {
        throw new PurserError(
          "invalid",
          `Cannot use the tool ${unknown.join(", ")}: it is not known; there are ${names().join(", ")}`,
        );
      }
      return Object.fromEntries(wanted.map((name) => [name, tools.get(name)!]));
    },
  };
}
