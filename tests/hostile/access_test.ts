import assert from "node:assert/strict";
import { SCOPES } from "../../src/contract/values.ts";
import { readSse } from "../harness/sse_reader.ts";
import { AGENTS, markOf } from "./populate.ts";
import { exampleOf, type HostileService, openHostileService, type Operation } from "./service.ts";
import { isInTurn } from "../harness/thorough.ts";

/** Every route with every kind of key; what is expected follows from the permission that the route declares. */

Deno.test("a route answers a key by the scopes that it declares, and no other request, HEAD like GET", async (t) => {
  await using service = await openHostileService();
  const { clock } = service.purser;
  const inAMinute = new Date(clock.now() + 60_000).toISOString();
  const revoked = await service.makeKey(["admin"]);
  const expired = await service.makeKey(["admin"], { expires_at: inAMinute });
  const { body: keys } = await service.purser.api("GET", "/keys?limit=1000");
  const revokedId = keys.find(({ key_id }: { key_id: string }) => revoked.includes(key_id.slice(4))).key_id;
  await service.purser.api("DELETE", `/keys/${revokedId}`);
  clock.advance(60_000);
  const last = service.adminKey.at(-1) === "0" ? "1" : "0";
  const invalid: Record<string, string> = {
    none: "",
    revoked,
    expired,
    mistyped: service.adminKey.slice(0, -1) + last,
    "cut off": service.adminKey.slice(0, -8),
    foreign: "sk-ant-api03-not-one-of-ours",
    "two keys": `${service.adminKey} ${service.adminKey}`,
  };
  const valid: Record<string, string> = {};
  for (const scope of SCOPES) valid[scope] = await service.makeKey([scope]);
  for (const [turn, operation] of service.operations.entries()) {
    const { route, method, permission: { scopes } } = operation;
    await t.step(`${route} needs ${scopes === "open" ? "no key" : scopes.join(" or ")}`, async () => {
      // Of ids that don't exist, so that nothing is done where it is allowed.
      const target = operation.template.replaceAll(/\{\w+\}/g, "nothing");
      const body = /^(POST|PUT|PATCH)$/.test(method) ? "0" : undefined;
      let sent = 0;
      const statusesOf = async (key: string) => {
        const { status } = await service.send({ method, target, key, body });
        if (method === "GET" && isInTurn(turn + sent++, 5)) {
          assert.equal((await service.send({ method: "HEAD", target, key })).status, status, "HEAD");
        }
        return status;
      };
      for (const [place, [name, key]] of Object.entries(invalid).entries()) {
        if (name !== "none" && !isInTurn(turn + place, 3)) continue;
        assert.equal(await statusesOf(key) === 401, scopes !== "open", name);
      }
      for (const [scope, key] of Object.entries(valid)) {
        const status = await statusesOf(key);
        const isAllowed = scopes === "open" || scope === "admin" || scopes.some((needed) => needed === scope);
        assert.ok(status !== 401 && (status !== 403) === isAllowed, `${scope}: ${status}`);
      }
      const lacking = SCOPES.filter((scope) =>
        scope !== "admin" && scopes !== "open" && !scopes.includes(scope)
      );
      if (lacking.length === 0) return;
      const { text } = await service.send({ method, target, key: valid[lacking[0]!] });
      const { detail, details } = JSON.parse(text);
      const needed = (scopes as string[]).join(" or ");
      assert.equal(detail, `Cannot ${route}: this API key lacks the scope ${needed}; use one that has it`);
      assert.deepEqual(details, { scopes });
    });
  }
  service.checkLog();
});

