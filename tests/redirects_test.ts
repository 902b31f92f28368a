import assert from "node:assert/strict";
import { connect } from "../src/client/mod.ts";
import { loadConfig } from "../src/config/mod.ts";
import { silentLog } from "../src/kernel/log.ts";
import { openCore } from "../src/service/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** No redirect is followed: it would take a key, a prompt or rows to an address that is not configured. */

const SECRET = "MARKED-key-0123456789abcdef";

/** Servers that redirect to another origin, and what arrived there. */
function startRedirect(status: number) {
  const stolen: { headers: Headers; body: string }[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const thief = Deno.serve(options, async (request) => {
    stolen.push({ headers: request.headers, body: await request.text() });
    return Response.json({});
  });
  const to = `http://127.0.0.1:${thief.addr.port}`;
  const server = Deno.serve(options, async (request) => {
    await request.body?.cancel();
    const { pathname } = new URL(request.url);
    return new Response(null, { status, headers: { location: `${to}${pathname}?token=${SECRET}` } });
  });
  return {
    from: `http://127.0.0.1:${server.addr.port}`,
    to,
    stolen,
    async [Symbol.asyncDispose]() {
      await Promise.all([server.shutdown(), thief.shutdown()]);
    },
  };
}

/** Asserts that an error names both origins and no secret, and that nothing was sent to the second one. */
function assertRefused(error: unknown, { from, to, stolen }: ReturnType<typeof startRedirect>): true {
  const { message } = error as Error;
  assert.ok(message.includes(`${from} redirects to ${to}, which is not followed`), message);
  assert.ok(!message.includes(SECRET), message);
  assert.deepEqual(stolen, []);
  return true;
}

const MODELS = [
  "openai.chat:gpt-4o-mini",
  "openai:gpt-5-mini",
  "anthropic:claude-haiku-4-5",
  "google:gemini-2.5-flash",
  "local:m",
];

for (const status of [300, 301, 302, 303, 305, 306, 307, 308, 310]) {
  Deno.test(`a provider's redirect by ${status} is refused: no key and no prompt goes along`, async () => {
    await using redirect = startRedirect(status);
    const { from } = redirect;
    await using purser = await openTestPurser({
      env: {
        ...{ OPENAI_API_KEY: SECRET, ANTHROPIC_API_KEY: SECRET, GOOGLE_GENERATIVE_AI_API_KEY: SECRET },
        ...{ OPENAI_BASE_URL: from, ANTHROPIC_BASE_URL: from, GOOGLE_GENERATIVE_AI_BASE_URL: from },
      },
      config: { providers: { local: { baseUrl: from, apiKey: SECRET } } },
    });
    for (const model of MODELS) {
      for (const onPart of [undefined, () => {}]) {
        await assert.rejects(
          purser.run({ model }, "The prompt", { onPart }),
          (error) => (error as { code?: string }).code === "provider_error" && assertRefused(error, redirect),
          model,
        );
      }
    }
  });
}

Deno.test("a redirect within one origin is refused as well, and the error names both paths without a query", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => Response.redirect(new URL(`/v2/chat?token=${SECRET}`, request.url), 308),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await using purser = await openTestPurser({
    config: { providers: { local: { baseUrl: `${origin}/v1` } } },
  });
  await assert.rejects(purser.run({ model: "local:m" }, "Hi"), {
    message:
      `Cannot get an answer from the model: ${origin}/v1/chat/completions redirects to ${origin}/v2/chat, ` +
      "which is not followed; set the base URL of local to the address that answers",
  });
});

for (const status of [300, 302, 305, 308]) {
  Deno.test(`a server's redirect by ${status} is refused: no API key and no body goes along`, async () => {
    await using redirect = startRedirect(status);
    const options = { server: redirect.from, apiKey: SECRET };
    const config = await loadConfig({ env: { PURSER_CONFIG_JSON: "{}" }, options });
    const connection = await connect({ config, env: {}, log: silentLog });
    await assert.rejects(
      connection.api.agents.$get({ query: {} }),
      (error) => assertRefused(error, redirect),
    );
    const rule = { name: "a", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" } as const;
    await assert.rejects(
      connection.api.alerts.rules.$post({ json: rule }),
      (error) => assertRefused(error, redirect),
    );
    await connection.close();
  });

  Deno.test(`a database's redirect by ${status} is refused: no token and no statement goes along`, async () => {
    await using redirect = startRedirect(status);
    const config = {
      ...{ dbUrl: redirect.from, dbToken: SECRET, durability: "full", environment: "test" } as const,
      ...{ remoteTimeoutMs: 5_000, maxBodyBytes: 1_000 },
    };
    await assert.rejects(openCore({ config }), (error) => assertRefused(error, redirect));
  });
}
