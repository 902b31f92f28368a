import assert from "node:assert/strict";
import { lintFromString, loadConfig, type NormalizedProblem } from "#dev/openapi_core.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** The path of the document beside its configuration; the file need not exist. */
const PLACE = `${ROOT}openapi.json`;

async function lint(document: unknown): Promise<NormalizedProblem[]> {
  const config = await loadConfig({ configPath: `${ROOT}redocly.yaml` });
  return await lintFromString({ source: JSON.stringify(document), absoluteRef: PLACE, config });
}

const toText = ({ ruleId, message, location }: NormalizedProblem) =>
  `${ruleId}: ${message} (${location[0]?.pointer})`;

async function readDocument() {
  await using purser = await openTestPurser();
  return (await purser.api("GET", "/openapi.json")).body;
}

Deno.test("Redocly's linter finds nothing in the OpenAPI document but the listed exceptions, each with its reason", async () => {
  const problems = await lint(await readDocument());
  assert.deepEqual(problems.filter(({ ignored }) => !ignored).map(toText), []);
  const { ignore } = await loadConfig({ configPath: `${ROOT}redocly.yaml` });
  const letThrough = Object.entries(ignore[PLACE] ?? {}).flatMap(([rule, pointers]) =>
    [...pointers].map((pointer) => `${rule} ${pointer}`)
  );
  const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
  assert.deepEqual(letThrough.sort(), found.sort(), "each exception is still needed");
});

Deno.test("the linter finds faults: a warning counts as one", async () => {
  const document = await readDocument();
  delete document.paths["/agents"].get.operationId;
  delete document.tags[0].description;
  document.paths["/costs/events"].post.requestBody.content["application/json"].example[0].input_tokens = -1;
  document.components.schemas.Unused = { type: "object" };
  const rules = (await lint(document)).filter(({ ignored, severity }) => !ignored && severity === "error")
    .map(({ ruleId }) => ruleId);
  assert.deepEqual([...new Set(rules)].sort(), [
    "no-invalid-media-type-examples",
    "no-unused-components",
    "operation-operationId",
    "tag-description",
  ]);
});
