import type { Clock } from "../../kernel/clock.ts";
import { type ChannelConfig, type ChannelHead, listChannels } from "../../config/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { readTextFile } from "../../kernel/files/read_text_file.ts";
import { createSecrets, type Secrets } from "../../redaction/values/mod.ts";
import type { Channel, ChannelPlugin } from "./channel.ts";
import { DeliveryError } from "./notification.ts";
import { createSender } from "./channel_sender.ts";
import { type ChannelDeps, type ConfiguredChannel, createConfiguredChannel } from "./configured_channel.ts";
import type { GuardOptions } from "./http/guarded_http.ts";
import { type BuiltInChannels, createLoadPlugin } from "./load_plugin.ts";

/** A channel that is an object of the embedding program. */
export interface NamedChannel extends Partial<Omit<ChannelHead, "name">> {
  /** Its name in the history, unique among the channels. */
  name: string;
  /** Makes one attempt at a delivery. */
  send: Channel["send"];
  /** Called once when Purser closes. */
  close?: Channel["close"];
}

/** The channels of a process. */
export interface Channels {
  /** All channels in the order of the config; `log` comes first if the config doesn't name it. */
  readonly list: readonly ConfiguredChannel[];
  get(name: string): ConfiguredChannel | undefined;
  /** Closes the open ones. */
  close(): Promise<void>;
}

/** Options of `createChannels`. */
export interface ChannelsOptions {
  channels?: readonly (ChannelConfig | NamedChannel)[];
  /** The built-in kinds, each imported on first use. */
  plugins: BuiltInChannels;
  /** Absolute paths of modules with further kinds. */
  pluginPaths?: readonly string[];
  /** Networks (CIDR) that may be reached though they are private. */
  allowPrivateNetworks?: readonly string[];
  log: Log;
  clock: Clock;
  /** Takes the secrets of each channel that opens, and removes all of the process from the results of channels. */
  secrets?: Pick<Secrets, "add" | "scrub">;
  /** Reads the file of a secret. */
  readTextFile?: (path: string) => Promise<string>;
  /** Resolves the names of hosts. Default: the system's resolver. */
  lookup?: GuardOptions["lookup"];
  /** Loads the module of a further kind. Default: from disk. */
  loadModule?: (path: string) => Promise<ChannelPlugin>;
  /** The network API: `sockets`, the default, or `fetch` on platforms without sockets; see `createFetchPost`. */
  reachOut?: "sockets" | "fetch";
}

/**
 * Creates the channels of a process. It opens and loads nothing until something is sent. Throws
 * `invalid` when two channels have the same name.
 */
export function createChannels(options: ChannelsOptions): Channels {
  const { channels = [], log, clock } = options;
  const createNetwork = options.reachOut === "fetch" ? createFetchNetwork : createSocketNetwork;
  let lazyNetwork: Promise<Network> | undefined;
  const network = () =>
    lazyNetwork ??= createNetwork({
      allowPrivateNetworks: options.allowPrivateNetworks ?? [],
      ...(options.lookup && { lookup: options.lookup }),
    });
  const deps: ChannelDeps = {
    log,
    clock,
    secrets: options.secrets ?? createSecrets(),
    loadPlugin: createLoadPlugin(options.plugins, options.pluginPaths ?? [], clock, options.loadModule),
    readTextFile: options.readTextFile ?? readTextFile,
    postJson: async (request) => await (await network()).postJson(request),
    loadAddressGuard: async () =>
      (await import("./http/address_guard.ts")).createAddressGuard(options.allowPrivateNetworks),
    resolveHost: async (hostname, signal) => await (await network()).resolveHost(hostname, signal),
  };
  const byName = new Map(
    listChannels(channels).map(({ channel, ...head }) => [
      head.name,
      "send" in channel ? createNamedChannel(channel, head, deps) : createConfiguredChannel(channel, deps),
    ]),
  );
  return {
    list: [...byName.values()],
    get: (name) => byName.get(name),
    async close() {
      await Promise.all([...byName.values()].map((channel) => channel.close()));
    },
  };
}

function createNamedChannel(
  channel: NamedChannel,
  head: ChannelHead,
  { clock, log, secrets }: ChannelDeps,
): ConfiguredChannel {
  return {
    ...head,
    check: () => Promise.resolve(undefined),
    checkAddress: () => Promise.resolve(undefined),
    describe: () => Promise.resolve({}),
    ...createSender({
      name: head.name,
      timeoutMs: head.timeoutMs,
      clock,
      log,
      open: () => Promise.resolve({ channel, scrub: secrets.scrub }),
    }),
  };
}

type Network = Pick<ChannelDeps, "postJson" | "resolveHost">;

/** Imports the guarded client, with Node's modules, when a channel first sends. */
async function createSocketNetwork(options: GuardOptions): Promise<Network> {
  const { createGuardedPost, createResolveHost } = await import("./http/guarded_http.ts");
  return { postJson: createGuardedPost(options), resolveHost: createResolveHost(options) };
}

async function createFetchNetwork(options: GuardOptions): Promise<Network> {
  const { createFetchPost } = await import("./http/fetch_post.ts");
  const reason = "this runtime cannot resolve hosts";
  return {
    postJson: createFetchPost(options),
    resolveHost: () => Promise.reject(new DeliveryError(reason, { retry: true })),
  };
}

/**
 * Rejects channels that can't deliver, for processes that run unattended until an alert is due.
 *
 * @param configPath the path of their settings
 * @param advice the remedy, if they are not in a file
 * @throws {PurserError} `invalid`, naming each of them and its problem
 */
export async function checkChannels(
  { list }: Pick<Channels, "list">,
  configPath = "the config file",
  advice = `Correct each in ${configPath} or take it out; purser doctor checks them without serving`,
): Promise<void> {
  const checked = await Promise.all(
    list.map(async (channel) => ({
      name: channel.name,
      kind: channel.kind,
      problem: await channel.check(),
    })),
  );
  const wrong = checked.filter(({ problem }) => problem !== undefined);
  if (wrong.length === 0) return;
  throw new PurserError(
    "invalid",
    [
      `Cannot start: alerts can't be delivered through ${wrong.length} ${
        wrong.length === 1 ? "channel" : "channels"
      }`,
      ...wrong.map(({ name, kind, problem }) => `  ${name} (${kind}): ${problem}`),
      advice,
    ].join("\n"),
    { details: { channels: wrong } },
  );
}
