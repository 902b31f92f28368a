import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../../contract/snapshot/json_schema.ts";
import {
  type Answer,
  type Content,
  type Header,
  makeDocument,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Reference,
} from "../openapi/document.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter, type Router } from "../router.ts";
import type { Context } from "hono";
import { html } from "hono/html";
import { toHex } from "../../kernel/encoding.ts";
import { matchesWeakly, PAGE_HEADERS } from "../middleware/response_headers.ts";
import { withBody } from "../middleware/served_body.ts";

/** The headers of documents that are revalidated with their ETag, and of pages. */
const REVALIDATED = headers("ETag", "Cache-Control");
const UNCHANGED = { description: "It is the document of `If-None-Match`", headers: REVALIDATED };
const PAGE = {
  ...REVALIDATED,
  ...headers("Content-Security-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"),
};

const home = createRoute({
  method: "get",
  path: "/",
  scopes: "open",
  operationId: "redirectToDocs",
  summary: "Redirect to the dashboard, or to the docs page where a client doesn't accept HTML",
  tags: ["service"],
  responses: {
    302: { description: "Redirects to /docs", headers: headers("Location") },
    303: { description: "Redirects to /ui/, where `Accept` has `text/html`", headers: headers("Location") },
    ...problems(),
  },
});

const openapi = createRoute({
  method: "get",
  path: "/openapi.json",
  scopes: "open",
  operationId: "getOpenApiDocument",
  summary: "Get this API as an OpenAPI 3.1 document",
  tags: ["service"],
  responses: {
    200: { ...json(z.looseObject({ openapi: z.string() }), "The document"), headers: REVALIDATED },
    304: UNCHANGED,
    ...problems(),
  },
});

const docs = createRoute({
  method: "get",
  path: "/docs",
  scopes: "open",
  operationId: "getDocsPage",
  summary: "Get this API as a docs page",
  tags: ["service"],
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } }, headers: PAGE },
    304: { description: UNCHANGED.description, headers: PAGE },
    ...problems(),
  },
});

const style = createRoute({
  method: "get",
  path: "/docs/page.css",
  scopes: "open",
  operationId: "getDocsStyle",
  summary: "Get the style of the docs page",
  tags: ["service"],
  responses: {
    200: { description: "The style", content: { "text/css": { schema: z.string() } }, headers: PAGE },
    304: { description: UNCHANGED.description, headers: PAGE },
    ...problems(),
  },
});

const script = createRoute({
  method: "get",
  path: "/docs/page.js",
  scopes: "open",
  operationId: "getDocsScript",
  summary: "Get the script of the docs page",
  tags: ["service"],
  responses: {
    200: { description: "The script", content: { "text/javascript": { schema: z.string() } }, headers: PAGE },
    304: { description: UNCHANGED.description, headers: PAGE },
    ...problems(),
  },
});

const schema = createRoute({
  method: "get",
  path: SNAPSHOT_SCHEMA_PATH,
  scopes: "open",
  operationId: "getSnapshotSchema",
  summary: "Get the JSON Schema of snapshots, version 1",
  tags: ["snapshots"],
  responses: {
    200: {
      description: "The schema (draft 2020-12)",
      content: { "application/schema+json": { schema: z.looseObject({ title: z.string() }) } },
      headers: REVALIDATED,
    },
    304: UNCHANGED,
    ...problems(),
  },
});

/** A public document in the form in which it is sent; the same for every client, and made once. */
interface Prepared {
  bytes: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
}

/** The documents that have been made in this process. They have no setting of it. */
const ofProcess = new Map<string, Prepared>();

