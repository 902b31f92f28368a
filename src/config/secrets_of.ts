import { AGENT_STATUSES, ANOMALY_KINDS, SESSION_EVENT_TYPES } from "../contract/values.ts";
import type { Config } from "./config.ts";

/** The environment variables whose whole value is a secret. */
const SECRET_VARIABLES = [
  ...["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ...["PURSER_API_KEY", "PURSER_DB_TOKEN"],
];

/** The variables of URLs, and of the headers of telemetry (`name=value,…`), which may contain secrets. */
const URL_VARIABLES =
  /^(?:OPENAI_BASE_URL|ANTHROPIC_BASE_URL|GOOGLE_GENERATIVE_AI_BASE_URL|PURSER_DB|(?:HTTPS?|ALL)_PROXY)$/i;
const HEADER_VARIABLES = /^OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS$/;

/** Headers of providers that contain no secret: everyone may know the application, the API and its version. */
const ORDINARY_HEADER =
  /^(?:accept(?:-.*)?|content-type|user-agent|(?:http-)?referer|origin|x-title|.*-(?:version|beta|organization|project))$/i;

/** Names of channel settings that are secret, until the channel opens and its plugin says exactly which are. */
const SECRET_SETTING = /url|pass|secret|token|key|auth|credential|header/i;

/**
 * Lists the values that are configured as secrets, and the names beside them, which are shown: a provider that is called
 * as its key is has no secret key.
 */
export function secretsOf(
  config: Partial<Config>,
  env: Readonly<Record<string, string | undefined>>,
): { values: string[]; names: string[] } {
  const { providers = {}, channels = [] } = config;
  const values = [config.dbToken, config.apiKey, ...SECRET_VARIABLES.map((name) => env[name])];
  for (const [name, text = ""] of Object.entries(env)) {
    if (URL_VARIABLES.test(name)) values.push(...secretsInUrl(text));
    if (HEADER_VARIABLES.test(name)) {
      values.push(...text.split(",").map((pair) => pair.replace(/^[^=]*=/, "")));
    }
  }
  values.push(...config.otherSecrets ?? [], ...secretsInUrl(config.dbUrl ?? ""));
  for (const { baseUrl, apiKey, headers = {} } of Object.values(providers)) {
    values.push(apiKey, ...secretsInUrl(baseUrl));
    values.push(
      ...Object.entries(headers).flatMap(([name, value]) => ORDINARY_HEADER.test(name) ? [] : value),
    );
  }
  for (const { settings } of channels.filter((channel) => "settings" in channel)) {
    for (const [name, setting] of Object.entries(settings)) {
      if (SECRET_SETTING.test(name)) values.push(...textsIn(setting));
    }
  }
  const names = [
    ...Object.keys(providers),
    ...channels.map(({ name }) => name),
    ...(config.environment === undefined ? [] : [config.environment]),
    ...[...AGENT_STATUSES, ...ANOMALY_KINDS, ...SESSION_EVENT_TYPES, "assistant", "tool-call", "tool-result"],
  ];
  return { values: values.filter((value) => value !== undefined), names };
}

/** Returns the texts of a setting; of a URL the parts after the host, and its user. */
function textsIn(setting: unknown): string[] {
  if (typeof setting === "string") return isUrl(setting) ? secretsInUrl(setting, true) : [setting];
  if (typeof setting !== "object" || setting === null) return [];
  return Object.entries(setting).flatMap(([key, part]) => key === "file" ? [] : textsIn(part));
}

const isUrl = (text: string) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text);

function secretsInUrl(text: string, isPathSecret = false): string[] {
  if (!isUrl(text)) return [];
  const { password, searchParams, pathname, hash } = new URL(text);
  const path = isPathSecret ? [pathname, hash] : [];
  return [password, ...searchParams.values(), ...path]; // a password is decoded by what searches for it
}
