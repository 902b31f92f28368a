import { PurserError } from "../kernel/errors.ts";
import { anthropicMessages } from "./wires/anthropic.ts";
import { embeddings, openAiChat } from "./wires/openai_chat.ts";
import { geminiWire } from "./wires/gemini.ts";
import { openAiResponses } from "./wires/openai_responses.ts";
import { cannotPass } from "./wires/requests.ts";
import type { Wire } from "./wires/wire.ts";

/** The families of APIs: the form of their paths and of their errors. */
export type Family = "openai" | "anthropic" | "google";

/** The address of a request to the gateway. */
export interface Target {
  /** Purser's name of the provider. */
  provider: string;
  family: Family;
  /** The version in the path: `v1`, `v1beta`, … */
  version: string;
  /** The path below the version, without a slash in front: `chat/completions`. */
  path: string;
}

/** The first segments of paths that name a built-in provider. */
const PREFIXES: Readonly<Record<string, { provider: string; family: Family }>> = {
  openai: { provider: "openai", family: "openai" },
  anthropic: { provider: "anthropic", family: "anthropic" },
  gemini: { provider: "google", family: "google" },
  google: { provider: "google", family: "google" },
};

/** Returns the family of a provider; one of the config is OpenAI-compatible. */
export function familyOf(provider: string): Family {
  return Object.values(PREFIXES).find((each) => each.provider === provider)?.family ?? "openai";
}

const VERSION = /^v1(alpha|beta)?$/;

/**
 * Reads the address of a request: `/{provider}/v1/…`, or `/v1/…`, where the path shows the provider. Undefined for a path that
 * is not the gateway's; `isProvider` returns whether the config has a provider of a name.
 */
export function findTarget(
  { pathname, headers }: { pathname: string; headers: Pick<Headers, "get"> },
  isProvider: (name: string) => boolean,
): Target | undefined {
  const [, first = "", ...rest] = pathname.split("/");
  if (VERSION.test(first)) {
    const path = rest.join("/");
    return { ...ownerOf(path, first, headers), version: first, path };
  }
  const [version = "", ...more] = rest;
  if (!VERSION.test(version)) return undefined;
  const path = more.join("/");
  if (isProvider(first)) return { provider: first, family: "openai", version, path };
  return Object.hasOwn(PREFIXES, first) ? { ...PREFIXES[first]!, version, path } : undefined;
}

/** The path below its base URL that Claude Code requests when it starts, without a key (2.1.332, as of 2026-11-26). */
const HELLO = "api/hello";

/**
 * Returns whether a request only asks whether something answers at a client's base URL: Claude Code sends one when it starts,
 * and clients that connect ahead of their first call send a `HEAD` of the base URL. It concerns no call and no model.
 */
export function isConnectionProbe(method: string, pathname: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const [, first = "", ...rest] = pathname.split("/");
  const below = Object.hasOwn(PREFIXES, first) ? rest : [first, ...rest];
  const path = below.join("/").replace(/\/$/, "");
  if (path === HELLO) return true;
  // Without a provider it is the server's own page.
  return method === "HEAD" && pathname !== "/" && (path === "" || VERSION.test(path));
}

const GEMINI_CALL = /^(?:models|tunedModels)\/(.+):(\w+)$/;

function ownerOf(
  path: string,
  version: string,
  headers: Pick<Headers, "get">,
): { provider: string; family: Family } {
  if (version !== "v1" || GEMINI_CALL.test(path) || headers.get("x-goog-api-key") !== null) {
    return PREFIXES.google!;
  }
  const isAnthropic = /^messages(\/|$)/.test(path) || headers.get("anthropic-version") !== null;
  return isAnthropic ? PREFIXES.anthropic! : PREFIXES.openai!;
}

/** The treatment of a request: metered, passed on free of charge, or refused. */
export type Endpoint =
  | { kind: "metered"; wire: Wire; model?: string }
  /** `shows`: the models that its answer is about, of which a key may see some; `model` is that of the path. */
  | { kind: "free"; shows?: "models" | "model in body"; model?: string };

