import type { ZodObject, ZodType } from "zod";
import { describeIssue } from "../../../config/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { systemReason } from "../../../kernel/system_errors.ts";
import type { ChannelPlugin } from "../channel.ts";
import { createScrub, HIDDEN, type Scrub } from "./scrub_secrets.ts";

/** Settings that are valid, for `open`. */
export interface ReadSettings {
  settings: unknown;
  secrets: readonly string[];
  /** Removes every secret of theirs from a text. */
  scrub: Scrub;
}

/**
 * Reads the settings of one channel: secrets from their files, then validation by the plugin's schema. Throws
 * `invalid`, with the faults in one line, and without a secret.
 */
export async function readSettings(
  plugin: ChannelPlugin,
  written: Readonly<Record<string, unknown>>,
  readTextFile: (path: string) => Promise<string>,
): Promise<ReadSettings> {
  const schema = refuseUnknownKeys(plugin.settings);
  const settings = await readSecretFiles(written, schema, readTextFile);
  const result = await schema.safeParseAsync(settings);
  const secrets = listSecrets(settings, schema);
  // A secret that the schema has transformed, such as by trimming, is a secret as well.
  if (result.success) secrets.push(...listSecrets(result.data, schema));
  const scrub = createScrub(secrets);
  if (result.success) return { settings: result.data, secrets, scrub };
  const known = Object.keys((schema as ZodObject).shape);
  const faults = result.error.issues.flatMap((issue) =>
    describeIssue(issue, (path) => path.length === 0 ? known : [])
  );
  throw new PurserError("invalid", scrub(faults.slice(0, 5).join("; ")));
}

/** Rejects unknown keys, which may be misspelt; a plugin that takes any uses `z.looseObject`. */
function refuseUnknownKeys(schema: ZodType): ZodType {
  const { catchall } = schema._zod.def as { catchall?: unknown };
  return catchall === undefined ? (schema as ZodObject).strict() : schema;
}

type Settings = Readonly<Record<string, unknown>>;

/**
 * Replaces each `{"file": "…"}` that is given for a secret by the trimmed text of that file. Throws `invalid`, naming
 * the file.
 */
export async function readSecretFiles(
  settings: Settings,
  schema: ZodType,
  readTextFile: (path: string) => Promise<string>,
): Promise<Settings> {
  const texts = new Map<string, string>();
  mapSettings(settings, schema, (value, { secret, fromFile }) => {
    const path = secret || fromFile ? fileOf(value) : undefined;
    if (path !== undefined) texts.set(path, "");
    return undefined;
  });
  for (const path of texts.keys()) texts.set(path, await readSecret(path, readTextFile));
  return mapSettings(settings, schema, (value, { secret, fromFile }) => {
    const path = secret || fromFile ? fileOf(value) : undefined;
    return path === undefined ? undefined : texts.get(path);
  }) as Settings;
}

