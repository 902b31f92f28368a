/** The OpenAPI document as the checks of requests and responses read it. */
import type { TestPurser } from "./test_purser.ts";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  externalDocs?: { url: string };
  [keyword: string]: unknown;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
}

export interface Answer {
  headers?: Record<string, { $ref: string } | Header>;
  content?: Record<string, { schema: Schema }>;
}

export interface Header {
  required?: boolean;
  schema: Schema;
}

export interface Operation {
  operationId: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Answer | { $ref: string }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Reads the document of an app. */
export async function readDocument(purser: Pick<TestPurser, "api">): Promise<OpenApiDocument> {
  return (await purser.api("GET", "/openapi.json")).body;
}

/** Returns all operations of a document, each with its method and path. */
export function operationsOf(document: OpenApiDocument): (Operation & { at: string })[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      at: `${method.toUpperCase()} ${path}`,
    }))
  );
}

/** The operation of the document for a request. */
export interface Match {
  template: string;
  verb: string;
  operation: Operation;
  /** The path's parameters, decoded if possible. */
  params: Record<string, string>;
}

/** Finds the operation of a request's path; literal paths take precedence over parameters, HEAD is GET. */
export function findOperation(document: OpenApiDocument, method: string, path: string): Match | undefined {
  const parts = path.split("?")[0]!.split("/");
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  // A path without parameters comes before those with them, whatever its methods.
  const fixed = path.split("?")[0]!;
  const template = (fixed in document.paths ? [fixed] : Object.keys(document.paths))
    .filter((template) => verb in document.paths[template]! && isAt(template.split("/"), parts))
    .sort((a, b) => a.split("{").length - b.split("{").length)[0];
  if (template === undefined) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of template.split("/").entries()) {
    if (part.startsWith("{")) params[part.slice(1, -1)] = decode(parts[index]!);
  }
  return { template, verb, operation: document.paths[template]![verb]!, params };
}

function isAt(template: string[], parts: string[]): boolean {
  return template.length === parts.length &&
    template.every((part, index) => part.startsWith("{") ? parts[index] !== "" : part === parts[index]);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Resolves a reference of the document. */
export function resolve<Value extends object>(document: object, value: Value | { $ref: string }): Value {
  if (!("$ref" in value) || typeof value.$ref !== "string") return value as Value;
  const parts = value.$ref.split("/").slice(1).map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
  // deno-lint-ignore no-explicit-any -- a walk through any JSON
  return parts.reduce((at: any, part) => at[part], document) as Value;
}

/** Closes every object of the document: a response may get a new field, but only with its schema. */
export function closeObjects(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(
    JSON.stringify(
      document,
      (_key, value) =>
        value?.type === "object" && value.properties && !("additionalProperties" in value)
          ? { ...value, additionalProperties: false }
          : value,
    ),
  );
}
