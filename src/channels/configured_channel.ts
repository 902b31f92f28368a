import type { Clock } from "../clock.ts";
import type { ChannelConfig } from "../config.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Severity } from "../severity.ts";
import type { Channel, ChannelContext, Delivery, SendResult } from "./channel.ts";
import type { PostJson } from "./guarded_http.ts";
import type { LoadPlugin } from "./load_plugin.ts";
import type { Notification } from "./notification.ts";
import type { ResolveHost } from "./resolve_host.ts";
import { presentResult, runAttempt } from "./run_attempt.ts";
import { createScrubbedLog } from "./scrubbed_log.ts";
import type { Scrub } from "./scrub_secrets.ts";

/** A channel of the registry. It opens on first use. */
export interface ConfiguredChannel {
  readonly name: string;
  readonly kind: string;
  readonly minSeverity: Severity;
  readonly timeoutMs: number;
  /** Undefined when its plugin loads and its settings are right, else what is wrong, for people. Sends nothing. */
  check(): Promise<string | undefined>;
  /** Its settings with every secret replaced by `***`. */
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

/** A channel that is open, with what takes its secrets out of a text. */
interface OpenChannel {
  channel: Channel;
  scrub: Scrub;
}

/** Makes a channel of the config. Nothing is loaded before it is used. */
export function createConfiguredChannel(config: ChannelConfig, deps: ChannelDeps): ConfiguredChannel {
  const { name, kind, minSeverity, timeoutMs } = config;

  /** Loads the plugin and reads the settings anew: a file that was missing may be there by now. */
  async function prepare() {
    const plugin = await deps.loadPlugin(kind);
    const { readSettings } = await import("./read_settings.ts");
    return { plugin, ...await readSettings(plugin, config.settings, deps.readTextFile) };
  }

  async function open(): Promise<OpenChannel> {
    const { plugin, settings, scrub } = await prepare();
    const context: ChannelContext = {
      name,
      log: createScrubbedLog(deps.log, { channel: name, kind }, scrub),
      postJson: deps.postJson,
      resolveHost: deps.resolveHost,
      now: () => deps.clock.now(),
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
    check: () => prepare().then(() => undefined, messageOf),
    async describe() {
      const { hideSecrets } = await import("./secret_settings.ts");
      const plugin = await deps.loadPlugin(kind).catch(() => undefined);
      return hideSecrets(config.settings, plugin?.settings);
    },
    ...createSender({ name, timeoutMs, open, clock: deps.clock, log: deps.log }),
  };
}

/** What `attempt` and `close` of any channel do: open once, bound the time, let no secret out. */
export function createSender(input: {
  name: string;
  timeoutMs: number;
  open: () => Promise<OpenChannel>;
  clock: Clock;
  log: Log;
}): Pick<ConfiguredChannel, "attempt" | "close"> {
  const { name, timeoutMs, clock } = input;
  let opened: Promise<OpenChannel> | undefined;
  let isClosed = false;

  /** Opens on first use, and again after a failure to open, which may have been mended. */
  function openOnce(): Promise<OpenChannel> {
    return opened ??= input.open().catch((error) => {
      opened = undefined;
      throw new Error(`Cannot open the channel ${name}: ${messageOf(error)}`, { cause: error });
    });
  }

  return {
    async attempt(notification, delivery) {
      if (isClosed) return { ok: false, retry: true, reason: `Cannot send through ${name}: it is closed` };
      let scrub: Scrub = (text) => text;
      const result = await runAttempt({
        clock,
        timeoutMs,
        signal: delivery.signal,
        async send(signal) {
          const open = await openOnce();
          scrub = open.scrub;
          return await open.channel.send(notification, { ...delivery, signal });
        },
      });
      return presentResult(result, scrub);
    },
    async close() {
      isClosed = true;
      const open = await opened?.catch(() => undefined);
      if (open?.channel.close === undefined) return;
      const warn = (reason: string) =>
        input.log.warn(`Cannot close the channel ${name}: ${open.scrub(reason)}`, { channel: name });
      const over = new AbortController();
      const late = clock.sleep(timeoutMs, over.signal)
        .then(() => over.signal.aborted || warn(`it takes longer than ${timeoutMs / 1000} s`));
      const closed = async () => await open.channel.close!();
      await Promise.race([closed().catch((error) => warn(messageOf(error))), late]);
      over.abort();
    },
  };
}
