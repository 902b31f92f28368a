import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { resolve, type Schema } from "../harness/openapi_document.ts";
import { createSchemaCheck, type SchemaCheck } from "../harness/schema_check.ts";
import { anyRequest } from "./any_request.ts";
import { exampleOf, openHostileService, type Operation } from "./service.ts";
import {
  HEADERS,
  METHODS,
  NOT_JSON,
  OTHER_JSON,
  SEGMENTS,
  TEXTS,
  TYPES,
  TYPICAL,
  VALUES,
  valuesAt,
  WRITTEN,
} from "./values.ts";

/**
 * Every route with hostile values in each of its parts, by the key of an admin. What must hold of every response is in
 * `HostileService.send`.
 */

const service = await openHostileService();
Deno.test.afterAll(async () => await service[Symbol.asyncDispose]());

/** Runs a test over all operations on the service, after which no error may have been logged. */
function testRoutes(
  sentence: string,
  body: (operation: Operation, number: number) => Promise<void>,
  filter: (operation: Operation) => boolean = () => true,
): void {
  Deno.test(sentence, async () => {
    const operations = service.operations.filter(filter);
    assert.ok(operations.length > 0);
    for (const [number, operation] of operations.entries()) await body(operation, number);
    service.checkLog();
    // deno-lint-ignore no-explicit-any -- a property that nothing has
    assert.equal(({} as any).polluted, undefined);
    await service.checkHealth();
  });
}

const ALL_SEGMENTS = [...TEXTS.map((text) => encodeURIComponent(text.toWellFormed())), ...SEGMENTS];

const hasBody = ({ declared }: Operation) => declared.requestBody !== undefined;
const parametersOf = ({ declared }: Operation, place: string) =>
  (declared.parameters ?? []).filter((parameter) => parameter.in === place);

testRoutes(
  "any text as any parameter of a query is refused, or is a value",
  async (operation, number) => {
    const { method } = operation;
    const path = service.pathOf(operation);
    const needed = parametersOf(operation, "query").filter(({ required }) => required);
    const send = (query: string) =>
      service.send({ method, target: `${path}?${query}`, body: exampleOf(operation) });
    for (const { name, schema } of parametersOf(operation, "query")) {
      const others = needed.filter((parameter) => parameter.name !== name).map(({ name }) =>
        `${name}=demo:echo&`
      );
      for (const text of valuesAt(number, TEXTS)) {
        const { status } = await send(`${others.join("")}${name}=${encodeURIComponent(text.toWellFormed())}`);
        const isWrong = schema.enum ? !(schema.enum as string[]).includes(text) : schema.type === "integer";
        if (isWrong) assert.equal(status, 400, `${operation.route} ${name}=${text}`);
      }
      for (const segment of valuesAt(number, SEGMENTS)) await send(`${others.join("")}${name}=${segment}`);
      if (schema.type !== "array") {
        const { status } = await send(`${others.join("")}${name}=1&${name}=2`);
        assert.equal(status, 400, `${operation.route}: ${name} twice`);
      }
    }
  },
  (operation) => parametersOf(operation, "query").length > 0,
);

testRoutes(
  "an unknown parameter of a query is refused by name, unless probes and browsers add it",
  async (operation, number) => {
    const { method, declared, route } = operation;
    const isService = declared.tags?.[0] === "service";
    const hasQuery = parametersOf(operation, "query").length > 0;
    const odd = ["__proto__", "constructor", "limit[]", "a\u0000b", "x".repeat(100_000)];
    for (const name of ["agent_idd", ...valuesAt(number, odd, 5)]) {
      const target = `${service.pathOf(operation)}?${encodeURIComponent(name)}=x`;
      const { status, text } = await service.send({ method, target, body: exampleOf(operation) });
      if (isService && !hasQuery) {
        assert.ok(status < 400, `${route}: ${status}`);
        continue;
      }
      assert.equal(status, 400, `${route}: ${name.slice(0, 20)}`);
      const paths = JSON.parse(text).details.issues.map(({ path }: { path: string }) => path);
      if (name === "agent_idd") assert.ok(paths.includes(name), `${route}: ${paths}`);
    }
  },
);

