import { createHash } from "node:crypto";
import assert from "node:assert/strict";
import type { ExportTarget } from "../../src/bills/exports/files/export_target.ts";

/** A target of exports in memory. `failAfter` files, it has no space left. */
export function memoryTarget(options: { failAfter?: number } = {}) {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  let puts = 0;
  const target: ExportTarget = {
    where: "memory",
    readText: (name) => {
      const bytes = files.get(name);
      return Promise.resolve(bytes && new TextDecoder().decode(bytes));
    },
    put(name, bytes, sha256) {
      if (++puts > (options.failAfter ?? Infinity)) {
        return Promise.reject(new Error("no space left on device"));
      }
      assert.equal(createHash("sha256").update(bytes).digest("hex"), sha256);
      files.set(name, bytes);
      return Promise.resolve();
    },
    remove: (name) => Promise.resolve(void files.delete(name)),
  };
  return { target, files, names: () => [...files.keys()].sort() };
}
