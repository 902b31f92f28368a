import { dirname, isAbsolute, resolve } from "node:path";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { describeIssue } from "./describe_issue.ts";
import { expandFile } from "./expand_variables.ts";
import { locateTargets } from "./locate_targets.ts";
import { parseJsonc } from "../../kernel/json/parse_jsonc.ts";
import { z } from "zod";
import { PriceOverride, PriceOverrides } from "../../contract/price_override.ts";
import { BILL_FORMS, COST_UNITS, type CostUnit } from "../../contract/costs/stated_costs.ts";
import { BUILT_IN_PROVIDERS, DIGEST_PERIODS, SEVERITIES } from "../../contract/values.ts";
import { REQUEST_LIMITS, type RequestLimitName } from "../../contract/limits.ts";
import { CHANNEL_NAME } from "../channels.ts";
import { readTimeZone } from "../../contract/calendars/zones.ts";
import { SETTING_ROWS } from "../settings.ts";
import { mayPassHeader } from "../provider_access.ts";

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time of day, such as 22:00");

const QuietHours = z.strictObject({
  from: TimeOfDay,
  to: TimeOfDay,
  time_zone: z.string().transform((text, { addIssue }) => {
    try {
      return readTimeZone(text);
    } catch (error) {
      addIssue(messageOf(error));
      return z.NEVER;
    }
  }).optional(),
  except: z.enum(SEVERITIES).optional(),
}).refine(({ from, to }) => from !== to, { path: ["to"], error: "must differ from from" });

/** The settings that every channel has; the plugin checks the others when it opens the channel. */
const Channel = z.looseObject({
  kind: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "takes lowercase letters, digits, _ and -, at most 32"),
  name: z.string().regex(CHANNEL_NAME, "takes letters, digits, ., _ and -, at most 64").optional(),
  min_severity: z.enum(SEVERITIES).optional(),
  timeout_ms: z.int().min(100).max(120_000).optional(),
  send_resolved: z.boolean().optional(),
  digest: z.enum(DIGEST_PERIODS).optional(),
  quiet_hours: QuietHours.optional(),
});

/** The `channels` of the config file. */
const Channels = z.array(Channel).superRefine((channels, { addIssue }) => {
  channels.forEach(({ kind, name }, index) => {
    const refuse = (message: string) => addIssue({ code: "custom", path: [index, "name"], message });
    if (name === undefined) return;
    const first = channels.findIndex((channel) => channel.name === name);
    if (first < index) refuse(`repeats the name of channels[${first}]`);
    else if (name === "log" && kind !== "log") {
      refuse("log is the name of the log channel; choose another one");
    }
  });
});

/** A valid profile name. */
export const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A profile: a server or a database, and the secret that is sent to that target only. */
const Profile = z.strictObject({
  server: z.string().min(1).optional(),
  api_key: z.string().min(1).optional(),
  api_key_file: z.string().min(1).optional(),
  db: z.string().min(1).optional(),
  db_token: z.string().min(1).optional(),
}).superRefine((profile, { addIssue }) => {
  const refuse = (key: keyof typeof profile, message: string) =>
    addIssue({ code: "custom", path: [key], message });
  if ((profile.server === undefined) === (profile.db === undefined)) {
    addIssue({ code: "custom", path: [], message: "must name a server or a db, and only one of them" });
    return;
  }
  if (profile.api_key !== undefined && profile.api_key_file !== undefined) {
    refuse("api_key_file", "cannot be combined with api_key; remove one of them");
  }
  for (const key of ["api_key", "api_key_file"] as const) {
    if (profile.server === undefined && profile[key] !== undefined) {
      refuse(key, "is for a server, and this profile names a db");
    }
  }
  if (profile.db === undefined && profile.db_token !== undefined) {
    refuse("db_token", "is for a db, and this profile names a server");
  }
});
type Profile = z.infer<typeof Profile>;

/** The `profiles` of the config file, by name. */
export const Profiles = z.record(
  z.string().regex(PROFILE_NAME, "takes letters, digits, ., _ and -, at most 64"),
  Profile,
);
export type Profiles = z.infer<typeof Profiles>;

const providerName = z.string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "takes letters, digits, _ and -, at most 64")
  .refine(
    (name) => !(BUILT_IN_PROVIDERS as readonly string[]).includes(name),
    "is the name of a built-in provider; choose another one",
  );

