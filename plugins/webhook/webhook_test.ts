import assert from "node:assert/strict";
import { Webhook } from "#dev/standardwebhooks.ts";
import { createChannels } from "../../src/delivery/channels/mod.ts";
import { NOTIFICATION } from "../../src/delivery/channels/testing/_notifications.ts";
import { openPlugin } from "../../src/delivery/channels/testing/_open_plugin.ts";
import { startHttpReceiver } from "../../src/delivery/channels/testing/_receiver.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";
import webhook from "./mod.ts";
import { importSecret, isSecret, sign } from "./mod.ts";

const OLD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const url = "https://hooks.example/purser";

Deno.test("sign() gives the signature of the published example", async () => {
  const signature = await sign({
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1614265330,
    body: `{"test": 2432232314}`,
    keys: [await importSecret(OLD)],
  });
  assert.equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

Deno.test("isSecret() takes whsec_ and the base64 of 24 to 64 bytes", () => {
  const secretOf = (bytes: number) => `whsec_${new Uint8Array(bytes).toBase64()}`;
  for (const bytes of [24, 32, 64]) assert.ok(isSecret(secretOf(bytes)), String(bytes));
  for (const text of [secretOf(23), secretOf(65), secretOf(32).slice(6), "whsec_", "whsec_%%%%", "secret"]) {
    assert.ok(!isSecret(text), text);
  }
});

Deno.test("webhook: the independent library verifies what a receiver gets, at the time of the attempt", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 204 }));
  const channels = createChannels({
    channels: [{
      kind: "webhook",
      name: "ops",
      minSeverity: "info",
      timeoutMs: 5_000,
      settings: { url: `http://127.0.0.1:${receiver.port}/purser`, secrets: [NEW, OLD] },
    }],
    plugins: { webhook: () => import("./mod.ts") },
    allowPrivateNetworks: ["127.0.0.0/8"],
    log: silentLog,
    clock: systemClock,
  });
  const notification = { ...NOTIFICATION, title: '€ 🔥 \u2028 "quoted" \\ </script>' };
  const signal = new AbortController().signal;
  const delivery = { signal, deliveryId: "dlv_0001", attempt: 1 };
  assert.deepEqual(await channels.get("ops")!.attempt(notification, delivery), { ok: true });
  await channels.close();

  const [{ body, headers }] = receiver.requests as [typeof receiver.requests[0]];
  for (const secret of [OLD, NEW]) {
    const verified = new Webhook(secret).verify(body, headers) as { data: { title: string } };
    assert.equal(verified.data.title, notification.title);
  }
  const stranger = `whsec_${new Uint8Array(32).toBase64()}`;
  assert.throws(() => new Webhook(stranger).verify(body, headers), /No matching signature/);
  assert.throws(
    () => new Webhook(OLD).verify(body.replace("critical", "info"), headers),
    /No matching signature/,
  );
  assert.equal(headers["webhook-id"], "dlv_0001");
});

Deno.test("webhook: what is posted, to the letter", async () => {
  const { channel, posts, delivery } = await openPlugin(webhook, {
    settings: { url, secret: OLD, headers: { authorization: "Bearer abc" } },
  });
  assert.deepEqual(await channel.send(NOTIFICATION, delivery), { ok: true });
  const [{ body, ...request }] = posts as [typeof posts[0]];
  assert.deepEqual(request, {
    url,
    signal: delivery.signal,
    headers: {
      "authorization": "Bearer abc",
      "webhook-id": "dlv_0001",
      "webhook-timestamp": "1795253400",
      "webhook-signature": request.headers!["webhook-signature"],
    },
  });
  assert.deepEqual(JSON.parse(body), {
    type: "alert.triggered",
    timestamp: "2026-11-21T09:30:00.000Z",
    data: {
      alert_id: "alert_0001",
      rule_name: "Daily limit",
      value_usd: 10.25,
      id: "alert_0001",
      title: "Daily spend of researcher reached $10.25 (threshold $10)",
      severity: "critical",
      environment: "production",
      test: false,
    },
  });
});

Deno.test("webhook: without a secret nothing is signed, and the id is there all the same", async () => {
  const { channel, posts, delivery } = await openPlugin(webhook, { settings: { url } });
  await channel.send({ ...NOTIFICATION, isTest: true }, delivery);
  assert.deepEqual(Object.keys(posts[0]!.headers!), ["webhook-id", "webhook-timestamp"]);
  assert.equal(JSON.parse(posts[0]!.body).data.test, true);
});

Deno.test("webhook: a later attempt has the same id and body, and the time of its own", async () => {
  const posted = async (now: string) => {
    const { channel, posts, delivery } = await openPlugin(webhook, { settings: { url, secret: OLD }, now });
    await channel.send(NOTIFICATION, delivery);
    return posts[0]!;
  };
  const [first, later] = [await posted("2026-11-21T09:30:00.000Z"), await posted("2026-11-21T19:30:00.999Z")];
  assert.equal(first.body, later.body);
  assert.equal(first.headers!["webhook-id"], later.headers!["webhook-id"]);
  assert.equal(later.headers!["webhook-timestamp"], "1795289400");
  assert.notEqual(first.headers!["webhook-signature"], later.headers!["webhook-signature"]);
});