async function readSecret(path: string, readTextFile: (path: string) => Promise<string>): Promise<string> {
  let text: string;
  try {
    text = (await readTextFile(path)).trim();
  } catch (error) {
    throw new PurserError("invalid", `Cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
  if (text === "") throw new PurserError("invalid", `Cannot read ${path}: the file is empty`);
  return text;
}

/** Returns the path in `{"file": "…"}`, or undefined for anything else. */
function fileOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined;
  const { file } = value as { file?: unknown };
  return typeof file === "string" ? file : undefined;
}

/** Lists every secret in the settings, in plaintext, and every text that the schema doesn't define. */
export function listSecrets(settings: unknown, schema: ZodType): string[] {
  const secrets: string[] = [];
  mapSettings(settings, schema, (value, { secret, isKnown }) => {
    if (typeof value !== "string" && typeof value !== "number") return undefined;
    if (!secret && (isKnown || typeof value === "number")) return undefined;
    const text = String(value);
    const url = secret === "url" && URL.canParse(text) ? new URL(text) : undefined;
    // The host may be shown, the rest may not.
    const parts = url ? [url.username, url.password, url.pathname, url.search, url.hash] : [text];
    secrets.push(...parts.filter((part) => part.length > 1));
    return undefined;
  });
  return secrets;
}

/** Returns the settings with `***` for each secret, and for each value that the schema doesn't define. */
export function hideSecrets(settings: Settings, schema: ZodType | undefined): Record<string, unknown> {
  return mapSettings(settings, schema, (value, { secret, isKnown }) => {
    if (value === undefined || value === null || typeof value === "boolean") return value ?? null;
    if (fileOf(value) !== undefined) return value; // the path of a secret isn't a secret
    if (typeof value === "object") return undefined;
    if (secret === "url") return hideUrl(String(value));
    return secret || !isKnown ? HIDDEN : undefined;
  }) as Record<string, unknown>;
}

function hideUrl(text: string): string {
  return URL.canParse(text) && new URL(text).host !== "" ? `${new URL(text).origin}/${HIDDEN}` : HIDDEN;
}

/** The marks of a setting in its plugin's schema, by `.meta({…})`. */
interface SettingMark {
  /** `true`: the whole value is secret. `"url"`: the host may be shown, the rest is secret, as of incoming webhooks. */
  secret?: true | "url";
  /** True if `{"file": "…"}` may be given for it though it is not secret. */
  fromFile?: true;
  /** True if the schema defines a single value here; a text instead of a list may be a secret. */
  isKnown: boolean;
}

/** The parts of a zod schema's definition that are read here; each kind of schema has some of them. */
interface Definition {
  type: string;
  innerType?: ZodType;
  element?: ZodType;
  valueType?: ZodType;
  catchall?: ZodType;
  shape?: Readonly<Record<string, ZodType>>;
  options?: readonly ZodType[];
  items?: readonly ZodType[];
  getter?: () => ZodType;
  in?: ZodType;
  out?: ZodType;
  left?: ZodType;
  right?: ZodType;
}

const definitionOf = (schema: ZodType) => schema._zod.def as unknown as Definition;

/**
 * Copies settings, with each value replaced by the result of `visit`; where that is undefined it visits the value's
 * parts instead. A mark holds for all parts of a value, too.
 */
function mapSettings(
  value: unknown,
  schema: ZodType | undefined,
  visit: (value: unknown, mark: SettingMark) => unknown,
): unknown {
  return map(value, schema ? [schema] : [], undefined);

  function map(value: unknown, schemas: readonly ZodType[], above: SettingMark["secret"]): unknown {
    const candidates = schemas.flatMap((schema) => alternatives(schema));
    const marks = candidates.map((schema) => (schema.meta() ?? {}) as Partial<SettingMark>);
    const secret = marks.some((mark) => mark.secret === true)
      ? true
      : marks.find((mark) => mark.secret)?.secret ?? above;
    const mark: SettingMark = {
      isKnown: candidates.some(takesSingleValue),
      ...(secret && { secret }),
      ...(marks.some(({ fromFile }) => fromFile) && { fromFile: true }),
    };
    const visited = visit(value, mark);
    if (visited !== undefined) return visited;
    if (Array.isArray(value)) {
      return value.map((item, index) => map(item, candidates.flatMap((s) => itemOf(s, index)), secret));
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        key,
        map(part, candidates.flatMap((candidate) => partOf(candidate, key)), secret),
      ]),
    );
  }
}

/** Returns a schema with those that it wraps, unites or pipes. */
function alternatives(schema: ZodType): ZodType[] {
  const { type, innerType, options, in: from, out, left, right, getter } = definitionOf(schema);
  const inner = [
    innerType,
    from,
    out,
    left,
    right,
    ...(options ?? []),
    type === "lazy" ? getter?.() : undefined,
  ];
  return [schema, ...inner.flatMap((one) => one ? alternatives(one) : [])];
}

/** Returns true for a schema of a text, a number or another single value. */
function takesSingleValue(schema: ZodType): boolean {
  const { type, innerType, options, in: from, left, element, valueType, shape, items } = definitionOf(schema);
  return type !== "lazy" &&
    [innerType, options, from, left, element, valueType, shape, items].every((part) => part === undefined);
}

function itemOf(schema: ZodType, index: number): ZodType[] {
  const { element, items } = definitionOf(schema);
  return [element, items?.[index]].filter((one) => one !== undefined);
}

function partOf(schema: ZodType, key: string): ZodType[] {
  const { shape, valueType, catchall } = definitionOf(schema);
  const own = shape && Object.hasOwn(shape, key) ? shape[key] : catchall;
  return [own, valueType].filter((one) => one !== undefined);
}
