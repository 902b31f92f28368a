import assert from "node:assert/strict";
import { SNAPSHOT_SCHEMA_PATH } from "../src/contract/snapshot/json_schema.ts";
import { operationsOf, readDocument } from "./harness/openapi_document.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The page of the API's docs, which is made of the OpenAPI document. */

Deno.test("the docs page has every operation by its name, its headers and its body's schema", async () => {
  await using purser = await openTestPurser();
  const document = await readDocument(purser);
  const { body: page } = await purser.api("GET", "/docs");
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  for (const { operationId } of operationsOf(document)) assert.ok(ids.has(operationId), operationId);
  for (const path of Object.keys(document.paths)) assert.ok(page.includes(`<code>${path}</code>`), path);
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(links.filter((id) => !ids.has(id)), [], "no link is broken");
  for (
    const text of ["Purser-Message-Count", "If-None-Match", "NotFoundProblem", "&quot;per_day_usd&quot;"]
  ) {
    assert.ok(page.includes(text), text);
  }
  assert.doesNotMatch(page, /undefined|\[object|https?:\/\/(?!opensource)/);
});

Deno.test("the docs page has nothing inline and asks no other origin, as its policy demands", async () => {
  await using purser = await openTestPurser();
  const page: string = (await purser.api("GET", "/docs")).body;
  const sources = [...page.matchAll(/<(?:script|link|img|iframe|form|base)\b[^>]*>/g)].map(([tag]) => tag);
  assert.deepEqual(sources, [
    '<link rel="stylesheet" href="/docs/page.css">',
    '<script src="/docs/page.js" defer>',
  ]);
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|javascript:/i);
  for (const path of ["/docs", "/docs/page.css", "/docs/page.js"]) {
    const { headers, body } = await purser.api("GET", path);
    const policy = headers.get("content-security-policy")!.split("; ");
    for (
      const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
    ) assert.ok(policy.includes(part), `${path} ${part}`);
    assert.doesNotMatch(headers.get("content-security-policy")!, /unsafe|https?:|\*/);
    assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
    if (path.endsWith(".js")) {
      assert.doesNotMatch(body, /innerHTML|document\.write|eval|Function\(|insertAdjacent/);
    }
  }
});

Deno.test("public documents are revalidated by their ETag", async () => {
  await using purser = await openTestPurser();
  for (const path of ["/openapi.json", "/docs", "/docs/page.css", "/docs/page.js", SNAPSHOT_SCHEMA_PATH]) {
    const { headers } = await purser.api("GET", path);
    const etag = headers.get("etag")!;
    assert.match(etag, /^"[0-9a-f]{32}"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await purser.fetch("GET", path, { headers: { "if-none-match": tag } });
      assert.deepEqual([again.status, again.headers.get("etag"), await again.text()], [304, etag, ""], path);
    }
    const changed = await purser.fetch("GET", path, { headers: { "if-none-match": '"other"' } });
    assert.equal(changed.status, 200);
    await changed.body?.cancel();
  }
});
