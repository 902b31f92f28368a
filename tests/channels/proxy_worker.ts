/**
 * Sends through channels in a process whose environment names a proxy, part of which is read at start-up. Its
 * argument is JSON: the ports of receivers; it prints the results.
 */
import { NOTIFICATION } from "../../src/delivery/channels/testing/_notifications.ts";
import { createGuardedPost } from "../../src/delivery/channels/http/guarded_http.ts";
import { builtInChannels } from "../../plugins/mod.ts";
import { createChannels } from "../../src/delivery/channels/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";

const { http, https, smtp, ca }: { http: number; https: number; smtp: number; ca: string } = JSON.parse(
  Deno.args[0]!,
);
const lookup = () => Promise.resolve(["127.0.0.1"]);
const allowPrivateNetworks = ["127.0.0.0/8"];
const signal = AbortSignal.timeout(60_000);

const post = createGuardedPost({ lookup, allowPrivateNetworks, ca });
const statusOf = (url: string) =>
  post({ url, body: "{}", signal }).then(({ status }) => status, (error) => String(error));

const settings = {
  host: "mail.test",
  port: smtp,
  tls: "none",
  from_addr: "purser@example.com",
  to_addrs: "ops@example.com",
};
const { get } = createChannels({
  channels: [{ kind: "smtp", name: "mail", minSeverity: "info", timeoutMs: 20_000, settings }],
  plugins: builtInChannels,
  allowPrivateNetworks,
  lookup,
  log: silentLog,
  clock: systemClock,
});
console.log(JSON.stringify({
  http: await statusOf(`http://hooks.test:${http}/secret-path`),
  https: await statusOf(`https://hooks.test:${https}/secret-path`),
  smtp: await get("mail")!.attempt(NOTIFICATION, { signal, deliveryId: "dlv_1", attempt: 1 }),
}));
