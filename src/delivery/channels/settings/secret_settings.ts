import type { ZodType } from "zod";
import { PurserError, systemReason } from "../../../kernel/errors.ts";
import { mapSettings } from "./setting_marks.ts";

/** What stands for a secret wherever it is shown. */
export const HIDDEN = "***";

type Settings = Readonly<Record<string, unknown>>;

/**
 * Puts the trimmed text of the file in the place of each `{"file": "…"}` that stands for a secret. Throws
 * `invalid`, naming the file.
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

/** The path in `{"file": "…"}`, or undefined for anything else. */
function fileOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined;
  const { file } = value as { file?: unknown };
  return typeof file === "string" ? file : undefined;
}

/** Every secret in the settings, in clear, and every text that the schema has no place for. */
export function listSecrets(settings: unknown, schema: ZodType): string[] {
  const secrets: string[] = [];
  mapSettings(settings, schema, (value, { secret, isKnown }) => {
    if (typeof value !== "string" && typeof value !== "number") return undefined;
    if (!secret && (isKnown || typeof value === "number")) return undefined;
    const text = String(value);
    const url = secret === "url" && URL.canParse(text) ? new URL(text) : undefined;
    // The host may be told; what comes after it may not.
    const parts = url ? [url.username, url.password, url.pathname, url.search, url.hash] : [text];
    secrets.push(...parts.filter((part) => part.length > 1));
    return undefined;
  });
  return secrets;
}

/** The settings with each secret as `***`; so is what the schema doesn't know, since nobody said what it is. */
export function hideSecrets(settings: Settings, schema: ZodType | undefined): Record<string, unknown> {
  return mapSettings(settings, schema, (value, { secret, isKnown }) => {
    if (value === undefined || value === null || typeof value === "boolean") return value ?? null;
    if (fileOf(value) !== undefined) return value; // where the secret is, is none
    if (typeof value === "object") return undefined;
    if (secret === "url") return hideUrl(String(value));
    return secret || !isKnown ? HIDDEN : undefined;
  }) as Record<string, unknown>;
}

function hideUrl(text: string): string {
  return URL.canParse(text) && new URL(text).host !== "" ? `${new URL(text).origin}/${HIDDEN}` : HIDDEN;
}
