import assert from "node:assert/strict";
import type { RestApi, RestCase } from "../rest_case.ts";
import { HOOK_SECRET } from "../surroundings.ts";

interface Channel {
  name: string;
  kind: string;
  status: string;
  problem: string | null;
}

async function channelOf(api: RestApi, wanted: string): Promise<Channel> {
  const channels: Channel[] = await api.expect(200, "GET", "/channels");
  return channels.find(({ name }) => name === wanted)!;
}

/** Checks that a channel can't send here, and that every endpoint reports it. */
async function cannotSend(api: RestApi, name: string, why: RegExp): Promise<void> {
  const { status, problem } = await channelOf(api, name);
  assert.equal(status, "invalid");
  assert.match(problem!, why);
  const tested = await api.expect(502, "POST", `/channels/${name}/test`);
  assert.match(tested.error, why);
  const checks: { name: string; status: string; detail: string }[] = await api.expect(200, "GET", "/doctor");
  const check = checks.find((each) => each.name === `channel ${name}`)!;
  assert.equal(check.status, "failed");
  assert.match(check.detail, why);
}

export const channelCases: RestCase[] = [
  {
    name: "channels are listed in the order of the config, without secrets",
    async run(api) {
      const channels: Channel[] = await api.expect(200, "GET", "/channels");
      assert.deepEqual(channels.map(({ name, kind }) => `${name} ${kind}`), [
        "log log",
        "ops webhook",
        "private webhook",
        "filed webhook",
        "mail smtp",
        "phone pushover",
      ]);
      assert.equal((await channelOf(api, "ops")).status, "ok");
      const text = JSON.stringify(channels);
      for (const secret of [HOOK_SECRET, "/hook", "the-user-of-pushover"]) assert.ok(!text.includes(secret));
    },
  },
  {
    name: "a channel is tested with one notification",
    async run(api) {
      const count = api.hooks.received.length;
      const tested = await api.expect(200, "POST", "/channels/ops/test");
      assert.deepEqual([tested.channel, tested.status, tested.error], ["ops", "delivered", null]);
      assert.equal(api.hooks.received.length, count + 1);
      const { type, data } = JSON.parse(api.hooks.received.at(-1)!.body);
      assert.deepEqual([type, data.test, data.environment], ["channel.test", true, "rest"]);
      assert.equal((await api.expect(200, "POST", "/channels/log/test")).status, "delivered");
      await api.refused(404, "not_found", "POST", "/channels/unknown/test");
    },
  },
  {
    name: "a redirect is not followed",
    async run(api) {
      const count = api.hooks.received.length;
      api.hooks.answer = () => 307;
      try {
        const tested = await api.expect(502, "POST", "/channels/ops/test");
        assert.match(tested.error, /HTTP 307: a redirect, which is not followed/);
        assert.equal(api.hooks.received.length, count + 1);
      } finally {
        api.hooks.answer = () => 204;
      }
    },
  },
  {
    name: "a private address that is not allowed is not reached",
    async run(api) {
      const tested = await api.expect(502, "POST", "/channels/private/test");
      assert.match(tested.error, /10\.1\.2\.3 is a private address/);
    },
  },
  {
    name: "mail is sent",
    needs: "mail",
    async run(api) {
      const count = api.mail.mails.length;
      assert.equal((await api.expect(200, "POST", "/channels/mail/test")).status, "delivered");
      assert.equal(api.mail.mails.length, count + 1);
    },
  },
  {
    name: "a digest is read, and sent through a channel",
    async run(api) {
      const { title, period } = await api.expect(200, "GET", "/digest?period=weekly");
      assert.deepEqual([period, /^Spending from /.test(title)], ["weekly", true]);
      await api.expect(200, "POST", "/channels/ops/digest");
      assert.match(api.hooks.received.at(-1)!.body, /^\{"type":"spending.digest"/);
      await api.refused(400, "invalid", "GET", "/digest?period=hourly");
      await api.refused(404, "not_found", "POST", "/channels/nope/digest");
    },
  },
  {
    name: "a mail channel reports that it can't send",
    without: "mail",
    run: (api) => cannotSend(api, "mail", /Cannot send mail at the edge/),
  },
  {
    name: "a channel of a plugin from disk sends",
    needs: "plugins",
    async run(api) {
      await api.expect(200, "POST", "/channels/phone/test");
      assert.match(api.hooks.received.at(-1)!.body, /the-user-of-pushover/);
    },
  },
  {
    name: "a channel of a plugin from disk reports that it can't send",
    without: "plugins",
    run: (api) => cannotSend(api, "phone", /Cannot load a plugin from disk at the edge/),
  },
  {
    name: "a channel whose address is in a file sends",
    needs: "secret_files",
    async run(api) {
      assert.equal((await api.expect(200, "POST", "/channels/filed/test")).status, "delivered");
    },
  },
  {
    name: "a channel whose address is in a file reports that it can't send",
    without: "secret_files",
    run: (api) => cannotSend(api, "filed", /Cannot read a secret from a file at the edge/),
  },
];
