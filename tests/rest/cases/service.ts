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
  {
    name: "limits are changed to the definitions of a file once, and the audit log has the file's label",
    async run(api) {
      const file = {
        label: api.prefix,
        budgets: [{ name: `Of ${api.prefix}`, limit_usd: 200, per: "month" }],
      };
      const changed = async (more: object = {}) => {
        const { changes, unchanged } = await api.expect(200, "POST", "/apply", { ...file, ...more });
        return [changes.map(({ action, name }: Record<string, string>) => [action, name]), unchanged];
      };
      const made = [[["created", `Of ${api.prefix}`]], 0];
      assert.deepEqual(await changed({ dry_run: true }), made);
      assert.deepEqual(await changed(), made);
      assert.deepEqual(await changed(), [[], 1]);
      const entries: Record<string, string>[] = await api.expect(200, "GET", "/audit?limit=1000");
      assert.deepEqual(entries.filter(({ label }) => label === api.prefix).map(({ kind }) => kind), [
        "budget",
      ]);
    },
  },
  {
    name: "the holder of a key sees its spending, and the budgets that its calls meet",
    async run(api) {
      const view = await api.expect(200, "GET", "/me");
      assert.equal(typeof view.key.key_id, "string");
      assert.deepEqual(Object.keys(view).sort(), [
        ...["budgets", "key", "month", "refusals", "sessions", "time_zone", "today"],
      ]);
    },
  },
];
