import assert from "node:assert/strict";
import type { App } from "../../src/http/mod.ts";
import {
  type Answer,
  closeObjects,
  findOperation,
  type Header,
  type OpenApiDocument,
  resolve,
} from "./openapi_document.ts";
import { checkRequest, type SentRequest } from "./request_check.ts";
import { createSchemaCheck, type SchemaCheck } from "./schema_check.ts";
import { checkStream } from "./stream_check.ts";

/**
 * Fails if a response is not one that the OpenAPI document declares for its route and status, down to its headers
 * and fields; and if an accepted request is not one that the document allows. Returns the response: a
 * stream of events is checked while it is read.
 */
export interface ResponseCheck {
  (method: string, path: string, response: Response, request?: SentRequest): Promise<Response>;
  /** The `operationId` of every operation that was answered successfully. */
  readonly succeeded: ReadonlySet<string>;
}

/** The schema of a problem; checks are compiled once for each object that is a schema. */
const PROBLEM = { $ref: "#/components/schemas/Problem" };

/** Media types whose body is a JSON document. */
const JSON_TYPE = /^application\/(.+\+)?json/;

/** Headers that a server may send with any response and that clients need not know. */
const TRANSPORT = ["connection", "content-length", "content-type", "date", "transfer-encoding"];

/** Headers that every response has, each with its value. */
const UNIVERSAL: Record<string, RegExp> = {
  "x-content-type-options": /^nosniff$/,
  "referrer-policy": /^no-referrer$/,
  "cache-control": /^(no-store|(private, )?no-cache)$/,
};

/** Headers of every response over the network, the last two where a rate limit applies. */
const OF_SERVERS = ["x-request-id", "ratelimit", "ratelimit-policy"];

/** A document with closed objects, and the compiled checks of its schemas. */
interface CompiledDocument {
  closed: OpenApiDocument;
  checkAnswer: SchemaCheck;
  checkSent: SchemaCheck;
}

function compileDocument(document: OpenApiDocument): CompiledDocument {
  const closed = closeObjects(document);
  return {
    closed,
    checkAnswer: createSchemaCheck(closed, "answer"),
    checkSent: createSchemaCheck(document, "request"),
  };
}

let ownDocument: CompiledDocument | undefined;

/**
 * Creates the check for an app of this process; every test of the API sends its requests through it. All apps serve the
 * same document, so that it is read and compiled once.
 */
export async function createAppCheck(app: Pick<App, "request">): Promise<ResponseCheck> {
  ownDocument ??= compileDocument(await (await app.request("/openapi.json")).json());
  return checkWith(ownDocument);
}

/** Creates the check for a document. */
export function createResponseCheck(document: OpenApiDocument): ResponseCheck {
  return checkWith(compileDocument(document));
}

function checkWith({ closed, checkAnswer, checkSent }: CompiledDocument): ResponseCheck {
  const succeeded = new Set<string>();

  const check = async (method: string, path: string, response: Response, request?: SentRequest) => {
    const where = `${method} ${path} ${response.status}`;
    const match = findOperation(closed, method, path);
    const type = response.headers.get("content-type")?.split(";")[0]?.trim();
    if (match === undefined) {
      assert.ok([401, 403, 404, 405, 413, 415, 500].includes(response.status), `${where}: is not declared`);
      assert.equal(type, "application/problem+json", where);
      if (method !== "HEAD") {
        checkAnswer(PROBLEM, await response.clone().json(), where);
      }
      checkHeaders(closed, UNKNOWN[response.status] ?? {}, response, where);
      return response;
    }
    const declared = match.operation.responses[response.status];
    assert.ok(declared, `${where}: the status is not declared for ${match.template}`);
    const answer = resolve<Answer>(closed, declared);
    checkHeaders(closed, answer, response, where);
    if (response.status < 400) {
      succeeded.add(match.operation.operationId);
      if (request) await checkRequest(checkSent, match, path, request, where);
    }
    if (answer.content === undefined) {
      assert.equal(await response.clone().text(), "", where);
      return response;
    }
    const content = answer.content[type ?? ""];
    assert.ok(content, `${where}: ${type} is not among ${Object.keys(answer.content)}`);
    if (method === "HEAD") return response;
    if (type === "text/event-stream") return checkStream(checkAnswer, content.schema, response, where);
    if (JSON_TYPE.test(type!)) checkAnswer(content.schema, await response.clone().json(), where);
    return response;
  };
  return Object.assign(check, { succeeded });
}

const text = { required: true, schema: { type: "string" } };

/** The headers of responses to requests that are not in the document, by status. */
const UNKNOWN: Record<number, Answer> = {
  401: { headers: { "WWW-Authenticate": text } },
  405: { headers: { Allow: text } },
};

/** Every required header is there, and none that is not declared. */
function checkHeaders(document: object, answer: Answer, response: Response, where: string): void {
  const declared = new Map<string, Header>();
  for (const [name, header] of Object.entries(answer.headers ?? {})) {
    declared.set(name.toLowerCase(), resolve<Header>(document, header));
  }
  for (const [name, { required }] of declared) {
    assert.ok(!required || response.headers.has(name), `${where}: the header ${name} is missing`);
  }
  for (const [name, value] of Object.entries(UNIVERSAL)) {
    assert.match(response.headers.get(name) ?? "", value, `${where}: ${name}`);
  }
  assert.equal(response.headers.get("cache-control") === "no-store", !response.headers.has("etag"), where);
  for (const name of response.headers.keys()) {
    const isKnown = declared.has(name) || TRANSPORT.includes(name) || name in UNIVERSAL ||
      OF_SERVERS.includes(name);
    assert.ok(isKnown, `${where}: the header ${name} is not declared`);
  }
}
