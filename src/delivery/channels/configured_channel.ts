import type { Severity } from "../../contract/values.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { ChannelConfig } from "../../config/mod.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { ChannelContext, Delivery, SendResult } from "./channel.ts";
import type { PostJson } from "./http/post_json.ts";
import type { LoadPlugin } from "./load_plugin.ts";
import type { Notification } from "./notification.ts";
import { createOpener, type OpenChannel } from "./open_once.ts";
import type { ResolveHost } from "./http/resolve_host.ts";
import { presentResult, runAttempt } from "./run_attempt.ts";
import { createScrubbedLog } from "./settings/scrubbed_log.ts";
import { settleWithin } from "./settle_within.ts";

/** A channel of the registry. It opens on first use. */
export interface ConfiguredChannel {
  readonly name: string;
  readonly kind: string;
  readonly minSeverity: Severity;
  readonly timeoutMs: number;
  /**
   * Undefined when its plugin loads and its settings are right, else what is wrong, for people. Sends nothing, and
   * takes at most `timeoutMs`, or until the signal aborts.
   */
  check(signal?: AbortSignal): Promise<string | undefined>;
  /** Its settings with every secret replaced by `***`. Takes at most `timeoutMs`. */
  describe(): Promise<Record<string, unknown>>;
  /**
   * Makes one attempt. It takes at most `timeoutMs`, or until the delivery's signal aborts, and never rejects;
   * the reason of a failure holds no secret, is one line, and has at most 300 characters.
   */
  attempt(notification: Notification, delivery: Delivery): Promise<SendResult>;
  /** Closes it where it was opened; attempts fail from then on, as ones that may be made again. */
  close(): Promise<void>;
}

/** What the channels of one registry share. */
export interface ChannelDeps {
  log: Log;
  clock: Clock;
  loadPlugin: LoadPlugin;
  readTextFile: (path: string) => Promise<string>;
  postJson: PostJson;
  resolveHost: ResolveHost;
}

/** Makes a channel of the config. Nothing is loaded before it is used. */
export function createConfiguredChannel(config: ChannelConfig, deps: ChannelDeps): ConfiguredChannel {
  const { name, kind, minSeverity, timeoutMs } = config;
  const { clock, log } = deps;

  /** Loads the plugin and reads the settings anew: a file that was missing may be there by now. */
  async function prepare() {
    const plugin = await deps.loadPlugin(kind);
    const { readSettings } = await import("./settings/read_settings.ts");
    return { plugin, ...await readSettings(plugin, config.settings, deps.readTextFile) };
  }

  async function open(): Promise<OpenChannel> {
    const { plugin, settings, scrub } = await prepare();
    const context: ChannelContext = {
      name,
      log: createScrubbedLog(log, { channel: name, kind }, scrub),
      postJson: deps.postJson,
      resolveHost: deps.resolveHost,
      now: () => clock.now(),
    };
    try {
      return { channel: await plugin.open(settings, context), scrub };
    } catch (error) {
      throw new Error(scrub(messageOf(error)), { cause: error });
    }
  }

  return {
    name,
    kind,
    minSeverity,
    timeoutMs,
    check: (signal) =>
      settleWithin(prepare().then(() => undefined, messageOf), {
        clock,
        timeoutMs,
        signal,
        late: () => signal?.aborted ? "it was stopped before it was ready" : notReady(timeoutMs),
      }),
    async describe() {
      const { hideSecrets } = await import("./settings/secret_settings.ts");
      const loaded = deps.loadPlugin(kind).catch(() => undefined);
      const plugin = await settleWithin(loaded, { clock, timeoutMs, late: () => undefined });
      return hideSecrets(config.settings, plugin?.settings);
    },
    ...createSender({ name, timeoutMs, open, clock, log }),
  };
}

const notReady = (timeoutMs: number) => `it is not ready after ${timeoutMs / 1000} s`;

/** What `attempt` and `close` of any channel do: open once, bound the time, let no secret out. */
export function createSender(input: {
  name: string;
  timeoutMs: number;
  open: () => Promise<OpenChannel>;
  clock: Clock;
  log: Log;
}): Pick<ConfiguredChannel, "attempt" | "close"> {
  const { name, timeoutMs, clock } = input;
  const opener = createOpener(input);
  let isClosed = false;
  return {
    async attempt(notification, delivery) {
      if (isClosed) return { ok: false, retry: true, reason: `Cannot send through ${name}: it is closed` };
      let open: OpenChannel | undefined;
      const result = await runAttempt({
        clock,
        timeoutMs,
        signal: delivery.signal,
        late: () =>
          open
            ? `no answer within ${timeoutMs / 1000} s`
            : `Cannot open the channel ${name}: ${notReady(timeoutMs)}`,
        async send(signal) {
          open = await opener.open(signal);
          signal.throwIfAborted(); // it opened too late: another attempt sends, or has sent
          // A copy, since the others are told of the same: what one plugin changes must not be what they send.
          return await open.channel.send(structuredClone(notification), { ...delivery, signal });
        },
      });
      return presentResult(result, open?.scrub ?? ((text) => text));
    },
    async close() {
      isClosed = true;
      await opener.close();
    },
  };
}
