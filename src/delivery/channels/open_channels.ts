import type { Severity } from "../../contract/values.ts";
import type { Clock } from "../../kernel/clock.ts";
import { CHANNEL_NAME, type ChannelConfig, DEFAULT_CHANNEL_TIMEOUT_MS } from "../../config/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { readTextFile } from "../../kernel/files.ts";
import type { Channel, ChannelPlugin } from "./channel.ts";
import {
  type ChannelDeps,
  type ConfiguredChannel,
  createConfiguredChannel,
  createSender,
} from "./configured_channel.ts";
import { DeliveryError } from "./delivery_error.ts";
import type { GuardOptions } from "./http/resolve_host.ts";
import { type BuiltInChannels, createLoadPlugin } from "./load_plugin.ts";

/** A channel that is a program's own object, for those who embed Purser. */
export interface NamedChannel {
  name: string;
  /** What to call its kind; `custom` by default. */
  kind?: string;
  /** `info` by default. */
  minSeverity?: Severity;
  /** How long one attempt may take; 10,000 by default. */
  timeoutMs?: number;
  send: Channel["send"];
  close?: Channel["close"];
}

/** The channels of a process. */
export interface Channels {
  /** All of them in the order of the config, after `log` where the config doesn't name it. */
  readonly list: readonly ConfiguredChannel[];
  get(name: string): ConfiguredChannel | undefined;
  /** Closes those that were opened. */
  close(): Promise<void>;
}

/** What channels are made of. */
export interface ChannelsOptions {
  channels?: readonly (ChannelConfig | NamedChannel)[];
  /** The built-in kinds, each imported when a channel needs it. */
  plugins: BuiltInChannels;
  /** Absolute paths of modules with further kinds. */
  pluginPaths?: readonly string[];
  /** Networks (CIDR) that may be reached though they are private. */
  allowPrivateNetworks?: readonly string[];
  log: Log;
  clock: Clock;
  /** Reads the file of a secret. */
  readTextFile?: (path: string) => Promise<string>;
  /** How the names of hosts are found; the system's way by default. */
  lookup?: GuardOptions["lookup"];
  /** Loads the module of a further kind; from the disk by default. */
  loadModule?: (path: string) => Promise<ChannelPlugin>;
  /** Whether there are sockets to reach out by, which is the default, or `fetch` alone; see `createFetchPost`. */
  reachOut?: "sockets" | "fetch";
}

const LOG: ChannelConfig = {
  kind: "log",
  name: "log",
  minSeverity: "info",
  timeoutMs: DEFAULT_CHANNEL_TIMEOUT_MS,
  settings: {},
};

/**
 * Makes the channels of a process. It opens and loads nothing, so it costs nothing where nothing is sent. Throws
 * `invalid` when two channels have one name.
 */
export function createChannels(options: ChannelsOptions): Channels {
  const { channels = [], log, clock } = options;
  const reachOut = options.reachOut === "fetch" ? byFetch : bySockets;
  let wayOut: Promise<WayOut> | undefined;
  const out = () =>
    wayOut ??= reachOut({
      allowPrivateNetworks: options.allowPrivateNetworks ?? [],
      ...(options.lookup && { lookup: options.lookup }),
    });
  const deps: ChannelDeps = {
    log,
    clock,
    loadPlugin: createLoadPlugin(options.plugins, options.pluginPaths ?? [], clock, options.loadModule),
    readTextFile: options.readTextFile ?? readTextFile,
    postJson: async (request) => await (await out()).postJson(request),
    resolveHost: async (hostname, signal) => await (await out()).resolveHost(hostname, signal),
  };
  const hasLog = channels.some(({ kind }) => kind === "log");
  const byName = new Map<string, ConfiguredChannel>();
  for (const channel of hasLog ? channels : [LOG, ...channels]) {
    const { name } = channel;
    if (!CHANNEL_NAME.test(name)) {
      throw refuse(JSON.stringify(name), "a name takes letters, digits, ., _ and -, at most 64");
    }
    if (byName.has(name)) throw refuse(name, "another channel has this name");
    byName.set(
      name,
      "send" in channel ? createNamedChannel(channel, deps) : createConfiguredChannel(channel, deps),
    );
  }
  return {
    list: [...byName.values()],
    get: (name) => byName.get(name),
    async close() {
      await Promise.all([...byName.values()].map((channel) => channel.close()));
    },
  };
}

function createNamedChannel(channel: NamedChannel, { clock, log }: ChannelDeps): ConfiguredChannel {
  const { name, kind = "custom", minSeverity = "info", timeoutMs = DEFAULT_CHANNEL_TIMEOUT_MS } = channel;
  return {
    name,
    kind,
    minSeverity,
    timeoutMs,
    check: () => Promise.resolve(undefined),
    describe: () => Promise.resolve({}),
    ...createSender({
      name,
      timeoutMs,
      clock,
      log,
      open: () => Promise.resolve({ channel, scrub: (text) => text }),
    }),
  };
}

type WayOut = Pick<ChannelDeps, "postJson" | "resolveHost">;

/** The guarded client is imported, with Node's modules, when a channel first reaches out. */
async function bySockets(options: GuardOptions): Promise<WayOut> {
  const [{ createGuardedPost }, { createResolveHost }] = await Promise.all([
    import("./http/guarded_http.ts"),
    import("./http/resolve_host.ts"),
  ]);
  return { postJson: createGuardedPost(options), resolveHost: createResolveHost(options) };
}

async function byFetch(options: GuardOptions): Promise<WayOut> {
  const { createFetchPost } = await import("./http/fetch_post.ts");
  const reason = "no addresses of hosts are found where this runs";
  return {
    postJson: createFetchPost(options),
    resolveHost: () => Promise.reject(new DeliveryError(reason, { retry: true })),
  };
}

function refuse(name: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot use the channel ${name}: ${reason}`);
}