function describeUrl(issue: { input?: unknown }): string | undefined {
  return typeof issue.input === "string" ? "must be an http:// or https:// URL" : undefined;
}

/** The forms of `states_cost`. */
const StatesCost = z.union([
  z.enum([...BILL_FORMS, "none"]),
  z.strictObject({ field: z.string().min(1), unit: z.enum(Object.keys(COST_UNITS) as CostUnit[]) }),
  z.strictObject({ header: z.string().min(1), unit: z.enum(Object.keys(COST_UNITS) as CostUnit[]) }),
], {
  error: `must be ${BILL_FORMS.join(", ")}, none, or {"field" or "header": "…", "unit": "${
    Object.keys(COST_UNITS).join('" or "')
  }"}`,
});

const Provider = z.strictObject({
  base_url: z.url({ protocol: /^https?$/, error: describeUrl }),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  on_disconnect: z.enum(["abort", "drain"]).optional(),
  states_cost: StatesCost.optional(),
  pass_headers: z.array(
    z.string().toLowerCase().regex(
      /^[\w!#$%&'+.^`|~-]+\*?$/,
      "must be the name of a header, such as x-team, or the beginning of names, such as x-team-*",
    ).refine(
      (name) => mayPassHeader(name.replace(/\*$/, "")),
      "can't be passed on: the gateway sets it, or it has what no provider gets, such as the client's key",
    ),
  ).optional(),
});

const Anomalies = z.strictObject({ notify_from: z.enum(SEVERITIES).optional() });

const AgentName = z.string().min(1);

/** An agent with a plan, by its name, or with the plan's price. */
const Plan = z.union([
  AgentName,
  z.strictObject({ agent: AgentName, usd_per_month: z.number().min(0).max(1_000_000) }),
], { error: 'must be the name of an agent, or {"agent": "…", "usd_per_month": 100}' });

/**
 * The witnesses of calls: `plans` names the agents whose calls a plan pays for, `sums` the scopes of telemetry whose sums are booked
 * where no call lies beneath.
 */
const Import = z.strictObject({ plans: z.array(Plan), sums: z.array(z.string().min(1)) }).partial();

/** The bills to import every day. */
const BillImport = z.strictObject({
  source: z.string().min(1),
  account: z.string().min(1).optional(),
  key_env: z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of an environment variable").optional(),
  key_file: z.string().min(1).optional(),
  base_url: z.url({ protocol: /^https?$/, error: describeUrl }).optional(),
  is_by_minute: z.boolean().optional(),
}).refine((entry) => entry.key_env === undefined || entry.key_file === undefined, {
  path: ["key_file"],
  error: "cannot be combined with key_env; remove one of them",
});

const network = z.union([z.cidrv4(), z.cidrv6()], { error: "must be a network such as 10.0.0.0/8" });

/** The limits that protect a server from its clients: on connections, and on requests. */
const Limits = z.strictObject({
  connections: z.int().min(1).max(1_000_000),
  connections_per_address: z.int().min(1).max(1_000_000),
  headers_seconds: z.number().min(1).max(3_600),
  idle_seconds: z.number().min(1).max(86_400),
  min_body_bytes_per_second: z.int().min(0).max(1_000_000),
  unread_seconds: z.number().min(1).max(86_400),
  shutdown_seconds: z.number().min(1).max(3_600),
  ...Object.fromEntries(
    (Object.keys(REQUEST_LIMITS) as RequestLimitName[]).map((name) => [name, z.int().min(1).max(2 ** 50)]),
  ) as Record<RequestLimitName, z.ZodInt>,
}).partial();

const checkBy = (read: (text: string) => string) => (text: string, { addIssue }: z.RefinementCtx) => {
  try {
    read(text);
  } catch (error) {
    addIssue({ code: "custom", message: messageOf(error) });
  }
};

/** The schemas of the settings with one value, by their keys. */
const settings: object = Object.fromEntries(
  SETTING_ROWS.map(({ key, default: usual, oneOf, read, min, max }) => {
    if (oneOf) return [key, z.enum(oneOf)];
    if (typeof usual === "string") {
      return [key, read ? z.string().superRefine(checkBy(read)) : z.string().min(1)];
    }
    const number = min === undefined ? z.int().positive() : z.int().min(min);
    return [key, max === undefined ? number : number.max(max)];
  }),
);

/** The format of `purser.json`. Every key is optional; an unknown one is an error. */
export const ConfigFile = z.strictObject({
  $schema: z.string(),
  ...settings,
  db: z.string().min(1),
  db_token: z.string().min(1),
  server: z.string().min(1),
  api_key: z.string().min(1),
  api_key_file: z.string().min(1),
  profiles: Profiles,
  spool_folder: z.string().min(1),
  providers: z.record(providerName, Provider),
  prices: PriceOverrides,
  tools: z.array(z.string().min(1)),
  channels: Channels,
  plugins: z.array(z.string().min(1)),
  allow_private_networks: z.array(network),
  trusted_proxies: z.array(network),
  limits: Limits,
  anomalies: Anomalies,
  import: Import,
  bill_imports: z.array(BillImport),
}).partial().superRefine((file, { addIssue }) => {
  if (file.api_key === undefined || file.api_key_file === undefined) return;
  const message = "cannot be combined with api_key; remove one of them";
  addIssue({ code: "custom", path: ["api_key_file"], message });
});
export type ConfigFile = z.infer<typeof ConfigFile>;

/** Returns the valid keys of the object at a path, for "did you mean" suggestions. */
export function keysKnownAt(path: readonly PropertyKey[]): string[] {
  if (path.length === 0) return Object.keys(ConfigFile.shape);
  if (path.length === 2 && path[0] === "providers") return Object.keys(Provider.shape);
  if (path.length === 2 && path[0] === "prices") return Object.keys(PriceOverride.shape);
  if (path.length === 2 && path[0] === "profiles") return Object.keys(Profile.shape);
  if (path.length === 2 && path[0] === "bill_imports") return Object.keys(BillImport.shape);
  if (path.length === 1 && path[0] === "limits") return Object.keys(Limits.shape);
  if (path.length === 1 && path[0] === "anomalies") return Object.keys(Anomalies.shape);
  if (path.length === 1 && path[0] === "import") return Object.keys(Import.shape);
  return [];
}

/**
 * Parses and validates a config file: JSON with comments and trailing commas, `${NAME}` in strings replaced from the
 * environment, paths resolved against the file's folder. A text without a path is that of PURSER_CONFIG_JSON, whose
 * paths must be absolute. Variables are expanded in the selected profile only: those of others may be unset.
 *
 * @throws {PurserError} `invalid` with the location in the document; no message contains a value, which may be a secret
 */
export function parseConfigFile(
  text: string,
  input: { path?: string; env: Readonly<Record<string, string | undefined>>; profile?: string },
): { file: ConfigFile; configPath: string | undefined } {
  const configPath = input.path === undefined ? undefined : resolve(input.path);
  const source = configPath === undefined ? "PURSER_CONFIG_JSON" : `the config file ${configPath}`;
  const refuse = (reason: string, details?: Record<string, unknown>) =>
    new PurserError("invalid", `Cannot use ${source}: ${reason}`, { details });

  const written = parseJsonc(text, refuse);
  const result = ConfigFile.safeParse(expandFile(written, { env: input.env, refuse }, input.profile));
  if (!result.success) {
    const issues = result.error.issues.flatMap((issue) => describeIssue(issue, keysKnownAt));
    throw refuse(issues.slice(0, 5).join("; "), { issues });
  }

  const locate = (path: string): string => {
    if (configPath !== undefined) return resolve(dirname(configPath), path);
    if (isAbsolute(path)) return path;
    throw refuse("it has a relative path, and there is no file to resolve it against; make it absolute");
  };
  const file = result.data;
  if (file.tools) file.tools = file.tools.map(locate);
  if (file.plugins) file.plugins = file.plugins.map(locate);
  if (file.spool_folder !== undefined) file.spool_folder = locate(file.spool_folder);
  for (const entry of file.bill_imports ?? []) if (entry.key_file) entry.key_file = locate(entry.key_file);
  if (file.channels) file.channels = file.channels.map((channel) => resolveFileRefs(channel, locate));
  locateTargets(file, { profile: input.profile, locate });
  return { file, configPath };
}

/** Resolves the path in every `{"file": "…"}` of a value. */
function resolveFileRefs<T>(value: T, resolvePath: (path: string) => string): T {
  if (Array.isArray(value)) return value.map((item) => resolveFileRefs(item, resolvePath)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [[key, path] = []] = entries;
  if (entries.length === 1 && key === "file" && typeof path === "string" && path !== "") {
    return { file: resolvePath(path) } as T;
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, resolveFileRefs(item, resolvePath)])) as T;
}
