import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: unknown }> }>;
}

interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

/** Fails where an answer is not one that the OpenAPI document declares for its route and status. */
export type ResponseCheck = (method: string, path: string, response: Response) => Promise<void>;

/** Media types whose body is a JSON document. */
const JSON_TYPE = /^application\/(.+\+)?json/;

/** Makes the check for a document; every test of the API sends its requests through it. */
export function createResponseCheck(document: OpenApiDocument): ResponseCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(document, "purser");
  const validators = new Map<string, ValidateFunction>();

  function validate(pointer: string, body: unknown, where: string): void {
    let validator = validators.get(pointer);
    if (!validator) validators.set(pointer, validator = ajv.compile({ $ref: `purser#${pointer}` }));
    assert.ok(
      validator(body),
      `${where}: ${JSON.stringify(validator.errors, null, 1)} in ${JSON.stringify(body)}`,
    );
  }

  return async (method, path, response) => {
    const where = `${method} ${path} ${response.status}`;
    const template = findTemplate(document, method, path);
    const type = response.headers.get("content-type")?.split(";")[0]?.trim();
    if (template === undefined) {
      assert.ok([404, 405, 413, 415, 500].includes(response.status), `${where}: is not declared`);
      assert.equal(type, "application/problem+json", where);
      return validate("/components/schemas/Problem", await response.clone().json(), where);
    }
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const declared = document.paths[template]![verb]!.responses[response.status];
    assert.ok(declared, `${where}: the status is not declared for ${template}`);
    const content = Object.keys(declared.content ?? {});
    if (content.length === 0) return assert.equal(await response.clone().text(), "", where);
    assert.ok(type !== undefined && content.includes(type), `${where}: ${type} is not among ${content}`);
    if (method === "HEAD" || !JSON_TYPE.test(type)) return;
    const pointer = ["paths", template, verb, "responses", response.status, "content", type, "schema"];
    const text = pointer.map((part) => "/" + encodeURIComponent(escapePointer(String(part)))).join("");
    validate(text, await response.clone().json(), where);
  };
}

/** The path of the document that a request's path is one of; literal paths come before parameters. */
function findTemplate(document: OpenApiDocument, method: string, path: string): string | undefined {
  const pathname = path.split("?")[0]!;
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  return Object.keys(document.paths)
    .filter((template) => verb in document.paths[template]!)
    .sort((a, b) => Number(a.includes("{")) - Number(b.includes("{")))
    .find((template) =>
      new RegExp(`^${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`).test(pathname)
    );
}

function escapePointer(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}
