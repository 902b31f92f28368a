import assert from "node:assert/strict";
import { Converter } from "#dev/openapi_down_convert.ts";
import { createConfig, lintFromString } from "#dev/openapi_core.ts";
import { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from "#dev/quicktype_core.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { resolve } from "./harness/openapi_document.ts";
import type { OpenApiDocument, Schema } from "./harness/openapi_document.ts";
import { said } from "./harness/node.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { isThorough } from "./harness/thorough.ts";

/** The document is simple enough for client generators of any language. */

async function readDocument(): Promise<OpenApiDocument> {
  await using purser = await openTestPurser();
  return (await purser.api("GET", "/openapi.json")).body;
}

/** The types of the document's schemas in a language. */
async function generate({ components }: OpenApiDocument, lang: "csharp" | "go" | "java" | "python" | "rust") {
  const text = JSON.stringify(components.schemas).replaceAll("#/components/schemas/", "#/definitions/");
  const definitions = JSON.parse(text);
  const properties = Object.fromEntries(
    Object.keys(definitions).map((name) => [name, { $ref: `#/definitions/${name}` }]),
  );
  const input = new JSONSchemaInput(new FetchingJSONSchemaStore());
  await input.addSource({
    name: "Purser",
    schema: JSON.stringify({ type: "object", properties, definitions }),
  });
  const inputData = new InputData();
  inputData.addInput(input);
  return (await quicktype({ inputData, lang })).lines.join("\n");
}

/** The declaration of a type in a language, of a count, and of a cost that may be unknown. */
const LANGUAGES = {
  csharp: [/class (\w+)/g, /long InputTokens /, /double\? CostUsd /],
  go: [/^type (\w+) struct/gm, /InputTokens +int64 /, /CostUsd +\*float64 /],
  java: [/class (\w+)/g, /long inputTokens;/, /Double costUsd;/],
  python: [/^class (\w+)/gm, /input_tokens: int$/m, /cost_usd: float \| None/],
  rust: [/struct (\w+)/g, /input_tokens: i64,/, /cost_usd: Option<f64>,/],
} as const;

// One generator writes all languages: the gate has time for one.
const inTime = Object.entries(LANGUAGES).filter(([name]) => isThorough || name === "java");

for (const [language, [declaration, count, cost]] of inTime) {
  Deno.test(`every schema of the document becomes a type of the same name in ${language}`, async () => {
    const document = await readDocument();
    const code = await generate(document, language as keyof typeof LANGUAGES);
    const declared = new Set([...code.matchAll(declaration)].map(([, name]) => name!.toLowerCase()));
    const missing = Object.entries(document.components.schemas)
      .filter(([name, { type }]) => type === "object" && !declared.has(name.toLowerCase()));
    assert.deepEqual(missing.map(([name]) => name), []);
    assert.ok(count.test(code), "a count has 64 bits");
    assert.ok(cost.test(code), "a cost may be unknown");
  });
}

Deno.test("the guide's converter makes a valid document for tools that support OpenAPI 3.0 only", async () => {
  // deno-lint-ignore no-explicit-any -- the converter takes any document
  const converted = new Converter(await readDocument() as any).convert() as {
    openapi: string;
    paths: object;
  };
  assert.match(converted.openapi, /^3\.0\./);
  assert.ok(Object.keys(converted.paths).length > 20);
  const config = await createConfig({ extends: ["spec"] });
  const source = JSON.stringify(converted);
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  assert.deepEqual(problems.map(({ message, location }) => `${message} ${location[0]?.pointer}`), []);
  assert.doesNotMatch(source, /"type":\[/);
});

Deno.test("no named schema is null itself, and each member of a union has a name: generators number the others", async () => {
  const document = await readDocument();
  const faults: string[] = [];
  const check = (value: Schema, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const union of ["oneOf", "anyOf"]) {
      for (const member of (value[union] ?? []) as Schema[]) {
        if (member.type === "object") faults.push(`${path} has a member of ${union} without a name`);
      }
    }
    for (const [key, part] of Object.entries(value)) check(part as Schema, `${path}/${key}`);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (Array.isArray(schema.type)) faults.push(`${name} is ${schema.type.join(" or ")}`);
    check(schema, name);
  }
  assert.deepEqual(faults, []);
  const { error } = (document.components.schemas.Run as { properties: Record<string, Schema> }).properties;
  const [named, none] = error!.anyOf as [Schema & { $ref: string }, Schema];
  assert.equal(resolve<Schema>(document, named).type, "object");
  assert.deepEqual(none, { enum: [null] });
});

/** The generator of Python clients with which the document was tried. It is no part of the gate. */
const PYTHON_GENERATOR = "openapi-python-client";
const PYTHON = ["-c", "import openapi_python_client, sys; print(sys.executable)"];

const python = await said("python3", PYTHON).catch(() => undefined);

Deno.test({
  name: `a Python client is generated without a warning, and every module of it can be imported${
    python ? "" : ` (skipped: python3 has no ${PYTHON_GENERATOR})`
  }`,
  ignore: python === undefined,
  fn: () =>
    inDirectory(async (directory) => {
      await Deno.writeTextFile(`${directory}/openapi.json`, JSON.stringify(await readDocument()));
      const generate = ["generate", "--path", "openapi.json", "--output-path", "purser", "--meta", "none"];
      const module = "from openapi_python_client.cli import app; app()";
      const config = "post_hooks: []\n";
      await Deno.writeTextFile(`${directory}/config.yaml`, config);
      const out = await said(
        python!,
        ["-c", module, ...generate, "--config", "config.yaml", "--fail-on-warning"],
        directory,
      );
      assert.doesNotMatch(out, /Unable|Warning/);
      const program = [
        "import importlib, pkgutil, purser",
        "names = [each.name for each in pkgutil.walk_packages(purser.__path__, 'purser.')]",
        "for name in names: importlib.import_module(name)",
        "from purser.api.runs import get_run",
        "print(len(names))",
      ].join("\n");
      assert.ok(Number(await said(python!, ["-c", program], directory)) > 100);
    }),
});
