import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../harness/any_character.ts";
import { type Parameter, resolve, type Schema } from "../harness/openapi_document.ts";
import type { HostileRequest, HostileService, Operation } from "./service.ts";
import { exampleOf } from "./service.ts";
import { HEADERS, OTHER_JSON, SEGMENTS, TEXTS, TYPICAL, VALUES, WRITTEN } from "./values.ts";

/** Values that a schema of the document allows. */
export function anyOf(document: object, declared: Schema): fc.Arbitrary<unknown> {
  const schema = resolve<Schema>(document, declared as { $ref: string });
  const { type, minLength = 0, maxLength = 60, minimum, maximum, items, properties } = schema as Schema & {
    minLength?: number;
    maxLength?: number;
    minimum?: number;
    maximum?: number;
    items?: Schema;
    properties?: Record<string, Schema>;
  };
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum as unknown[]);
  if (Array.isArray(type)) return fc.oneof(...type.map((type) => anyOf(document, { ...schema, type })));
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.oneof(
        fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 1_000, 1_000) }),
        fc.bigInt(BigInt(minimum ?? 0), BigInt(maximum ?? Number.MAX_SAFE_INTEGER)).map(Number),
        fc.constantFrom(minimum ?? 0, maximum ?? Number.MAX_SAFE_INTEGER),
      );
    case "number":
      return fc.oneof(
        fc.integer({ min: Math.ceil(minimum ?? 0), max: 1_000_000 }).map((n) => n / 1_000),
        fc.constantFrom(minimum ?? 0, maximum ?? 1e12),
      );
    case "array":
      return fc.array(anyOf(document, items ?? {}), {
        minLength: schema.minItems as number ?? 0,
        maxLength: Math.min(schema.maxItems as number ?? 5, 5),
      });
    case "object":
      return anyObject(document, schema, properties ?? {});
    case "string": {
      const examples = [schema.example, ...(schema.examples as unknown[] ?? [])].filter((one) =>
        one !== undefined
      );
      const text = textOf(schema, minLength, Math.min(maxLength, 60));
      return examples.length > 0 ? fc.oneof(fc.constantFrom(...examples), text) : text;
    }
    default:
      return fc.jsonValue();
  }
}

const ID = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,20}$/);

function textOf({ format, pattern }: Schema, minLength: number, maxLength: number): fc.Arbitrary<string> {
  if (format === "date-time" || (pattern as string)?.includes("T")) return anyTime();
  if (pattern === undefined) return fc.string({ unit: anyCharacter, minLength, maxLength });
  if ((pattern as string).startsWith("^[A-Za-z0-9]")) return fc.oneof(fc.constantFrom("alpha", "bravo"), ID);
  // The patterns of names exclude control characters.
  return fc.string({ minLength, maxLength });
}

/** Times around the test's now, and some others. */
const anyTime = () =>
  fc.oneof(
    fc.integer({ min: Date.UTC(2026, 9, 1), max: Date.UTC(2026, 10, 1, 12) }),
    fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
  ).map((time) => new Date(time).toISOString());

function anyObject(
  document: object,
  { required = [], additionalProperties }: Schema,
  properties: Record<string, Schema>,
): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, anyOf(document, schema)]),
  );
  const record = fc.record(fields, { requiredKeys: required as string[] });
  const isOpen = additionalProperties !== false && additionalProperties !== undefined;
  if (!isOpen) return record;
  const more =
    typeof additionalProperties === "object" && Object.keys(additionalProperties as object).length > 0
      ? anyOf(document, additionalProperties as Schema)
      : fc.jsonValue();
  return fc.tuple(fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), more, { maxKeys: 3 }), record)
    .map((
      [others, known],
    ) => ({ ...others, ...known }));
}

/** Values that a hostile client sends instead. */
const anyHostileText = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 200 }),
);
const anyHostileValue = fc.oneof(
  fc.constantFrom(...TYPICAL, ...VALUES),
  fc.jsonValue({ stringUnit: anyCharacter }),
);

/** Requests of all operations: most of them valid by the document, the others with hostile values. */
export function anyRequest(service: HostileService): fc.Arbitrary<HostileRequest> {
  return fc.oneof(...service.operations.map((operation) => ({
    // The documents are large, and the same for each request.
    weight: operation.permission.scopes === "open" ? 1 : operation.method === "GET" ? 5 : 8,
    arbitrary: anyRequestOf(service, operation),
  })));
}

