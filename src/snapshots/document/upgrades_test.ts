import assert from "node:assert/strict";
import { SCHEMA_VERSION, Snapshot } from "../../contract/snapshot/snapshot.ts";
import { FORMAT, type Format, upgrade } from "./format.ts";

/** Three versions, of which the first step changes everything and the second only messages. */
const THREE: Format = {
  version: 3,
  head: Snapshot,
  upgrades: [
    {
      from: 1,
      head: ({ old, ...head }) => ({ ...head, young: old }),
      message: (message) => ({ ...message, steps: ["one"] }),
      event: (event) => ({ ...event, steps: ["one"] }),
    },
    { from: 2, message: (message) => ({ ...message, steps: [...(message.steps as string[] ?? []), "two"] }) },
  ],
};

Deno.test("FORMAT writes the current version, and has a step from each older one", () => {
  assert.equal(FORMAT.version, SCHEMA_VERSION);
  assert.deepEqual(
    FORMAT.upgrades.map(({ from }) => from),
    Array.from({ length: SCHEMA_VERSION - 1 }, (_, i) => i + 1),
  );
});

Deno.test("upgrade() applies every step from a document's version on, in order", () => {
  const head = { schema_version: 1, old: 5, other: [1] };
  assert.deepEqual(upgrade(THREE, 1, "head", head), { schema_version: 3, young: 5, other: [1] });
  assert.deepEqual(upgrade(THREE, 2, "head", { ...head, schema_version: 2 }), { ...head, schema_version: 3 });
  assert.deepEqual(upgrade(THREE, 1, "message", { id: "m" }), { id: "m", steps: ["one", "two"] });
  assert.deepEqual(upgrade(THREE, 2, "message", { id: "m" }), { id: "m", steps: ["two"] });
  assert.deepEqual(upgrade(THREE, 1, "event", {}), { steps: ["one"] });
});

Deno.test("upgrade() does not change parts of the current version, or without a step", () => {
  const value = { schema_version: 3, old: 5 };
  for (const part of ["head", "message", "event"] as const) {
    assert.equal(upgrade(THREE, 3, part, value), value);
    assert.equal(upgrade(FORMAT, SCHEMA_VERSION, part, value), value);
  }
  assert.equal(upgrade(THREE, 2, "event", value), value);
});

Deno.test("upgrade() does not change its argument", () => {
  const head = Object.freeze({ schema_version: 1, old: 5 });
  upgrade(THREE, 1, "head", head);
  assert.deepEqual(head, { schema_version: 1, old: 5 });
});