export function createRoutes(_core: unknown, wholeApp: () => Promise<Router>, prepared = ofProcess) {
  const preparing = new Map<string, Promise<Prepared>>();

  /** Returns a document; requests at the same time wait for the same one. A failure is forgotten. */
  async function prepare(path: string, type: string, make: () => unknown): Promise<Prepared> {
    let document = preparing.get(path);
    if (!document) {
      document = (async () => prepareDocument(String(await make()), type))();
      preparing.set(path, document);
    }
    try {
      prepared.set(path, await document);
      return prepared.get(path)!;
    } finally {
      preparing.delete(path);
    }
  }

  /** Returns the response with a document: 304 where the client has it. */
  async function serve(
    c: Context,
    { type, make, more }: { type: string; make: () => unknown; more?: Record<string, string> },
  ): Promise<never> {
    const { path } = c.req;
    const { bytes, headers } = prepared.get(path) ?? await prepare(path, type, make);
    const known = c.req.header("if-none-match");
    if (known === undefined || !matchesWeakly(known, headers.etag!)) {
      return withBody(new Response(bytes, { headers: { ...headers, ...more } }), bytes) as never;
    }
    const { "content-type": _, ...ofUnchanged } = headers;
    return new Response(null, { status: 304, headers: { ...ofUnchanged, ...more } }) as never;
  }

  const readDocument = async () => makeDocument(await wholeApp());
  const asJson = { type: "application/json", make: async () => JSON.stringify(await readDocument()) };
  const asPage = {
    type: "text/html; charset=UTF-8",
    make: async () => docsPage(await readDocument()),
    more: PAGE_HEADERS,
  };
  const asStyle = { type: "text/css; charset=UTF-8", make: () => STYLE, more: PAGE_HEADERS };
  const asScript = { type: "text/javascript; charset=UTF-8", make: () => SCRIPT, more: PAGE_HEADERS };
  const asSchema = { type: "application/schema+json", make: () => JSON.stringify(SNAPSHOT_JSON_SCHEMA) };
  return createRouter()
    .openapi(
      home,
      (c) =>
        c.req.header("accept")?.includes("text/html") ? c.redirect("/ui/", 303) : c.redirect("/docs", 302),
    )
    .openapi(openapi, (c) => serve(c, asJson))
    .openapi(docs, (c) => serve(c, asPage))
    .openapi(style, (c) => serve(c, asStyle))
    .openapi(script, (c) => serve(c, asScript))
    .openapi(schema, (c) => serve(c, asSchema));
}

async function prepareDocument(text: string, type: string): Promise<Prepared> {
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return {
    bytes,
    headers: {
      "content-type": type,
      "cache-control": "no-cache",
      etag: `"${toHex(digest.subarray(0, 16))}"`,
    },
  };
}

/** Renders the OpenAPI document as one self-contained page. */
function docsPage(document: OpenApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags[0]);
  const { title, version, description = "" } = document.info;
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${title} API</title>
        <link rel="stylesheet" href="/docs/page.css">
        <script src="/docs/page.js" defer></script>
      </head>
      <body>
    <header><h1>${title} <small>${version}</small></h1>
    ${description.split("\n\n").map((part) => html`<p>${withMarks(part)}</p>`)}
    <p><a href="/openapi.json">openapi.json</a></p></header>
    ${document.tags.filter(({ name }) => byTag.has(name)).map(({ name, description }) =>
      html`
        <section>
          <h2>${name}</h2>
          <p>${withMarks(description)}</p>
          ${byTag.get(name)!.map((one) => operationPart(document, one))}
        </section>
      `
    )}
    <section><h2>Schemas</h2>${Object.entries(document.components.schemas).map(([name, schema]) =>
      html`
        <details id="${name}">
          <summary><code>${name}</code></summary>
          <pre>${JSON.stringify(schema, null, 2)}</pre>
        </details>
      `
    )}</section></body>
    </html>
  `;
}

interface Entry {
  path: string;
  method: string;
  operation: Operation;
}

function operationPart(document: OpenApiDocument, { path, method, operation }: Entry) {
  const { operationId, summary, description, parameters = [], requestBody, responses, security = [] } =
    operation;
  return html`<details id="${operationId}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code>