testRoutes(
  "no header makes a request another one, and none is an internal error",
  async (operation, number) => {
    const { method, route, template } = operation;
    // A request that changes something is about what does not exist.
    const target = method === "GET" ? service.pathOf(operation) : template.replaceAll(/\{\w+\}/g, "nothing");
    const body = method === "GET" ? undefined : "0";
    const { status: usual } = await service.send({ method, target, body });
    for (const headers of valuesAt(number, HEADERS)) {
      const { status } = await service.send({ method, target, body, headers });
      const meant = [usual, 304, 400, 406, 411, 412, 413, 415, 416, 417, 431];
      assert.ok(
        meant.includes(status),
        `${route} ${JSON.stringify(headers).slice(0, 100)}: ${status}, not ${usual}`,
      );
      if (operation.permission.scopes === "open") continue;
      assert.equal((await service.send({ method, target, body, headers, key: "" })).status, 401, route);
    }
  },
);

testRoutes(
  "a method that a path does not take is 405 with those that it takes",
  async (operation) => {
    const { template } = operation;
    const methods = service.operations.filter((one) => one.template === template).map(({ method }) => method);
    for (const method of METHODS) {
      if (methods.includes(method) || (method === "HEAD" && methods.includes("GET"))) continue;
      const { status, headers } = await service.send({ method, target: service.pathOf(operation) });
      assert.equal(status, 405, `${method} ${template}`);
      assert.deepEqual(headers.get("allow")?.split(", ").sort(), methods.sort(), `${method} ${template}`);
    }
  },
  ({ template, method }) => service.operations.find((one) => one.template === template)!.method === method,
);

testRoutes("a body that is no JSON, or another JSON, is refused", async (operation, number) => {
  const { method, route } = operation;
  const target = service.pathOf(operation);
  for (const body of ["", ...valuesAt(number, NOT_JSON, 4), ...valuesAt(number, OTHER_JSON, 4)]) {
    const { status, text } = await service.send({ method, target, body });
    assert.equal(status, 400, `${route} ${body.slice(0, 80)}: ${text.slice(0, 500)}`);
  }
  const bytes = new TextEncoder().encode(exampleOf(operation));
  for (
    const broken of [
      bytes.with(2, 0xff),
      bytes.slice(0, -1),
      new Uint8Array([0xef, 0xbb, 0xbf, ...bytes, 0xc0]),
    ]
  ) {
    await service.send({ method, target, body: broken });
  }
  const large = await service.send({ method, target, body: JSON.stringify("x".repeat(300 * 1024)) });
  assert.ok(large.status === 413 || large.status === 400, `${route}: ${large.status}`);
}, hasBody);

testRoutes("a body of another type is refused before it is read", async (operation) => {
  const { method, route } = operation;
  const target = service.pathOf(operation);
  for (const type of TYPES) {
    const body = exampleOf(operation) ?? "{}";
    const { status } = await service.send({ method, target, body, headers: { "content-type": type } });
    assert.equal(status, 415, `${route} as ${type}`);
  }
}, ({ method }) => method !== "GET");

/** The fields of an operation's body, those of an array's items too, by their path. */
function fieldsOf({ declared }: Operation): Record<string, Schema> {
  const [content] = Object.values(declared.requestBody!.content);
  const body = resolve<Schema>(service.document, content!.schema as { $ref: string });
  const isArray = body.type === "array";
  const item = isArray ? resolve<Schema>(service.document, body.items as { $ref: string }) : body;
  return Object.fromEntries(
    Object.entries(item.properties as Record<string, Schema>).map((
      [name, schema],
    ) => [isArray ? `[0].${name}` : name, schema]),
  );
}

const MARK = "@@mark";

/** Returns the text of a body with a written value as a field. */
function bodyWith(operation: Operation, path: string, written: string): string {
  const body = JSON.parse(exampleOf(operation)!);
  const [, name] = /(\w+)$/.exec(path)!;
  Object.assign(Array.isArray(body) ? body[0] : body, { [name!]: MARK });
  return JSON.stringify(body).replace(JSON.stringify(MARK), () => written);
}

let checkSent: SchemaCheck | undefined;

/** Returns whether the document allows a value. */
function isDeclared(schema: Schema, value: unknown): boolean {
  checkSent ??= createSchemaCheck(service.document, "request");
  try {
    checkSent(schema, value, "");
    return true;
  } catch {
    return false;
  }
}

testRoutes(
  "any value in any field of a body is refused where the document refuses it, and named",
  async (operation, number) => {
    const { method, route } = operation;
    const target = service.pathOf(operation);
    for (const [place, [path, schema]] of Object.entries(fieldsOf(operation)).entries()) {
      for (
        const value of [...valuesAt(place + number, TYPICAL, 3), ...valuesAt(place + number, VALUES, 26)]
      ) {
        const body = bodyWith(operation, path, JSON.stringify(value));
        const { status, text } = await service.send({ method, target, body });
        // What was accepted is compared with the document by `send`.
        if (status < 400) continue;
        const issues: { path: string }[] = JSON.parse(text).details?.issues ?? [];
        if (status === 400 && issues.some((issue) => issue.path.startsWith(path))) continue;
        const where = `${route} ${path} = ${JSON.stringify(value).slice(0, 100)}: ${text.slice(0, 1_000)}`;
        assert.ok(isDeclared(schema, JSON.parse(JSON.stringify(value))), where);
      }
      for (const written of valuesAt(place + number, WRITTEN, 26)) {
        await service.send({ method, target, body: bodyWith(operation, path, written) });
      }
    }
  },
  hasBody,
);

