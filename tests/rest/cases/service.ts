import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const serviceCases: RestCase[] = [
  {
    name: "it reports that it is alive and ready, in its environment",
    async run(api) {
      for (const path of ["/healthz", "/readyz"]) {
        const { status, environment } = await api.expect(200, "GET", path);
        assert.deepEqual([status, environment], ["ok", "rest"]);
      }
    },
  },
  {
    name: "the doctor checks the database, the channels, the rules, the models and the outbox",
    async run(api) {
      const checks: { name: string; status: string }[] = await api.expect(200, "GET", "/doctor");
      for (const name of ["database", "channel ops", "alert rules", "models", "waiting deliveries"]) {
        assert.ok(checks.some((check) => check.name === name), name);
      }
      assert.equal(checks.find(({ name }) => name === "database")!.status, "ok");
    },
  },
  {
    name: "it exposes its totals to Prometheus",
    async run(api) {
      for (const path of ["/metrics", "/metrics?by=agent"]) {
        const text: string = await api.expect(200, "GET", path);
        assert.match(text, /^purser_build_info\{.*\} 1$/m);
      }
    },
  },
  {
    name: "the API documents itself, as OpenAPI and as a page",
    async run(api) {
      const document = await api.expect(200, "GET", "/openapi.json");
      assert.equal(document.openapi, "3.1.0");
      const page = await api.expect(200, "GET", "/docs");
      for (const path of Object.keys(document.paths)) assert.ok(page.includes(`<code>${path}</code>`), path);
      for (const path of ["/openapi.json", "/docs", "/docs/page.css", "/docs/page.js"]) {
        const first = await api.fetch("GET", path);
        assert.equal((await first.text()).length > 100, true, path);
        // A server in between may have compressed it, and made the ETag a weak one.
        const etag = first.headers.get("etag")!;
        const again = await api.fetch("GET", path, { headers: { "if-none-match": etag } });
        assert.deepEqual([again.status, await again.text()], [304, ""], path);
      }
      const home = await api.fetch("GET", "/");
      assert.deepEqual([home.status, home.headers.get("location")], [302, "/docs"]);
    },
  },
];
