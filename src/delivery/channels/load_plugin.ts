import type { Clock } from "../../kernel/clock.ts";
import { nearestName } from "../../kernel/text.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { importFile } from "../../kernel/files.ts";
import { CHANNEL_CONTRACT, type ChannelModule, type ChannelPlugin } from "./channel.ts";
import { createChannelKit } from "./channel_kit.ts";
import { settleWithin } from "./settle_within.ts";

/** The kinds that are built in, each with how its module is imported. */
export type BuiltInChannels = Readonly<Record<string, () => Promise<{ default: ChannelModule }>>>;

/** Finds the plugin of a kind. */
export type LoadPlugin = (kind: string) => Promise<ChannelPlugin>;

/** How long the plugins that are there wait for modules that are not: whether one of those defines their kind too. */
const PATIENCE_MS = 1_000;

/**
 * Makes what loads plugins: built-in ones by their kind, others from TypeScript modules on disk, also beside a
 * compiled binary. No module is loaded before a channel needs it. What it makes throws `invalid` for a kind
 * that nobody has, with what was wrong with the modules that could not be loaded. A kind takes as long as its module
 * does, which may be forever; other kinds have to wait no longer than a second for it.
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
      // A fault may be mended, and what hangs may not hang again, by the time of the next attempt.
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
    const near = nearestName(kind, names);
    const hint = near ? `; did you mean ${near}?` : ` (known are ${names.sort().join(", ")})`;
    throw refuse([`There is no channel kind ${kind}${hint}`, ...loading.faults].join("; "));
  };
}

/** Modules that are being loaded. */
interface Loading {
  /** What has been loaded by now. */
  plugins: ChannelPlugin[];
  faults: string[];
  /** Each by itself; undefined for one that has a fault. */
  loads: Promise<ChannelPlugin | undefined>[];
  /** Resolves when all are, or those that aren't have taken too long. */
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
  const most = settleWithin(all, { clock, timeoutMs: PATIENCE_MS, late: () => {} });
  return { plugins, faults, loads, most, all };
}

/** Loads the plugin of one module by absolute path. Throws `invalid`, naming the file and what is wrong. */
export async function loadModule(path: string, builtIn: BuiltInChannels = {}): Promise<ChannelPlugin> {
  try {
    const plugin = await makePlugin((await importFile(path)).default);
    if (!Object.hasOwn(builtIn, plugin.kind)) return plugin;
    throw new Error(`${plugin.kind} is the kind of a built-in channel`);
  } catch (error) {
    throw refuse(`Cannot load the plugin ${path}: ${messageOf(error)}`, error);
  }
}

/** Runs a module's default export and checks what it returns. */
export async function makePlugin(make: unknown, kind?: string): Promise<ChannelPlugin> {
  if (make === undefined) throw new Error("it has no default export");
  if (typeof make !== "function") throw new Error("its default export is not a function");
  const plugin: unknown = await make(await createChannelKit());
  const fault = findPluginFault(plugin);
  if (fault !== undefined) throw new Error(fault);
  const sound = plugin as ChannelPlugin;
  if (kind !== undefined && sound.kind !== kind) throw new Error(`its kind is ${sound.kind}, not ${kind}`);
  return sound;
}

/** Why something is no channel plugin that this Purser can use, or undefined. */
export function findPluginFault(made: unknown): string | undefined {
  if (typeof made !== "object" || made === null) return "its default export returned no plugin";
  const plugin = made as Partial<Record<keyof ChannelPlugin, unknown>>;
  if (plugin.contract !== CHANNEL_CONTRACT) {
    return `it was written for version ${String(plugin.contract)} of the channel contract, and this Purser ` +
      `knows version ${CHANNEL_CONTRACT}`;
  }
  if (typeof plugin.kind !== "string" || !/^[a-z][a-z0-9_-]{0,31}$/.test(plugin.kind)) {
    return "its kind must be made of small letters, digits, _ and -, at most 32";
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