const METERED: Readonly<Record<Exclude<Family, "google">, Readonly<Record<string, Wire>>>> = {
  openai: {
    "chat/completions": openAiChat,
    "responses": openAiResponses,
    "responses/compact": openAiResponses,
    "embeddings": embeddings,
  },
  anthropic: { messages: anthropicMessages },
};

const GEMINI_METERED: Readonly<Record<string, Wire>> = {
  generateContent: geminiWire(false),
  streamGenerateContent: geminiWire(true),
};

/** The requests that providers charge nothing for, by method and path. */
export const FREE: Readonly<Record<Family, readonly RegExp[]>> = {
  openai: [
    /^GET models(\/.+)?$/,
    /^POST responses\/input_tokens$/,
    /^(GET|DELETE) responses\/[^/]+$/,
    /^POST responses\/[^/]+\/cancel$/,
    /^GET responses\/[^/]+\/input_items$/,
  ],
  anthropic: [/^GET models(\/.+)?$/, /^POST messages\/count_tokens$/],
  google: [/^GET models(\/[^:]+)?$/, /^POST models\/[^:]+:countTokens$/],
};

/**
 * Returns the treatment of a request.
 *
 * @throws {PurserError} `not_found` for what can't be booked, with what to do instead; `unsupported` for a WebSocket
 */
export function findEndpoint(
  method: string,
  { family, path }: Target,
  headers: Pick<Headers, "get">,
): Endpoint {
  if (headers.get("upgrade")?.toLowerCase() === "websocket") {
    throw new PurserError(
      "unsupported",
      "Cannot open a WebSocket: the gateway speaks HTTP with server-sent events; clients continue with those by themselves",
      { details: { gateway_status: 426 } },
    );
  }
  const gemini = family === "google" ? GEMINI_CALL.exec(path) : null;
  if (method === "POST") {
    const wires: Readonly<Record<string, Wire>> = family === "google" ? GEMINI_METERED : METERED[family];
    const name = gemini ? gemini[2]! : path;
    if ((family !== "google" || gemini) && Object.hasOwn(wires, name)) {
      return {
        kind: "metered",
        wire: wires[name]!,
        ...(gemini && { model: decodePath(gemini[1]!) }),
      };
    }
  }
  const plain = decodePath(path);
  const asked = `${method === "HEAD" ? "GET" : method} ${plain}`;
  if (FREE[family].some((pattern) => pattern.test(asked))) return { kind: "free", ...modelsShown(plain) };
  const known = [...Object.keys(family === "google" ? GEMINI_METERED : METERED[family])].join(", ");
  throw new PurserError(
    "not_found",
    `Cannot pass on ${method} /${path}: its cost could not be booked; the gateway takes ${known}, lists of models and counts of ` +
      "tokens. Call the provider directly for the rest, and report what it costs (POST /costs/events)",
  );
}

/** Returns the models that a free request is about. */
function modelsShown(path: string): Pick<Endpoint & { kind: "free" }, "shows" | "model"> {
  if (path === "models") return { shows: "models" };
  const model = /^models\/(.+?)(?::countTokens)?$/.exec(path)?.[1];
  if (model !== undefined) return { model, ...(path.endsWith(":countTokens") && { shows: "model in body" }) };
  return /^(messages\/count|responses\/input)_tokens$/.test(path) ? { shows: "model in body" } : {};
}

/**
 * Decodes a path, or a part of it. Refuses a path that a provider might read differently: with `..`, also written `%2e%2e%2f`,
 * encoded twice, or with the beginning of a query.
 */
function decodePath(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw cannotPass("its path is not valid percent-encoding");
  }
  const isPlain = !/[\s\p{C}%?#;\\]/u.test(decoded) &&
    decoded.split("/").every((segment) => !["", ".", ".."].includes(segment));
  if (decoded === "" || isPlain) return decoded;
  throw cannotPass("its path has empty or dotted segments, or characters that no model and no id has");
}

/** Returns the model of a path of Gemini's, checked as one of a body is. */
export function checkModel(model: string): string {
  if (model.length <= 200 && !model.includes(",")) return model;
  throw cannotPass("the model in its path must be 1 to 200 characters without blanks and commas");
}
