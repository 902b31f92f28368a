import assert from "node:assert/strict";
import type { Match, Parameter, Schema } from "./openapi_document.ts";
import type { SchemaCheck } from "./schema_check.ts";

/** A request as a test sends it. */
export interface SentRequest {
  headers?: HeadersInit | undefined;
  /** A value that is sent as JSON, or the bytes or the text of the body. */
  body?: unknown;
}

/** Fails if the document does not declare a parameter or a body's field of a request that the API has accepted. */
export async function checkRequest(
  check: SchemaCheck,
  { operation, params }: Match,
  path: string,
  { headers, body }: SentRequest,
  where: string,
): Promise<void> {
  const declared = operation.parameters ?? [];
  const query = new URL(path, "http://purser").searchParams;
  const given = new Headers(headers);
  for (const name of new Set(query.keys())) {
    const isDeclared = declared.some((parameter) => parameter.in === "query" && parameter.name === name);
    assert.ok(isDeclared, `${where}: the query's ${name} is not declared`);
  }
  for (const parameter of declared) {
    const values = valuesOf(parameter, params, query, given);
    assert.ok(values.length > 0 || !parameter.required, `${where}: ${parameter.name} is required`);
    if (values.length === 0) continue;
    const value = fromText(parameter.schema, values);
    check(parameter.schema, value, `${where}: the ${parameter.in}'s ${parameter.name}`);
  }
  const [content] = Object.values(operation.requestBody?.content ?? {});
  if (content === undefined) return assert.equal(body, undefined, `${where}: no body is declared`);
  assert.ok(body !== undefined, `${where}: a body is declared`);
  check(content.schema, await parse(body, given), `${where}: the body`);
}

function valuesOf(
  { name, in: place }: Parameter,
  params: Record<string, string>,
  query: URLSearchParams,
  headers: Headers,
): string[] {
  if (place === "query") return query.getAll(name);
  const value = place === "path" ? params[name] : headers.get(name);
  return value === undefined || value === null ? [] : [value];
}

/** A parameter's value by its schema. */
function fromText({ type }: Schema, values: string[]): unknown {
  if (type === "array") return values;
  assert.equal(values.length, 1);
  return type === "integer" || type === "number" ? Number(values[0]) : values[0];
}

async function parse(body: unknown, headers: Headers): Promise<unknown> {
  if (typeof body === "string") return JSON.parse(body.replace(/^\ufeff/, ""));
  if (!(body instanceof Uint8Array)) return JSON.parse(JSON.stringify(body));
  const stream = new Blob([body as Uint8Array<ArrayBuffer>]).stream();
  const isZipped = headers.get("content-encoding")?.toLowerCase() === "gzip";
  return await new Response(isZipped ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).json();
}