Deno.test("a refused key stops a request that would succeed, and changes nothing", async () => {
  await using service = await openHostileService();
  const readKey = await service.makeKey(["read"]);
  for (const operation of service.operations) {
    const { route, method, permission: { scopes } } = operation;
    if (method === "GET") continue;
    const request = { method, target: service.pathOf(operation), body: exampleOf(operation) };
    assert.notEqual(scopes, "open", route);
    assert.equal((await service.send({ ...request, key: "" })).status, 401, route);
    assert.equal((await service.send({ ...request, key: readKey })).status, 403, route);
  }
  // The same requests by the admin's key are accepted: they were refused for their key alone.
  const accepted: string[] = [];
  const isLast = ({ method }: Operation) => method === "DELETE";
  const operations = service.operations.filter(({ method }) => method !== "GET");
  for (const operation of [...operations.filter((one) => !isLast(one)), ...operations.filter(isLast)]) {
    const target = service.pathOf(operation);
    const { status } = await service.send({ method: operation.method, target, body: exampleOf(operation) });
    if (status < 300) accepted.push(operation.route);
    else assert.equal(status, 409, operation.route);
  }
  assert.ok(accepted.length >= operations.length - 4, `${accepted}`);
  service.checkLog();
});

/** The query of all charges of the month of the calls: it has no default. */
const CHARGES = "?from=2026-11-01&to=2026-12-01&per_call=true";

/** The requests of a GET route that could disclose another agent's data: by its ids, by filters, and by lists. */
function targetsOf(service: HostileService, operation: Operation): string[] {
  const filters = (operation.declared.parameters ?? []).filter((parameter) => parameter.in === "query");
  const paths = new Set(AGENTS.map((agent) => service.pathOf(operation, agent)));
  if (operation.template.includes("{session_id}")) {
    for (const prefix of ["loose", "copy"]) {
      for (const agent of AGENTS) {
        paths.add(operation.template.replace("{session_id}", `${prefix}_${agent}`));
      }
    }
  }
  return [...paths].flatMap((path) => [
    path,
    ...filters.flatMap(({ name, schema }) => {
      const values = {
        agent_id: ["bravo", "BRAVO", "alpha,bravo", "", "*", "%"],
        model: ["demo:echo", markOf("bravo"), "loop"],
        after: ["0"],
        limit: ["1", "500"],
        cursor: service.ids.bravo ? ["WyJicmF2byJd", "WzE3OTM1MzQ0MDAwMDAsImJyYXZvIl0", "WzAsIiJd"] : [],
      }[name] ?? (schema.enum as string[] | undefined) ?? ["2026-11-01"];
      return values.map((value) => `${path}?${name}=${encodeURIComponent(value)}`);
    }),
    ...(operation.template === "/exports/focus" ? [path + CHARGES] : []),
    ...(filters.some(({ name }) => name === "agent_id") ? [`${path}?agent_id=alpha&agent_id=bravo`] : []),
  ]);
}

Deno.test("a key of one agent sees no byte of another agent's data, on any route, by any id or filter", async () => {
  await using service = await openHostileService();
  const key = await service.makeKey(["read", "run"], { agent_id: "alpha" });
  let own = 0;
  let shown = 0;
  for (const operation of service.operations.filter(({ method }) => method === "GET")) {
    const { route, permission: { scopes, agentCheck } } = operation;
    for (const target of targetsOf(service, operation)) {
      const isForAll = scopes !== "open" && agentCheck === undefined;
      const { status, text, headers } = await service.send({ method: "GET", target, key });
      if (isForAll) assert.equal(status, 403, `${route} is about all agents: ${target}`);
      // A refusal repeats what was requested, and nothing else.
      const sent = new URL(target, "http://x");
      const requested = [sent.pathname, ...sent.pathname.split("/"), ...sent.searchParams.values()];
      let rest = text + [...headers].join("\n");
      if (status >= 400) {
        for (const part of requested.filter((part) => part.length > 3)) rest = rest.replaceAll(part, "");
      }
      assert.doesNotMatch(rest, /bravo/i, `${target}: ${text.slice(0, 2_000)}`);
      if (rest.includes(markOf("alpha"))) own++;
      if (status === 200 && scopes !== "open") shown++;
    }
  }
  // Of its own agent it sees everything; with an admin's key the same requests show the other agent's data.
  assert.ok(own >= 20 && shown >= 60, `${own} of ${shown}`);
  for (const operation of service.operations.filter(({ method }) => method === "GET")) {
    if (operation.permission.agentCheck === undefined || operation.route === "GET /events") continue;
    if (operation.route === "GET /sessions/{session_id}/events/imported") continue;
    if (operation.route === "GET /imports/files") continue; // of the key itself
    if ([...SUMS, SUMMARY, "/me"].includes(operation.template)) continue;
    const queries: Record<string, string> = {
      "GET /costs/what-if": "?model=demo:echo&group_by=agent",
      "GET /budgets/check": "?agent_id=bravo",
      "GET /live": "?once=true",
      "GET /exports/focus": CHARGES,
    };
    const query = queries[operation.route] ?? "";
    const { text } = await service.send({
      method: "GET",
      target: service.pathOf(operation, "bravo") + query,
    });
    assert.match(text, /bravo/, operation.route);
  }
  for (const path of SUMS) {
    const costOf = async (target: string, key?: string) => {
      const { text } = await service.send({ method: "GET", target, ...(key !== undefined && { key }) });
      return JSON.parse(text).cost_usd as number;
    };
    const ofAlpha = await costOf(path, key);
    assert.equal(ofAlpha, await costOf(`${path}?agent_id=alpha`));
    assert.ok(ofAlpha > 0 && ofAlpha < await costOf(path), path);
    if (path !== "/costs/total") continue;
    const summary = async (key?: string) =>
      JSON.parse(
        (await service.send({ method: "GET", target: SUMMARY, ...(key !== undefined && { key }) })).text,
      );
    const day = `?from=${(await summary()).today.from}`;
    assert.equal((await summary(key)).today.cost_usd, await costOf(path + day, key));
    assert.equal((await summary()).today.cost_usd, await costOf(path + day));
  }
  service.checkLog();
});

