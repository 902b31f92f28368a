import assert from "node:assert/strict";
import { EVENT } from "../../harness/bodies.ts";
import type { Answer, OpenApiDocument } from "../../harness/openapi_document.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

/** The paths whose answer is an object with a list, which is its CSV. */
const LISTS_IN_OBJECTS = [
  "/sessions/{session_id}/costs",
  "/costs/caching",
  "/costs/what-if",
  "/alerts/history/{alert_id}",
  "/sessions/{session_id}/tree",
];

/** Returns the paths of all lists; each of them, and nothing else, is documented as CSV. */
async function listPaths(api: RestApi): Promise<string[]> {
  const { paths, components }: OpenApiDocument = await api.expect(200, "GET", "/openapi.json");
  const gets = Object.entries(paths).map(([path, { get }]) => {
    const { content = {} } = (get?.responses["200"] ?? {}) as Answer;
    const schema = content["application/json"]?.schema;
    const name = schema?.$ref?.split("/").at(-1);
    const { type } = (name === undefined ? schema : components.schemas[name]) ?? {};
    return {
      path,
      isList: type === "array" || LISTS_IN_OBJECTS.includes(path),
      isCsv: "text/csv" in content,
    };
  });
  const lists = gets.filter(({ isList }) => isList);
  assert.deepEqual(lists, gets.filter(({ isCsv }) => isCsv));
  return lists.map(({ path }) => path);
}

const QUERIES: Readonly<Record<string, string>> = {
  "/costs": "?group_by=model&limit=200",
  "/costs/what-if": "?model=openai:gpt-4o-mini",
  "/imports/files": "?machine=laptop&importer=claude-code",
};

/** Parses a CSV document. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let cell = "";
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    cell = quoted === undefined ? plain! : quoted.replaceAll('""', '"');
    rows.at(-1)!.push(cell);
    if (end === "\r\n") rows.push([]);
  }
  return rows.slice(0, -1);
}

export const listCases: RestCase[] = [
  {
    name: "every list is CSV for a client that accepts it: a header, a row for each entry, no formula",
    async run(api) {
      const session = `${api.prefix}:s`;
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo", system_prompt: "=1+1" });
      await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "Hi", session_id: session });
      const limit = { limit_usd: 0.000001, per: "day", agent_id: api.prefix };
      const { budget_id } = await api.expect(201, "POST", "/budgets", { ...limit, name: "=SUM(A1)" });
      await api.expect(201, "POST", `/budgets/${budget_id}/raises`, { extra_usd: 1e-9, reason: "@now" });
      await api.expect(201, "POST", "/alerts/rules", {
        name: "+call",
        threshold_type: "per_day_usd",
        threshold_usd: 1e-9,
        severity: "info",
        agent_id: api.prefix,
      });
      await api.expect(201, "POST", "/costs/events", [{
        ...EVENT,
        call_id: `${api.prefix}:1`,
        agent_id: api.prefix,
        provider: "-p",
        model: "@m",
        at: new Date().toISOString(),
        cost_usd: 1e-9,
      }]);
      assert.equal((await api.send("POST", `/agents/${api.prefix}/runs`, { input: "No" })).status, 402);
      // An edge has no sources of bills, so that there is nothing to compare: the case of reconciliations reads their list.
      const paths = (await listPaths(api)).filter((path) => !path.includes("{reconciliation_id}"));
      assert.ok(paths.length >= 22, String(paths));
      const alerts = await api.expect(200, "GET", "/alerts/history");
      const { alert_id } = alerts.find(({ agent_id }: { agent_id: string }) => agent_id === api.prefix);
      const ids = { agent_id: api.prefix, session_id: session, budget_id, alert_id };
      let formulas = 0;
      for (const template of paths) {
        const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name as "agent_id"]));
        const group = QUERIES[template] ?? "";
        const answer = await api.fetch("GET", path + group, { headers: { accept: "text/csv" } });
        assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8", path);
        const [header, ...rows] = parseCsv(await answer.text());
        const body = await api.expect(200, "GET", path + group);
        const json = Array.isArray(body) ? body : body.calls ?? body.rows ?? body.deliveries ?? body.agents;
        assert.equal(new Set(header).size, header!.length, path);
        for (const row of rows) assert.equal(row.length, header!.length, path);
        // Other cases may add entries meanwhile, and the lists are of the newest.
        assert.equal(rows.length > 0, json.length > 0, path);
        for (const [index, name] of header!.entries()) {
          const cells = rows.map((row) => row[index]!);
          formulas += cells.filter((cell) => cell.startsWith("'")).length;
          for (const cell of cells) {
            assert.ok(
              !/^[=+\-@\t\r]/.test(cell) || /^[+-]?\d+(\.\d+)?$/.test(cell),
              `${path} ${name}: ${cell}`,
            );
            if (name.endsWith("_usd") && cell !== "") {
              assert.match(cell, /^-?\d+(\.\d{1,9})?$/, `${path} ${name}`);
            }
          }
        }
        if (rows.length === 0 || template === "/costs") continue;
        const first = Object.fromEntries(header!.map((name, index) => [name, rows[0]![index]]));
        for (const [name, value] of Object.entries(json[0])) {
          if (typeof value === "string" && !/^[=+\-@\t\r]/.test(value) && rows.length === json.length) {
            assert.equal(first[name], value, `${path} ${name}`);
          }
        }
      }
      assert.ok(formulas >= 5, `${formulas} formulas`);
    },
  },
];
