import { test } from "node:test";

/** Hands a test to whoever runs this file: `deno test`, or Node's own runner. */
export function registerTest(name: string, run: () => void | Promise<void>): void {
  if (globalThis.Deno === undefined) test(name, run);
  else Deno.test(name, run); // not through `node:test`, which leaves out Deno's look for what was left open
}