function anyRequestOf(service: HostileService, operation: Operation): fc.Arbitrary<HostileRequest> {
  const { document } = service;
  const { method, template, declared } = operation;
  const parameters = (place: string) => (declared.parameters ?? []).filter((one) => one.in === place);
  const path = fc.record(
    Object.fromEntries(parameters("path").map(({ name }) => [name, anySegment(service, name)])),
  ).map((segments) => template.replaceAll(/\{(\w+)\}/g, (_, name) => segments[name]!));
  const query = fc.tuple(...parameters("query").map((parameter) => anyPair(document, parameter)))
    .map((pairs) => pairs.flat().join("&")).map((text) => text && `?${text}`);
  const headers = fc.record(
    Object.fromEntries(
      parameters("header").map(({ name }) => [name, fc.constantFrom("", "*", '"x"', "1", "gzip")]),
    ),
    { requiredKeys: [] },
  );
  const [content] = Object.values(declared.requestBody?.content ?? {});
  const body = content === undefined ? fc.constant(undefined) : anyBody(service, operation, content.schema);
  return fc.record({
    method: fc.oneof(
      { weight: 20, arbitrary: fc.constant(method) },
      { weight: 1, arbitrary: fc.constantFrom("HEAD", "OPTIONS", "PUT", "DELETE", "GET") },
    ),
    target: fc.tuple(path, query).map((parts) => parts.join("")),
    headers: fc.oneof(
      { weight: 12, arbitrary: headers },
      { weight: 1, arbitrary: fc.constantFrom(...HEADERS) },
    ) as fc.Arbitrary<Record<string, string>>,
    body,
  }).map((request) => /^(GET|HEAD)$/.test(request.method) ? { ...request, body: undefined } : request);
}

function anySegment(service: HostileService, name: string): fc.Arbitrary<string> {
  const known = [service.ids.alpha[name]!, service.ids.bravo[name]!];
  const others = name === "session_id" ? ["loose_alpha", "copy_bravo", "new_alpha"] : [];
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...known, ...others) },
    { weight: 3, arbitrary: ID },
    { weight: 2, arbitrary: fc.constantFrom(...SEGMENTS) },
    { weight: 2, arbitrary: anyHostileText.map((text) => encodeURIComponent(text.toWellFormed())) },
  );
}

function anyPair(document: object, { name, schema, required }: Parameter): fc.Arbitrary<string[]> {
  const named = name.endsWith("agent_id")
    ? fc.constantFrom("alpha", "bravo")
    : name === "model"
    ? fc.constantFrom("demo:echo", "demo:loop", "gpt-5-mini", "openai:gpt-5-mini")
    : /^(from|to|at)$/.test(name)
    ? anyTime()
    : anyOf(document, schema);
  const value = fc.oneof({ weight: 9, arbitrary: named }, { weight: 1, arbitrary: anyHostileText });
  const pair = value.map((value) =>
    [value].flat().map((one) => `${name}=${encodeURIComponent(String(one).toWellFormed())}`)
  );
  return required ? pair : fc.oneof(pair, fc.constant<string[]>([]), fc.constant<string[]>([]));
}

/** The text of a body: valid by the document, with one hostile value, or hostile as a whole. */
function anyBody(service: HostileService, operation: Operation, schema: Schema): fc.Arbitrary<string> {
  const valid = anyOf(service.document, schema).map((body) => adapt(operation, body));
  const mutated = fc.tuple(
    valid,
    fc.nat(),
    anyHostileValue,
    fc.option(fc.constantFrom(...WRITTEN), { freq: 4 }),
  )
    .map(([body, at, value, written]) => mutate(body, at, value, written));
  return fc.oneof(
    { weight: 5, arbitrary: valid.map((body) => JSON.stringify(body)) },
    { weight: 2, arbitrary: fc.constant(exampleOf(operation)!) },
    { weight: 5, arbitrary: mutated },
    { weight: 1, arbitrary: fc.constantFrom(...OTHER_JSON) },
  );
}

/** Makes a body meaningful: no request of the tests may leave this process, so agents have the demo's models. */
function adapt({ route }: Operation, body: unknown): unknown {
  if (route === "PUT /agents/{agent_id}") {
    const { name: _, tools: __, model, ...more } = body as Record<string, unknown>;
    const isEven = String(model).length % 2 === 0;
    return {
      ...more,
      model: isEven ? "demo:echo" : "demo:loop",
      tools: isEven ? [] : ["calculator"],
      max_steps: 3,
    };
  }
  if (route === "POST /agents/snapshot/restore") {
    const { integrity: _, ...more } = body as Record<string, unknown>;
    return more;
  }
  return body;
}

/** Returns the text of a body in which the value at a place, by its number, is another one. */
function mutate(body: unknown, at: number, value: unknown, written: string | null): string {
  const text = JSON.stringify(body);
  let places = 0;
  JSON.parse(text, () => void places++);
  let place = at % Math.max(1, places);
  const mark = "@@mark";
  const marked = JSON.stringify(body, (_, old) => place-- === 0 ? mark : old);
  return marked?.replace(`"${mark}"`, () => written ?? JSON.stringify(value) ?? "null") ?? "null";
}
