import type { ChannelConfig, ChannelHead } from "../../config/mod.ts";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { ChannelContext } from "./channel.ts";
import { type ChannelSender, createSender, notReady, type OpenChannel } from "./channel_sender.ts";
import type { AddressGuard } from "./http/address_guard.ts";
import type { PostJson } from "./http/post_json.ts";
import type { ResolveHost } from "./http/guarded_http.ts";
import type { LoadPlugin } from "./load_plugin.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { settleWithin } from "./settle_within.ts";

/** A channel of the registry. It opens on first use. */
export interface ConfiguredChannel extends ChannelSender, Readonly<ChannelHead> {
  /**
   * Returns undefined if the plugin loads and the settings are valid, else the problem, for people. Sends nothing, and
   * takes at most `timeoutMs`, or until the signal aborts.
   */
  check(signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Returns the problem, for people, of valid settings that name an address that every attempt refuses: a private one
   * whose network is not allowed. Undefined otherwise. Resolves no name and sends nothing.
   */
  checkAddress(): Promise<string | undefined>;
  /** Returns the settings with every secret replaced by `***`. Takes at most `timeoutMs`. */
  describe(): Promise<Record<string, unknown>>;
}

/** The dependencies that the channels of one registry share. */
export interface ChannelDeps {
  log: Log;
  clock: Clock;
  secrets: Pick<Secrets, "add" | "scrub">;
  loadPlugin: LoadPlugin;
  readTextFile: (path: string) => Promise<string>;
  postJson: PostJson;
  resolveHost: ResolveHost;
  loadAddressGuard: () => Promise<AddressGuard>;
}

/** Creates a channel of the config. Its plugin is loaded on first use. */
export function createConfiguredChannel(config: ChannelConfig, deps: ChannelDeps): ConfiguredChannel {
  const { settings: _, ...head } = config;
  const { name, kind, timeoutMs } = head;
  const { clock, log } = deps;

  /** Loads the plugin and reads the settings again each time: a missing file may exist by now. */
  async function prepare() {
    const plugin = await deps.loadPlugin(kind);
    const { readSettings } = await import("./settings/channel_settings.ts");
    const { settings, secrets, scrub } = await readSettings(plugin, config.settings, deps.readTextFile);
    deps.secrets.add(secrets);
    return { plugin, settings, scrub: (text: string) => deps.secrets.scrub(scrub(text)) };
  }

  async function open(): Promise<OpenChannel> {
    const { plugin, settings, scrub } = await prepare();
    const { createScrubbedLog } = await import("./settings/scrub_secrets.ts");
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

  async function explainRefusal(): Promise<string | undefined> {
    const [{ settings, scrub }, mayReach, { findRefusedAddress }] = await Promise.all([
      prepare(),
      deps.loadAddressGuard(),
      import("./http/address_guard.ts"),
    ]);
    const refused = findRefusedAddress(settings, mayReach);
    return refused && scrub(`${refused.setting} names ${refused.address}, a private address`);
  }

  return {
    ...head,
    check: (signal) =>
      settleWithin(prepare().then(() => undefined, messageOf), {
        clock,
        timeoutMs,
        signal,
        onTimeout: () => signal?.aborted ? "it was stopped before it was ready" : notReady(timeoutMs),
      }),
    checkAddress: () =>
      settleWithin(explainRefusal().catch(() => undefined), { clock, timeoutMs, onTimeout: () => undefined }),
    async describe() {
      const { hideSecrets } = await import("./settings/channel_settings.ts");
      const loaded = deps.loadPlugin(kind).catch(() => undefined);
      const plugin = await settleWithin(loaded, { clock, timeoutMs, onTimeout: () => undefined });
      return hideSecrets(config.settings, plugin?.settings);
    },
    ...createSender({ name, timeoutMs, open, clock, log }),
  };
}
