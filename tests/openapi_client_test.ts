import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { OPENAPI_FETCH } from "#dev/openapi_fetch.ts";
import openapiTypescript, { astToString } from "#dev/openapi_typescript.ts";
import ts from "#dev/typescript.ts";
import { listen, withAccessCheck } from "../src/http/server/mod.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { lintFromString, loadConfig, type NormalizedProblem } from "#dev/openapi_core.ts";

/** The document as it is used: a client is generated from it, as docs/api.md describes. */

const ROOT = new URL("../", import.meta.url);
const GUIDE = await Deno.readTextFile(new URL("docs/api.md", ROOT));

function blockOf(language: string): string {
  return new RegExp("```" + language + "\\n([^]*?)```").exec(GUIDE)![1]!;
}

async function generateTypes(): Promise<string> {
  await using purser = await openTestPurser();
  const { body } = await purser.api("GET", "/openapi.json");
  return astToString(await openapiTypescript(body));
}

/** Writes the generated types, and puts the packages beside them that the program of the guide needs. */
async function generate(directory: string): Promise<void> {
  await Deno.writeTextFile(`${directory}/purser.d.ts`, await generateTypes());
  await Deno.mkdir(`${directory}/node_modules`);
  // Deno's own npm cache holds them.
  const helpers = createRequire(OPENAPI_FETCH).resolve("openapi-typescript-helpers/package.json");
  const packages = {
    "openapi-fetch": new URL("..", OPENAPI_FETCH).pathname,
    "openapi-typescript-helpers": dirname(helpers),
  };
  for (const [name, path] of Object.entries(packages)) {
    await Deno.symlink(path, `${directory}/node_modules/${name}`);
  }
}

/**
 * Compiles programs in the compiler's strictest mode, both at once, since most of the time goes to what they import. Returns the
 * errors of the second one, and those of the first with everything that is imported.
 */
async function compile(directory: string, ...programs: string[]): Promise<string[][]> {
  const paths = programs.map((_, index) => `${directory}/client${index}.ts`);
  for (const [index, program] of programs.entries()) await Deno.writeTextFile(paths[index]!, program);
  const compiled = ts.createProgram(paths, {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    // TypeScript's own libraries are left out, and nothing else.
    skipLibCheck: false,
    skipDefaultLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    preserveSymlinks: true,
    noEmit: true,
  });
  assert.ok(compiled.getSourceFile(`${directory}/purser.d.ts`), "the generated types are read");
  const errors = ts.getPreEmitDiagnostics(compiled).map(({ messageText, file, start }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.split("/").at(-1)}:${line} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
  const isOfSecond = (error: string) => error.startsWith("client1.ts:");
  return [errors.filter((error) => !isOfSecond(error)), errors.filter(isOfSecond)];
}

async function serveForTest({ core, app }: TestPurser) {
  const server = await listen(core, withAccessCheck(core, app), { host: "127.0.0.1", port: 0 });
  return { url: server.url, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Mistakes in a client that the types must reject. */
const MISTAKES = {
  "a missing field": 'purser.PUT("/agents/{agent_id}", { ...helper, body: {} });',
  "a value outside of an enumeration": 'purser.GET("/costs", { params: { query: { sort: "colour" } } });',
  "an unknown query parameter": 'purser.GET("/costs", { params: { query: { groupBy: "day" } } });',
  "a number as a string": 'purser.GET("/costs", { params: { query: { limit: "5" } } });',
  "an unknown path": 'purser.GET("/agent");',
  "a method that is not there": 'purser.DELETE("/costs");',
  "a cost that may be unknown": 'purser.GET("/costs").then(({ data }) => data![0]!.cost_usd.toFixed(2));',
  "an unknown field of a response": 'purser.GET("/agents").then(({ data }) => data![0]!.agentId);',
  "an error code that an operation does not have":
    'purser.GET("/agents").then(({ error }) => error?.code === "budget_exceeded");',
  "details before the code is read":
    'purser.POST("/agents/{agent_id}/runs", { ...helper, body: { input: "" } }).then(({ error }) => error!.details!.budget_usd.toFixed());',
};

Deno.test("the guide's client compiles with the generated types, which reject each mistake, and works against a server", () =>
  inDirectory(async (directory) => {
    await generate(directory);
    await using purser = await openTestPurser();
    await using server = await serveForTest(purser);
    const program = blockOf("ts").replace("http://127.0.0.1:8420", server.url);
    const head = [
      'import createClient from "openapi-fetch";',
      'import type { paths } from "./purser.d.ts";',
      'const purser = createClient<paths, "application/json" | "application/problem+json">();',
      'const helper = { params: { path: { agent_id: "helper" } } };',
      "void helper;",
    ];
    const mistaken = [...head, ...Object.values(MISTAKES)].join("\n");
    const [ofGuide, found] = await compile(directory, program, mistaken);
    assert.deepEqual(ofGuide, []);
    const lines = new Set(found!.map((text) => /^client1\.ts:(\d+) /.exec(text)?.[1]));
    const missed = Object.keys(MISTAKES).filter((_, index) => !lines.has(String(head.length + index + 1)));
    assert.deepEqual(missed, [], found!.join("\n"));
    assert.equal(lines.size, Object.keys(MISTAKES).length, found!.join("\n"));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-RWENS", "--quiet", "--no-lock", "--node-modules-dir=manual"],
        `${directory}/client0.ts`,
      ],
      env: { NO_COLOR: "1" },
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.equal(new TextDecoder().decode(stdout), blockOf("text"));
  }));

const FOLDER = ROOT.pathname;

/** The path of the document beside its configuration; the file need not exist. */
const PLACE = `${FOLDER}openapi.json`;

async function lint(document: unknown): Promise<NormalizedProblem[]> {
  const config = await loadConfig({ configPath: `${FOLDER}redocly.yaml` });
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
  const { ignore } = await loadConfig({ configPath: `${FOLDER}redocly.yaml` });
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