testRoutes(
  "a body without a required field, or with an unknown or a repeated one, is refused or read once",
  async (operation) => {
    const { method, route, declared } = operation;
    const target = service.pathOf(operation);
    const example = exampleOf(operation)!;
    const [content] = Object.values(declared.requestBody!.content);
    const body = resolve<Schema>(service.document, content!.schema as { $ref: string });
    const item = body.type === "array"
      ? resolve<Schema>(service.document, body.items as { $ref: string })
      : body;
    for (const name of (item.required ?? []) as string[]) {
      const without = JSON.stringify(JSON.parse(example), (key, value) => key === name ? undefined : value);
      assert.equal(
        (await service.send({ method, target, body: without })).status,
        400,
        `${route} without ${name}`,
      );
    }
    const withMember = (member: string) => example.replace("{", () => `{${member},`);
    for (
      const member of [
        '"__proto__":{"polluted":1}',
        '"constructor":1',
        '"surprise":1',
        '"toString":null',
        '"":0',
      ]
    ) {
      const { status } = await service.send({ method, target, body: withMember(member) });
      if (item.additionalProperties === false) assert.equal(status, 400, `${route} with ${member}`);
    }
    for (const name of Object.keys(item.properties as object)) {
      await service.send({ method, target, body: withMember(`"${name}":{}`) });
    }
  },
  hasBody,
);

// The last one: it may delete what the others need.
testRoutes("any text as any part of a path is refused, or is an id", async (operation, number) => {
  const { method, template } = operation;
  for (const { name } of parametersOf(operation, "path")) {
    for (const segment of valuesAt(number, ALL_SEGMENTS)) {
      const target = service.pathOf({ ...operation, template: template.replace(`{${name}}`, segment) });
      const { status, text } = await service.send({ method, target, body: exampleOf(operation) });
      const isId = /^[A-Za-z0-9][\w.:-]*$/.test(segment) || /lpha/.test(segment) || segment === "%2e%2e" ||
        name === "call_id"; // any text is one
      if (method === "GET" && !isId) assert.ok(status >= 400 || text === "[]", `${target}: ${status}`);
    }
  }
}, (operation) => parametersOf(operation, "path").length > 0);

/** So many requests are made of the OpenAPI document; the same seed makes the same ones. */
const REQUESTS = Number(Deno.env.get("PURSER_HOSTILE") ?? 250);
const SEED = Number(Deno.env.get("PURSER_SEED") ?? 20_261_123);

/** Requests to one service, before the next gets a new database. */
const PER_SERVICE = 1_500;

Deno.test(`${REQUESTS} requests that the document allows, or nearly, get answers that it declares`, async () => {
  const statuses: Record<string, number> = {};
  const succeeded = new Set<string>();
  let operations = 0;
  for (let start = 0; start < REQUESTS; start += PER_SERVICE) {
    await using service = await openHostileService();
    operations = service.operations.length;
    const numRuns = Math.min(PER_SERVICE, REQUESTS - start);
    const seed = SEED + start / PER_SERVICE;
    for (const request of fc.sample(anyRequest(service), { seed, numRuns })) {
      try {
        const { status } = await service.send(request);
        statuses[status] = (statuses[status] ?? 0) + 1;
      } catch (error) {
        throw new Error(
          `PURSER_SEED=${seed} PURSER_HOSTILE=${numRuns}: ${JSON.stringify(request).slice(0, 3_000)}`,
          {
            cause: error,
          },
        );
      }
    }
    for (const name of service.succeeded) succeeded.add(name);
    service.checkLog();
  }
  if (REQUESTS < 1_000) return;
  // Neither all nor nothing is refused, and nearly every operation has succeeded.
  const count = (first: string) =>
    Object.entries(statuses).reduce(
      (sum, [status, count]) => sum + (status.startsWith(first) ? count : 0),
      0,
    );
  assert.ok(count("2") > REQUESTS / 5 && count("4") > REQUESTS / 5, JSON.stringify(statuses));
  assert.ok(succeeded.size > operations * 0.8, `${[...succeeded]}`);
});
