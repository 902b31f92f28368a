import { type ErrorCode, STATUS } from "../../kernel/errors.ts";
import { VERSION } from "../../kernel/version.ts";
import { RESPONSE_HEADERS } from "../../contract/headers.ts";
import { problemOf } from "../../contract/problems.ts";
import { SECURITY_SCHEME } from "../middleware/permission.ts";
import { nameOfCode } from "../problem_responses.ts";
import { createRouter, type Router } from "../router.ts";

/** The parts of the document that are used here. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Answer>;
    headers: Record<string, Header>;
    securitySchemes: Record<string, object>;
  };
}

/** One method of one path. */
export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Answer | Reference>;
  security?: Record<string, string[]>[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema?: { type?: string; enum?: string[]; default?: unknown };
}

/** The response of an operation with one status. */
export interface Answer {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Content;
}

export interface Header {
  description: string;
  required?: boolean;
  schema: object;
}

export type Content = Record<
  string,
  { schema: { $ref?: string; items?: { $ref?: string } }; example?: unknown }
>;

export interface Reference {
  $ref: string;
}

/** The tags of operations, in the document's order. */
const TAGS = {
  agents: "Agent definitions: model, tools, and the budget of a run",
  runs: "Running agents, and the results",
  sessions: "Sessions: their state and their event logs",
  snapshots: "Exporting a whole session as one portable document, and restoring it",
  costs: "The ledger: the cost of calls, and calls made elsewhere",
  budgets: "Limits of spend over agents, sessions, keys and all calls, by window",
  alerts: "Alert rules on spend, and the alerts that they fired",
  channels: "The channels that deliver alerts",
  events: "A live stream of events",
  keys: "API keys and their scopes",
  service: "The service itself: health, metrics and documents",
} as const;

export type Tag = keyof typeof TAGS;

const DESCRIPTION = `
Runs LLM agents, books every model call in an exact ledger, and stops a run at its budget.

**Money** is a JSON number of USD with at most nine decimals. Internally it is an integer of nano-USD; parse it as a
decimal where your language has one, and never add doubles. \`null\` is an unknown cost, which is not 0.

**Times** are ISO 8601 in UTC with milliseconds, such as \`2026-11-21T09:30:00.000Z\`. **Ids** are opaque strings; those
that the service generates sort by time.

**Lists** that are paginated have the next page in the \`Link\` header; a cursor is taken from there. **Errors** are problem documents (RFC 9457) with
a \`code\` of a closed list. Every \`GET\` also answers \`HEAD\`; an unsupported method is answered with 405 and the
supported ones in \`Allow\`. A request with a body that is not \`application/json\` is answered with 415.

**Limits** are answered with 429 where a key or an address has reached one, and with 503 where the server has, both with
\`Retry-After\`. Where a rate is set, every response has \`RateLimit-Policy\` and \`RateLimit\`. Every response has
\`X-Content-Type-Options: nosniff\`, \`Referrer-Policy: no-referrer\`, and \`Cache-Control: no-store\` unless it has an
\`ETag\`. Over the network it has \`X-Request-Id\`, the id of the request in the server's log.

**Keys** are sent as \`Authorization: Bearer psr_…\`. They are required as soon as there is one, or ever was; each operation
lists the scopes that it needs. Before, only the server's own machine is answered. A key of one agent gets that agent's
part of a list, and a 403 or a 404 for what belongs to other agents.

Paths have no version: fields, values, headers and operations may be added, and existing ones do not change. Clients
ignore what they do not know.`.trim();

const SECURITY_SCHEMES = {
  [SECURITY_SCHEME]: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "psr_…",
    description:
      "An API key. Required as soon as there is one, or ever was; before, only the server's own machine is answered.",
  },
};

/** Makes the OpenAPI document of an app's routes. Problem responses and headers are components, referred to by name. */
export function makeDocument(app: Router): OpenApiDocument {
  const { components, ...document } = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Purser",
      version: VERSION,
      description: DESCRIPTION,
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "/", description: "The server of this document" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  }) as unknown as OpenApiDocument;
  const responses: Record<string, Answer> = {};
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) {
      for (const [status, answer] of Object.entries(operation.responses)) {
        if ("$ref" in answer) continue;
        const name = problemIn(answer);
        if (name === undefined) continue;
        responses[name] = answer;
        operation.responses[status] = { $ref: `#/components/responses/${name}` };
      }
    }
  }
  const headers = structuredClone(RESPONSE_HEADERS);
  const schemas = convertNull({ ...components.schemas, ...problemSchemas(responses) });
  return {
    ...document,
    components: { ...components, schemas, responses, headers, securitySchemes: SECURITY_SCHEMES },
  };
}

/** Writes null in a union as an enumeration: OpenAPI 3.0, to which tools convert the document, has no such type. */
function convertNull(schemas: Record<string, object>): Record<string, object> {
  const isNull = (value: { type?: unknown }) => value?.type === "null" && Object.keys(value).length === 1;
  return JSON.parse(JSON.stringify(schemas, (_key, value) => isNull(value) ? { enum: [null] } : value));
}

/** Returns the schemas of some responses with problems, which their routes only name. */
function problemSchemas(responses: Readonly<Record<string, Answer>>): Record<string, object> {
  const router = createRouter();
  for (const code of Object.keys(STATUS) as ErrorCode[]) {
    const name = nameOfCode(code);
    if (name in responses) router.openAPIRegistry.register(`${name}Problem`, problemOf(code));
  }
  const { components } = router.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "", version: "" } });
  return components!.schemas!;
}

/** Returns the name of a response's problem, such as `NotFound`. */
function problemIn(answer: Answer): string | undefined {
  const schema = answer.content?.["application/problem+json"]?.schema.$ref;
  return schema && /\/(\w+)Problem$/.exec(schema)?.[1];
}