<span>${summary}</span></summary>
<p><a href="#${operationId}"><code>${operationId}</code></a></p>
${description ? html`<p>${withMarks(description)}</p>` : ""}
<p>${withMarks(describeNeed(security))}</p>
${parameters.length > 0 ? html`<table>${parameters.map(parameterRow)}</table>` : ""}
${requestBody ? bodyPart(requestBody.content) : ""}
<table>${
    Object.entries(responses).map(([status, answer]) => answerRow(document, status, answer))
  }</table></details>`;
}

function describeNeed(security: readonly Record<string, string[]>[]): string {
  if (security.length === 0) return "Needs no key.";
  const scopes = security.flatMap((each) => Object.values(each).flat()).map((scope) => `\`${scope}\``);
  return `Needs a key with ${scopes.join(" or ")}.`;
}

function parameterRow({ name, in: location, required, description, schema }: Parameter) {
  return html`
    <tr>
      <td><code>${name}</code></td>
      <td>${location}${required ? ", required" : ""}</td>
      <td>${withMarks([typeOf(schema), description].filter(Boolean).join(" · "))}</td>
    </tr>
  `;
}

function bodyPart(content: Content) {
  const [type, { example } = {}] = Object.entries(content)[0] ?? [];
  return html`<p>Body: ${schemaLinks(content)} <small>${type}</small></p>
${example === undefined ? "" : html`<pre>${JSON.stringify(example, null, 2)}</pre>`}`;
}

function answerRow(document: OpenApiDocument, status: string, answer: Answer | Reference) {
  const { description, headers = {}, content = {} } = resolve<Answer>(document, answer);
  return html`
    <tr>
      <td><code>${status}</code></td>
      <td>
        ${withMarks(description)}${Object.entries(headers).map(([name, header]) =>
          html`
            <br><small><code>${name}</code>: ${withMarks(
              resolve<Header>(document, header).description,
            )}</small>
          `
        )}
      </td>
      <td>${schemaLinks(content)}</td>
    </tr>
  `;
}

/** Returns the component that a reference points to. */
function resolve<Value extends object>(document: OpenApiDocument, value: Value | Reference): Value {
  if (!("$ref" in value)) return value;
  const [kind, name] = value.$ref.split("/").slice(-2) as [keyof OpenApiDocument["components"], string];
  return document.components[kind][name] as Value;
}

/** Renders text with `code` in backticks and **strong** text in double asterisks. */
function withMarks(text: string) {
  return text.split("`").map((part, index) =>
    index % 2 === 1
      ? html`<code>${part}</code>`
      : part.split("**").map((words, index) => index % 2 === 1 ? html`<strong>${words}</strong>` : words)
  );
}

function typeOf({ type, enum: values, default: fallback }: Parameter["schema"] = {}): string {
  const kind = values ? values.map((value) => `\`${value}\``).join(", ") : type ?? "";
  return fallback === undefined ? kind : `${kind}, default \`${fallback}\``;
}

function schemaLinks(content: Content) {
  return Object.entries(content).map(([type, { schema }]) => {
    const name = (schema.$ref ?? schema.items?.$ref)?.split("/").at(-1);
    if (!name) return html`<small>${type}</small>`;
    const suffix = schema.items ? "[]" : type === "text/event-stream" ? " (stream)" : "";
    return html`
      <a href="#${name}"><code>${name}</code></a>${suffix}
    `;
  });
}

/** Opens the operation or schema that the URL's fragment links to. */
const SCRIPT = `
const open = () => { const it = document.getElementById(location.hash.slice(1)); if (it) { it.open = true; it.scrollIntoView(); } };
addEventListener("hashchange", open); open();`;

const STYLE = `
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1 small{font-weight:400;opacity:.6}h2{margin-top:2rem;text-transform:capitalize}
details{border:1px solid var(--line);border-radius:.4rem;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}summary span{opacity:.75;margin-left:.5rem}
b{display:inline-block;min-width:4.2rem;font-family:ui-monospace,monospace}
.get{color:#1a7f37}.post{color:#0969da}.put{color:#9a6700}.delete{color:#cf222e}.patch{color:#8250df}
table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0}td:first-child{width:9rem}td{border-top:1px solid var(--line);padding:.25rem .5rem;vertical-align:top;overflow-wrap:anywhere}
pre{overflow:auto;font-size:.85rem}code{font-family:ui-monospace,monospace}`;
