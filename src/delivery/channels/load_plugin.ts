import type { Clock } from "../../kernel/clock.ts";
import { hintOf } from "../../kernel/nearest_name.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { importFile } from "../../kernel/files/import_file.ts";
import { toPlainJsonText } from "../../kernel/json/portable_json.ts";
import {
  CHANNEL_CONTRACT,
  type ChannelKit,
  type ChannelModule,
  type ChannelPlugin,
  defineChannel,
  defineHttpChannel,
} from "./channel.ts";
import { DeliveryError } from "./notification.ts";
import { httpResult, isHttpUrl } from "./http/post_json.ts";
import { settleWithin } from "./settle_within.ts";
import { cutText, layOut, oneLine } from "./text.ts";

/** The built-in kinds, each with a function that imports its module. */
export type BuiltInChannels = Readonly<Record<string, () => Promise<{ default: ChannelModule }>>>;

/** Finds the plugin of a kind. */
export type LoadPlugin = (kind: string) => Promise<ChannelPlugin>;

/** The time that loaded plugins wait for the modules still loading, one of which may define the same kind. */
const OTHERS_TIMEOUT_MS = 1_000;

/**
 * Creates the function that loads plugins: built-in ones by their kind, others from TypeScript modules on disk, also
 * beside a compiled binary, all on first use. It throws `invalid` for an unknown kind, with the errors of the modules
 * that could not be loaded. A kind takes as long as its module does, possibly forever; other kinds wait at most a
 * second for it.
 */
export function createLoadPlugin(
  builtIn: BuiltInChannels,
  paths: readonly string[],
  clock: Clock,
  load: (path: string) => Promise<ChannelPlugin> = (path) => loadModule(path, builtIn),
): LoadPlugin {
  const known = new Map<string, ChannelPlugin>();
  let current: Loading | undefined;
  return async (kind) => {
    if (Object.hasOwn(builtIn, kind)) return await makePlugin((await builtIn[kind]!()).default, kind);
    const loaded = known.get(kind);
    if (loaded) return loaded;
    const loading = current ??= startLoading(paths.map((path) => () => load(path)), clock);
    await loading.most;
    const find = () => loading.plugins.filter((plugin) => plugin.kind === kind);
    if (find().length !== 1) {
      // By the next attempt a fault may be fixed, and a module that hangs may load.
      if (current === loading) current = undefined;
      const isFound = loading.loads.map(async (load) => (await load)?.kind === kind || await loading.all);
      await Promise.race([loading.all, ...isFound]);
    }
    const found = find();
    if (found.length > 1) throw refuse(`Cannot use the channel kind ${kind}: several plugins define it`);
    if (found.length === 1) {
      known.set(kind, found[0]!);
      return found[0]!;
    }
    const names = [...Object.keys(builtIn), ...loading.plugins.map((plugin) => plugin.kind)];
    throw refuse([`There is no channel kind ${kind}${hintOf(kind, names)}`, ...loading.faults].join("; "));
  };
}

/** Modules that are being loaded. */
interface Loading {
  /** The plugins loaded so far. */
  plugins: ChannelPlugin[];
  faults: string[];
  /** One for each module; undefined for one that failed. */
  loads: Promise<ChannelPlugin | undefined>[];
  /** Resolves when all have settled, or after the timeout. */
  most: Promise<void>;
  all: Promise<void>;
}

function startLoading(modules: readonly (() => Promise<ChannelPlugin>)[], clock: Clock): Loading {
  const plugins: ChannelPlugin[] = [];
  const faults: string[] = [];
  const loads = modules.map(async (load) => {
    try {
      const plugin = await load();
      plugins.push(plugin);
      return plugin;
    } catch (error) {
      faults.push(messageOf(error));
    }
  });
  const all = Promise.all(loads).then(() => {});
  const most = settleWithin(all, { clock, timeoutMs: OTHERS_TIMEOUT_MS, onTimeout: () => {} });
  return { plugins, faults, loads, most, all };
}

/** Loads the plugin of one module by absolute path. Throws `invalid`, naming the file and the fault. */
export async function loadModule(path: string, builtIn: BuiltInChannels = {}): Promise<ChannelPlugin> {
  try {
    const plugin = await makePlugin((await importFile(path)).default);
    if (!Object.hasOwn(builtIn, plugin.kind)) return plugin;
    throw new Error(`${plugin.kind} is the kind of a built-in channel`);
  } catch (error) {
    throw refuse(`Cannot load the plugin ${path}: ${messageOf(error)}`, error);
  }
}

/** Creates the argument of a plugin's default export. */
export async function createChannelKit(): Promise<ChannelKit> {
  const { z } = await import("zod");
  return {
    defineChannel,
    defineHttpChannel,
    z,
    httpUrl: z.string().refine(isHttpUrl, "must be an http:// or https:// URL without user and password"),
    httpResult,
    DeliveryError,
    isHttpUrl,
    toJson: toPlainJsonText,
    cutText,
    oneLine,
    layOut,
  };
}

/** Runs a module's default export and validates the result. */
export async function makePlugin(make: unknown, kind?: string): Promise<ChannelPlugin> {
  if (make === undefined) throw new Error("it has no default export");
  if (typeof make !== "function") throw new Error("its default export is not a function");
  const defineImporter = () => {
    throw new Error("it is an importer of logs, not a channel");
  };
  const plugin: unknown = await make({ ...await createChannelKit(), defineImporter });
  const fault = findPluginFault(plugin);
  if (fault !== undefined) throw new Error(fault);
  const sound = plugin as ChannelPlugin;
  if (kind !== undefined && sound.kind !== kind) throw new Error(`its kind is ${sound.kind}, not ${kind}`);
  return sound;
}

/** Returns the reason why this version can't use a value as a channel plugin, or undefined. */
export function findPluginFault(made: unknown): string | undefined {
  if (typeof made !== "object" || made === null) return "its default export returned no plugin";
  const plugin = made as Partial<Record<keyof ChannelPlugin, unknown>>;
  if (plugin.contract !== CHANNEL_CONTRACT) {
    return `it was written for version ${String(plugin.contract)} of the channel contract, and this Purser ` +
      `supports version ${CHANNEL_CONTRACT}`;
  }
  if (typeof plugin.kind !== "string" || !/^[a-z][a-z0-9_-]{0,31}$/.test(plugin.kind)) {
    return "its kind must consist of lowercase letters, digits, _ and -, at most 32";
  }
  if (typeof plugin.summary !== "string" || plugin.summary.trim() === "") return "it has no summary";
  const settings = plugin.settings as
    | { safeParse?: unknown; _zod?: { def?: { type?: unknown } } }
    | undefined;
  if (typeof settings?.safeParse !== "function" || settings._zod?.def?.type !== "object") {
    return "its settings are not a z.object({…})";
  }
  return typeof plugin.open === "function" ? undefined : "it has no open function";
}

function refuse(message: string, cause?: unknown): PurserError {
  return new PurserError("invalid", message, { cause });
}
