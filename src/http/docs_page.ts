import { html, raw } from "hono/html";

interface ParameterSchema {
  type?: string;
  enum?: string[];
  default?: unknown;
}

interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema?: ParameterSchema;
  }[];
  requestBody?: { content?: Record<string, { schema?: unknown }> };
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: unknown }> }>;
}

/** The OpenAPI document as one page that needs nothing from anywhere else. */
export function docsPage(
  document: {
    info: { title: string; version: string; description?: string };
    paths?: object;
    components?: { schemas?: object };
  },
) {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
      path,
      method,
      operation,
    }))
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? "other");
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${document.info.title} API</title>
        <style>${raw(STYLE)}</style>
      </head>
      <body>
    <header><h1>${document.info.title} <small>${document.info.version}</small></h1>
    <p>${document.info.description ?? ""}</p><p><a href="/openapi.json">openapi.json</a></p></header>
    ${[...byTag].map(([tag, group]) => html`<section><h2>${tag}</h2>${group.map(operationPart)}</section>`)}
    <section><h2>Schemas</h2>${Object.entries(document.components?.schemas ?? {}).map(([name, schema]) =>
      html`
        <details id="${name}">
          <summary><code>${name}</code></summary>
          <pre>${JSON.stringify(schema, null, 2)}</pre>
        </details>
      `
    )}</section><script>${raw(SCRIPT)}</script></body>
    </html>
  `;
}

function operationPart({ path, method, operation }: { path: string; method: string; operation: Operation }) {
  return html`<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code>
<span>${operation.summary ?? ""}</span></summary>
${operation.description ? html`<p>${withCode(operation.description)}</p>` : ""}
${
    operation.parameters?.length
      ? html`<table>${
        operation.parameters.map((p) =>
          html`
            <tr>
              <td><code>${p.name}</code></td>
              <td>${p.in}${p.required ? ", required" : ""}</td>
              <td>${withCode([typeOf(p.schema), p.description].filter(Boolean).join(" · "))}</td>
            </tr>
          `
        )
      }</table>`
      : ""
  }
${operation.requestBody ? html`<p>Body: ${schemaLink(operation.requestBody.content)}</p>` : ""}
<table>${
    Object.entries(operation.responses ?? {}).map(([status, response]) =>
      html`
        <tr>
          <td><code>${status}</code></td>
          <td>${withCode(response.description ?? "")}</td>
          <td>${schemaLink(response.content)}</td>
        </tr>
      `
    )
  }</table></details>`;
}

/** Text whose `code` stands between backticks. */
function withCode(text: string) {
  return text.split("`").map((part, index) => index % 2 === 1 ? html`<code>${part}</code>` : part);
}

function typeOf({ type, enum: values, default: fallback }: ParameterSchema = {}): string {
  const kind = values ? values.map((value) => `\`${value}\``).join(", ") : type ?? "";
  return fallback === undefined ? kind : `${kind}, default \`${fallback}\``;
}

function schemaLink(content: Record<string, { schema?: unknown }> | undefined) {
  const first = Object.values(content ?? {})[0]?.schema as
    | { $ref?: string; items?: { $ref?: string } }
    | undefined;
  const name = (first?.$ref ?? first?.items?.$ref)?.split("/").at(-1);
  if (!name) return "";
  return html`<a href="#${name}"><code>${name}${first?.items ? "[]" : ""}</code></a>`;
}

/** A link to a schema opens it. */
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
table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0}td:first-child{width:9rem}td{border-top:1px solid var(--line);padding:.25rem .5rem;vertical-align:top}
pre{overflow:auto;font-size:.85rem}code{font-family:ui-monospace,monospace}`;
