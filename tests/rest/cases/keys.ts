import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const keyCases: RestCase[] = [
  {
    name: "a key is created, limited to its scopes and its agent, and revoked for good",
    async run(api) {
      const mine = `${api.prefix}-mine`;
      await api.expect(201, "PUT", `/agents/${mine}`, { model: "demo:echo" });
      await api.expect(201, "PUT", `/agents/${api.prefix}-theirs`, { model: "demo:echo" });
      const made = await api.send("POST", "/keys", {
        name: api.prefix,
        scopes: ["run", "read"],
        agent_id: mine,
      });
      assert.equal(made.status, 201);
      const { key, ...rest } = made.body;
      const place = made.headers.get("location")!;
      assert.deepEqual(await api.expect(200, "GET", place), rest);
      const listed = await api.expect(200, "GET", "/keys?status=active&limit=1000");
      assert.ok(listed.some(({ key_id }: { key_id: string }) => key_id === rest.key_id));

      const headers = { authorization: `Bearer ${key}` };
      const run = await api.expect(200, "POST", `/agents/${mine}/runs`, { input: "Hi" }, headers);
      assert.equal(run.output, "You said: Hi");
      const agents = await api.expect(200, "GET", "/agents", undefined, headers);
      assert.deepEqual(agents.map(({ name }: { name: string }) => name), [mine]);
      for (const path of [`/agents/${api.prefix}-theirs`, "/keys", "/doctor"]) {
        await api.expect(403, "GET", path, undefined, headers);
      }
      await api.expect(204, "DELETE", place);
      const refused = await api.until(
        () => api.send("GET", "/agents", undefined, headers),
        ({ status }) => status !== 200,
      );
      assert.deepEqual([refused.status, refused.body.detail], [
        401,
        "Cannot use the API key: it was revoked",
      ]);
      assert.equal((await api.expect(200, "GET", place)).status, "revoked");
      await api.refused(404, "not_found", "DELETE", "/keys/key_nothing");
      await api.refused(404, "not_found", "PATCH", "/keys/key_nothing", { stop_before_credits: true });
      await api.refused(400, "invalid", "POST", "/keys", { name: "x", scopes: ["all"] });
    },
  },
  {
    name: "a key gets a new secret under its id, and its name is that of one active key",
    async run(api) {
      const body = { name: api.prefix, scopes: ["read"] };
      const { key, ...made } = await api.expect(201, "POST", "/keys", body);
      await api.refused(409, "conflict", "POST", "/keys", body);
      const path = `/keys/${made.key_id}`;
      const etag = (await api.send("GET", path)).headers.get("etag")!;
      await api.refused(400, "invalid", "PATCH", path, { stop_before_credits: true });
      const same = await api.expect(200, "PATCH", path, { stop_before_credits: false });
      assert.equal(same.stop_before_credits, false);
      const rotated = await api.send("POST", `${path}/rotate`, { grace_seconds: 0 }, { "if-match": etag });
      assert.equal(rotated.status, 200, JSON.stringify(rotated.body));
      assert.equal(rotated.headers.get("cache-control"), "no-store");
      assert.deepEqual([rotated.body.key_id, rotated.body.name], [made.key_id, api.prefix]);
      assert.notEqual(rotated.body.key, key);
      const again = await api.send("POST", `${path}/rotate`, {}, { "if-match": etag });
      assert.deepEqual([again.status, again.body.code], [412, "precondition_failed"]);
      const read = (key: string) => api.send("GET", "/agents", undefined, { authorization: `Bearer ${key}` });
      assert.equal((await read(rotated.body.key)).status, 200);
      const refused = await api.until(() => read(key), ({ status }) => status !== 200);
      assert.equal(refused.body.detail, "Cannot use the API key: it got a new secret; use that one");
      const names = await api.expect(200, "GET", `/key-names?name=${encodeURIComponent(api.prefix)}`);
      assert.deepEqual(names, [{ key_id: made.key_id, name: api.prefix, status: "active" }]);
    },
  },
  {
    name: "without a key all but the public routes are refused",
    async run(api) {
      for (const path of ["/agents", "/costs", "/metrics", "/events", "/nothing"]) {
        const response = await api.fetch("GET", path, { isAnonymous: true });
        assert.deepEqual([response.status, response.headers.get("www-authenticate")], [401, "Bearer"], path);
        await response.body?.cancel();
      }
      for (const path of ["/healthz", "/readyz", "/openapi.json", "/docs", "/schemas/snapshot/v1.json"]) {
        const response = await api.fetch("GET", path, { isAnonymous: true });
        assert.equal(response.status, 200, path);
        await response.body?.cancel();
      }
    },
  },
  {
    name: "a browser loads the dashboard, signs in with a key, and reads by its session until it signs out",
    async run(api) {
      const browser = async (
        method: string,
        path: string,
        headers: Record<string, string> = {},
        body?: unknown,
      ) => {
        const response = await api.fetch(method, path, {
          isAnonymous: true,
          isUndeclared: true,
          headers,
          body,
        });
        return { status: response.status, headers: response.headers, text: await response.text() };
      };
      const page = await browser("GET", "/ui/costs");
      assert.deepEqual([page.status, page.headers.get("cache-control")], [200, "no-cache"]);
      assert.match(page.headers.get("content-security-policy")!, /^default-src 'none'; script-src 'self'; /);
      const known = { "if-none-match": page.headers.get("etag")! };
      assert.equal((await browser("GET", "/ui/", known)).status, 304);
      for (const [, path] of page.text.matchAll(/"(\/ui\/assets\/[\w.-]+)"/g)) {
        const asset = await browser("GET", path!, { "accept-encoding": "identity" });
        assert.equal(asset.status, 200);
        assert.equal(asset.headers.get("cache-control"), "public, max-age=31536000, immutable");
      }
      assert.equal((await browser("GET", "/ui/assets/purser-0.js")).status, 404);
      const home = await browser("GET", "/", { accept: "text/html,*/*" });
      assert.deepEqual([home.status, home.headers.get("location")], [303, "/ui/"]);

      const { key } = await api.expect(201, "POST", "/keys", { name: api.prefix, scopes: ["read"] });
      const own = { "sec-fetch-site": "same-origin" };
      const signedIn = await browser("POST", "/ui/session", own, { api_key: key });
      assert.equal(signedIn.status, 200, signedIn.text);
      assert.equal(signedIn.headers.get("set-cookie"), null);
      const session = { ...own, "purser-dashboard": JSON.parse(signedIn.text).token };
      const access = await browser("GET", "/ui/session", session);
      assert.deepEqual(
        [JSON.parse(access.text).access, JSON.parse(access.text).name],
        ["signed_in", api.prefix],
      );
      assert.equal((await browser("GET", "/agents", session)).status, 200);
      assert.equal((await browser("DELETE", "/ui/session", session)).status, 204);
      await api.until(
        () => browser("GET", "/agents", session),
        ({ status }) => status === 401,
      );
      const code = await api.fetch("POST", "/ui/session/codes", {
        isAnonymous: true,
        isUndeclared: true,
        headers: { authorization: `Bearer ${key}` },
      });
      const redeemed = await browser("POST", "/ui/session", own, { code: (await code.json()).code });
      assert.equal(redeemed.status, 200, redeemed.text);
    },
  },
];
