import { test } from "node:test";

/** Registers a test with `deno test` or Node's test runner. */
export function registerTest(name: string, run: () => void | Promise<void>): void {
  if (globalThis.Deno === undefined) test(name, run);
  else Deno.test(name, run); // `node:test` would skip Deno's sanitizers
}