/** The sums, which name no agent. */
const SUMS = ["/costs/total", "/costs/forecast"];
const SUMMARY = "/costs/summary";

Deno.test("the stream of events has no byte of another agent's data, from its beginning", async () => {
  await using service = await openHostileService();
  const { makeKey, purser } = service;
  const key = await makeKey(["read"], { agent_id: "alpha" });
  const { withAccessCheck } = await import("../../src/http/server/mod.ts");
  const request = new Request("http://purser.example/events?after=0", {
    headers: { authorization: `Bearer ${key}` },
  });
  const stream = readSse(await withAccessCheck(purser.core, purser.app)(request, "192.0.2.1"));
  await purser.api("POST", "/agents/bravo/runs", { input: "2 times" });
  await purser.api("POST", "/agents/alpha/runs", { input: "the last 1 times" });
  const seen: string[] = [];
  while (seen.filter((text) => text.includes("run.ended") || text.includes("run.completed")).length < 2) {
    const frame = await stream.next();
    assert.ok(frame, `the stream ended after ${seen.length} events`);
    seen.push(JSON.stringify(frame));
  }
  await stream.leave();
  assert.ok(seen.length > 30, `${seen.length}`);
  assert.ok(seen.some((text) => text.includes(markOf("alpha"))));
  for (const text of seen) assert.doesNotMatch(text, /bravo/);
});

Deno.test("a key of one agent changes nothing of another agent's, on any route", async () => {
  await using service = await openHostileService();
  const key = await service.makeKey(["read", "run"], { agent_id: "alpha" });
  let refused = 0;
  for (const operation of service.operations.filter(({ method }) => method !== "GET")) {
    if (operation.route === "PUT /imports/files") continue; // of the key itself
    const target = service.pathOf(operation, "bravo");
    // A refusal after which the database is another fails in `send`.
    const send = (body?: string) => service.send({ method: operation.method, target, body, key });
    const { status } = await send(exampleOf(operation, "bravo"));
    assert.ok(status === 403 || status === 404, `${operation.route}: ${status}`);
    refused++;
    for (const body of [undefined, "{}", "[]", "0"]) {
      const { status } = await send(body);
      // An empty report is a report, of nothing.
      const isEmpty = body === "[]" && status === 201;
      assert.ok(isEmpty || [400, 403, 404].includes(status), `${operation.route} ${body}: ${status}`);
    }
  }
  assert.ok(refused > 15, `${refused}`);
  for (const operation of service.operations) {
    const { agentCheck, scopes } = operation.permission;
    if (agentCheck !== undefined || scopes === "open") continue;
    const { status } = await service.send({
      method: operation.method,
      target: service.pathOf(operation),
      key,
    });
    assert.equal(status, 403, `${operation.route} is about all agents`);
  }
  service.checkLog();
});
