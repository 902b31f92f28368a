import { join } from "node:path";
import { startFakeServer } from "../../plugins/smtp/_fake_server.ts";
import { LOCAL_PRICE } from "../fixtures/providers/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { fakeEnvironment } from "../harness/test_purser.ts";
import { startWebhookReceiver } from "../harness/webhook_receiver.ts";
import type { RestSurroundings } from "./rest_case.ts";

/** The secret that webhooks are signed with. */
export const HOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** The surroundings of a server: a model API, a receiver of webhooks and a mail server, all on loopback. */
export interface Surroundings extends RestSurroundings, AsyncDisposable {
  /** The server's environment without its database; `tools` if it can load tools from disk. */
  environment(options: { tools: boolean }): Record<string, string>;
}

const EXAMPLES = new URL("../../examples", import.meta.url).pathname;

export async function startSurroundings(): Promise<Surroundings> {
  const directory = await Deno.makeTempDir({ prefix: "purser-rest-" });
  const fake = await startFakeProvider((request) => answerTo(request, { text: "An answer" }));
  const hooks = startWebhookReceiver();
  const mail = await startFakeServer();
  const hookFile = join(directory, "address");
  await Deno.writeTextFile(hookFile, hooks.url);
  return {
    fake,
    hooks,
    mail,
    environment: ({ tools }) => ({
      ...fakeEnvironment(fake),
      PURSER_ENVIRONMENT: "rest",
      HOOK_URL: hooks.url,
      PURSER_CONFIG_JSON: JSON.stringify({
        log_level: "warn",
        max_body_bytes: 256 * 1024,
        providers: { local: { base_url: fake.baseUrls.compatible } },
        prices: [LOCAL_PRICE],
        allow_private_networks: ["127.0.0.0/8"],
        anomalies: { notify_from: "warning" },
        plugins: [join(EXAMPLES, "pushover_channel.ts")],
        ...(tools && { tools: [join(EXAMPLES, "tools.ts")] }),
        // Channels that can't deliver on every target get only tests.
        channels: [
          { kind: "webhook", name: "ops", url: "${HOOK_URL}", secret: HOOK_SECRET },
          { kind: "webhook", name: "private", url: "http://10.1.2.3/hook", min_severity: "critical" },
          { kind: "webhook", name: "filed", url: { file: hookFile }, min_severity: "critical" },
          {
            kind: "smtp",
            name: "mail",
            host: "127.0.0.1",
            port: mail.port,
            tls: "none",
            from_addr: "purser@example.com",
            to_addrs: ["ops@example.com"],
            min_severity: "critical",
          },
          {
            kind: "pushover",
            name: "phone",
            server: new URL(hooks.url).origin,
            user: "the-user-of-pushover",
            min_severity: "critical",
          },
        ],
      }),
    }),
    async [Symbol.asyncDispose]() {
      await fake.close();
      await hooks[Symbol.asyncDispose]();
      await mail[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
