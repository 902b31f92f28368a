import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { inDirectory } from "../harness/in_directory.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { sendTo } from "./requests.ts";

const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello" });

/** Reads what the calls were paid with, and the ids of their requests, oldest first. */
async function readPaid({ core: { store } }: TestPurser): Promise<Record<string, unknown>[]> {
  const { rows } = await store.read({
    sql: `SELECT c.request_id, u.credential, u.key_hash, u.account, u.project FROM calls c
  LEFT JOIN upstreams u ON u.upstream_id = c.upstream_id ORDER BY c.position`,
  });
  const names = ["request", "credential", "hash", "account", "project"];
  return rows.map((row) =>
    Object.fromEntries(row.flatMap((value, index) => value === null ? [] : [[names[index], value]]))
  );
}

/** The headers of an answer, and the facts that a call has of them. */
const ANSWERS: [headers: Record<string, string>, facts: Record<string, string>][] = [
  [{ "request-id": "req_1", "anthropic-organization-id": "org-1" }, { request: "req_1", account: "org-1" }],
  [{ "x-request-id": "req_2", "openai-organization": "acme", "openai-project": "proj_1" }, {
    ...{ request: "req_2", account: "acme", project: "proj_1" },
  }],
  [{ "apim-request-id": "a1b2", "x-ms-region": "East US" }, { request: "a1b2" }],
  [{ "x-amzn-requestid": "c3d4" }, { request: "c3d4" }],
  [{ "x-goog-request-id": "e5f6" }, { request: "e5f6" }],
  [{ "x-request-id": "x".repeat(201) }, {}],
  [{}, {}],
];

Deno.test("a call has the ids that the headers of its answer state", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  for (const [headers] of ANSWERS) {
    fake.enqueue({ answer, headers });
    assert.equal((await sendTo(purser, { path: "/local/v1/chat/completions", body: CHAT })).status, 200);
  }
  const paid = await readPaid(purser);
  assert.deepEqual(paid, ANSWERS.map(([, facts]) => ({ credential: "local", ...facts })));
});

Deno.test("a call is paid with the key of the config, or with that of a client which the config passes on", async () => {
  await using fake = await startFakeProvider(() => ({ answer }));
  const baseUrl = fake.baseUrls.compatible;
  const providers = {
    keyed: {
      baseUrl,
      apiKey: "key-of-the-config",
      headers: { "openai-organization": "acme", "openai-project": "proj_9" },
    },
    azure: { baseUrl, headers: { "api-key": "key-in-a-header" } },
    open: { baseUrl, passHeaders: ["api-key"] },
  };
  await using purser = await openTestPurser({ fake, config: { providers } });
  const send = (provider: string, headers = {}) =>
    sendTo(purser, { path: `/${provider}/v1/chat/completions`, body: CHAT }, { headers });
  await send("keyed");
  await send("azure");
  await send("open", { "api-key": "key-of-a-client" });
  await send("open", { "api-key": "key-of-another" });
  await send("open", { "api-key": "key-of-a-client" });
  await send("open");
  const [keyed, azure, one, other, again, none] = await readPaid(purser);
  const hash = (row: Record<string, unknown> | undefined) => {
    assert.match(String(row?.hash), /^[0-9a-f]{16}$/);
    return row!.hash;
  };
  assert.deepEqual(keyed, { credential: "keyed", hash: hash(keyed), account: "acme", project: "proj_9" });
  assert.deepEqual(azure, { credential: "azure", hash: hash(azure) });
  assert.deepEqual(one, { credential: "client", hash: hash(one) });
  assert.deepEqual([again, none], [one, { credential: "open" }]);
  assert.equal(new Set([keyed, azure, one, other].map(hash)).size, 4);
  const { body } = await purser.api("GET", "/upstreams");
  assert.deepEqual(
    body.map(({ credential, model_calls }: Record<string, unknown>) => [credential, model_calls]).sort(),
    [["azure", 1], ["client", 1], ["client", 2], ["keyed", 1], ["open", 1]],
  );
});

Deno.test("the text of a key is nowhere in the database file, even if its provider repeats it in each header", async () => {
  await inDirectory(async (directory) => {
    const key = "sk-live-0123456789abcdefghijklmnop";
    await using fake = await startFakeProvider();
    const headers = Object.fromEntries(
      ["request-id", "openai-organization", "openai-project"].map((name) => [name, `of ${key}`]),
    );
    const repeating = {
      answer: { ...answer, body: { ...answer.body as object, id: `chatcmpl-${key}` } },
      headers,
    };
    fake.enqueue(repeating, repeating);
    const path = `${directory}/ledger.db`;
    {
      await using purser = await openTestPurser({
        fake,
        config: { dbUrl: path, providers: { local: { baseUrl: fake.baseUrls.compatible, apiKey: key } } },
        sqlite: undefined,
        env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: fake.baseUrls.openai },
      });
      for (const provider of ["local", "openai"]) {
        assert.equal(
          (await sendTo(purser, { path: `/${provider}/v1/chat/completions`, body: CHAT })).status,
          200,
        );
      }
      const [paid] = await readPaid(purser);
      assert.match(String(paid!.request), /^of \[redacted/);
      await check();
    }
    await check();

    async function check() {
      for await (const { name, isFile } of Deno.readDir(directory)) {
        if (!isFile) continue;
        const text = new TextDecoder("latin1").decode(await Deno.readFile(`${directory}/${name}`));
        for (const part of [key, key.slice(0, 12), key.slice(-12)]) {
          assert.ok(!text.includes(part), `${part} in ${name}`);
        }
      }
    }
  });
});
