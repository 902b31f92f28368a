import { z } from "zod";
import { LOG_LEVELS } from "../../kernel/log.ts";
import { PriceOverride, PriceOverrides } from "../../contract/price_override.ts";
import { BUILT_IN_PROVIDERS, DURABILITIES, SEVERITIES } from "../../contract/values.ts";
import { CHANNEL_NAME } from "../channels.ts";

/** The settings that every channel has; the plugin checks the others when it opens the channel. */
const Channel = z.looseObject({
  kind: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "takes lowercase letters, digits, _ and -, at most 32"),
  name: z.string().regex(CHANNEL_NAME, "takes letters, digits, ., _ and -, at most 64").optional(),
  min_severity: z.enum(SEVERITIES).optional(),
  timeout_ms: z.int().min(100).max(120_000).optional(),
});

/** The `channels` of the config file. */
export const Channels = z.array(Channel).superRefine((channels, { addIssue }) => {
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
export const Profile = z.strictObject({
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
export type Profile = z.infer<typeof Profile>;

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

const Provider = z.strictObject({
  base_url: z.url({ protocol: /^https?$/, error: describeUrl }),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

const Anomalies = z.strictObject({ notify_from: z.enum(SEVERITIES).optional() });

const network = z.union([z.cidrv4(), z.cidrv6()], { error: "must be a network such as 10.0.0.0/8" });

/** The format of `purser.json`. Every key is optional; an unknown one is an error. */
export const ConfigFile = z.strictObject({
  $schema: z.string(),
  environment: z.string().min(1),
  db: z.string().min(1),
  db_token: z.string().min(1),
  durability: z.enum(DURABILITIES),
  server: z.string().min(1),
  api_key: z.string().min(1),
  api_key_file: z.string().min(1),
  profiles: Profiles,
  host: z.string().min(1),
  port: z.int().min(0).max(65_535),
  log_level: z.enum(LOG_LEVELS),
  remote_timeout_ms: z.int().positive().max(600_000),
  max_body_bytes: z.int().positive(),
  max_snapshot_bytes: z.int().positive(),
  providers: z.record(providerName, Provider),
  prices: PriceOverrides,
  tools: z.array(z.string().min(1)),
  channels: Channels,
  plugins: z.array(z.string().min(1)),
  allow_private_networks: z.array(network),
  anomalies: Anomalies,
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
  if (path.length === 1 && path[0] === "anomalies") return Object.keys(Anomalies.shape);
  return [];
}
