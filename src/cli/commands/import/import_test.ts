import assert from "node:assert/strict";
import { IMPORTERS } from "../../../ingest/logs/mod.ts";
import { BUILT_IN } from "./import.ts";

Deno.test("completion offers every built-in importer", () => {
  assert.deepEqual(BUILT_IN, Object.keys(IMPORTERS));
});
