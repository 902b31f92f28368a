import assert from "node:assert/strict";
import { Ajv2020 } from "#dev/ajv.ts";
import fc from "#dev/fast_check.ts";
import {
  anySnapshot,
  fullSnapshot,
  hardJson,
  type LooseDocument,
} from "../../../tests/harness/any_snapshot.ts";
import { exportText, restore } from "../../../tests/harness/snapshots.ts";
import { openTestPurser } from "../../../tests/harness/test_purser.ts";
import { makeJsonSchema, SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "./json_schema.ts";
import { Snapshot } from "./snapshot.ts";
import { cases } from "../../../tests/harness/thorough.ts";

const COMMITTED = new URL("./snapshot_v1.schema.json", import.meta.url);

const ajv = new Ajv2020({
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  validateFormats: false,
});
const validate = ajv.compile(SNAPSHOT_JSON_SCHEMA);

/** Fails unless a validator of the published schema and the schema that reads documents say the same. */
function assertAgreement(document: unknown): boolean {
  const checked = Snapshot.safeParse(document);
  const isValid = validate(document);
  // What a schema can't say: that a date exists, and that a text has no zero character.
  const isBeyond = !checked.success && checked.error.issues.every(({ code }) => code === "custom");
  if (isBeyond) return false;
  assert.equal(
    isValid,
    checked.success,
    `${JSON.stringify(checked.error?.issues ?? validate.errors)} in ${JSON.stringify(document)}`,
  );
  return isValid;
}

Deno.test("the committed JSON Schema is the one that the code generates", async () => {
  const committed = JSON.parse(await Deno.readTextFile(COMMITTED));
  assert.deepEqual(committed, makeJsonSchema(), "it is stale: run `deno task schema`, and commit the file");
  assert.deepEqual(SNAPSHOT_JSON_SCHEMA, committed);
});

Deno.test("the JSON Schema is of draft 2020-12, and has an id", () => {
  const schema = makeJsonSchema();
  assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
  assert.equal(schema.$id, "urn:purser:snapshot:v1");
  assert.ok(new Ajv2020().validateSchema(schema));
});

Deno.test("the JSON Schema has every definition that it refers to, and no other", () => {
  const schema = makeJsonSchema();
  const defined = Object.keys(schema.$defs as object).map((name) => `#/$defs/${name}`).sort();
  const refs = new Set([...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref));
  assert.deepEqual([...refs].sort(), defined);
});

Deno.test("the JSON Schema is served as it is committed", async () => {
  await using purser = await openTestPurser();
  const response = await purser.fetch("GET", SNAPSHOT_SCHEMA_PATH);
  assert.equal(SNAPSHOT_SCHEMA_PATH, "/schemas/snapshot/v1.json");
  assert.equal(response.headers.get("content-type"), "application/schema+json");
  assert.equal(await response.text(), JSON.stringify(JSON.parse(await Deno.readTextFile(COMMITTED))));
});

Deno.test("exported documents are valid against the JSON Schema", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/echo", { model: "demo:echo", tools: ["calculator"] });
  await purser.api("POST", "/agents/echo/runs", {
    input: "What is 2+2? Use the calculator",
    session_id: "ran",
  });
  await purser.run({ model: "demo:loop", tools: ["calculator"], maxSteps: 3 }, "Go", { sessionId: "looped" });
  await purser.run({ model: "demo:fail" }, "Hello", { sessionId: "failed" }).catch(() => {});
  await restore(purser.core, { ...fullSnapshot(), session_id: "restored" });
  for (const sessionId of ["ran", "looped", "failed", "restored"]) {
    for (const withEvents of [false, true]) {
      const document = JSON.parse(await exportText(purser.core, { sessionId, withEvents }));
      assert.ok(validate(document), JSON.stringify(validate.errors));
    }
  }
});

Deno.test("the JSON Schema accepts every document that the code accepts", () => {
  assert.ok(assertAgreement(fullSnapshot()));
  fc.assert(
    fc.property(anySnapshot, (document) => assert.ok(assertAgreement(JSON.parse(JSON.stringify(document))))),
    { numRuns: cases(80) },
  );
});

/** Every path in a value: its holder and key. */
function placesOf(value: unknown): { holder: LooseDocument; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [{ holder: value, key }, ...placesOf(item)]);
}

const notable = fc.constantFrom<unknown>(
  ...[
    null,
    true,
    "",
    "x",
    "text",
    "tool-call",
    "user",
    "tool",
    "snapshot",
    "2026-11-20T08:00:00Z",
    "x".repeat(300),
  ],
  ...[
    "2026-11-20T08:00:00+00:00",
    "2026-11-20",
    "\n",
    "😀".repeat(256),
    "😀".repeat(300),
    "😀".repeat(500),
    "ä",
  ],
  ...[0, -1, 1, 1.5, 2, 1000, 1001, 1e7, 1e9, 1e10, 2 ** 53 - 1, 2 ** 53, 1e300, 5e-324],
  ...[[], {}, [[]], [{}], { type: "text" }, { type: "text", text: "" }, { type: "other" }, { "": "" }, {
    a: {},
  }],
  Array.from({ length: 129 }, () => "t"),
);
const mutation = fc.record({
  place: fc.nat(),
  how: fc.constantFrom("replaced", "replaced", "removed", "added"),
  value: fc.oneof({ weight: 3, arbitrary: notable }, { weight: 1, arbitrary: hardJson }),
});

function mutate(
  document: LooseDocument,
  mutations: readonly (typeof mutation extends fc.Arbitrary<infer T> ? T : never)[],
) {
  for (const { place, how, value } of mutations) {
    const places = placesOf(document);
    const { holder, key } = places[place % places.length]!;
    if (how === "replaced") holder[key] = structuredClone(value);
    else if (how === "added") {
      holder[Array.isArray(holder) ? holder.length : "added"] = structuredClone(value);
    } else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  }
}

Deno.test("a JSON Schema validator and the code agree on mutated documents", () => {
  const said = { good: 0, bad: 0 };
  const base = fc.oneof({ weight: 3, arbitrary: fc.constant(null).map(fullSnapshot) }, {
    weight: 1,
    arbitrary: anySnapshot,
  });
  fc.assert(
    fc.property(base, fc.array(mutation, { minLength: 1, maxLength: 2 }), (source, mutations) => {
      const document = JSON.parse(JSON.stringify(source));
      mutate(document, mutations);
      if (assertAgreement(JSON.parse(JSON.stringify(document)))) said.good++;
      else said.bad++;
    }),
    { numRuns: cases(700) },
  );
  assert.ok(said.good > 200 && said.bad > 200, JSON.stringify(said));
});

Deno.test("a JSON Schema validator and the code agree on every notable value at every path", () => {
  const values = fc.sample(notable, { numRuns: 400, seed: 1 });
  const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  const document = fullSnapshot();
  for (const { holder, key } of placesOf(document)) {
    const { [key]: before } = holder;
    for (const value of distinct) {
      holder[key] = value;
      assertAgreement(document);
    }
    holder[key] = before;
  }
  assert.deepEqual(document, fullSnapshot());
});
