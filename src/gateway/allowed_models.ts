import { PurserError } from "../kernel/errors.ts";
import { type Fields, isFields } from "../pricing/usage/mod.ts";
import type { Caller } from "./attribution.ts";
import type { Endpoint } from "./targets.ts";
import { LABELS, type Shape } from "./wires/known_fields.ts";
import { cannotPass, modelOf } from "./wires/requests.ts";

/* The models that a key may call, and of which it may learn anything. */

/** Refuses a model that a key may not call. A pattern ends with `*` for all that begin like it. */
function checkAllowed(model: string, { models }: Caller): void {
  if (isAllowed(model, models)) return;
  throw new PurserError(
    "forbidden",
    `Cannot call ${model.slice(0, 200)}: this API key may call ${models!.join(", ")} only`,
    { details: { models } },
  );
}

/**
 * Refuses a request for a model that a key may not call. Providers and proxies also call the models that other fields name,
 * instead of the first one or beside it: OpenRouter `models`, `preset`, plugins and tools of its own, LiteLLM `fallbacks`,
 * `context_window_fallbacks`, `deployment_id`, `prompt_id` and such, also within `router_settings_override` and `extra_body`,
 * Anthropic `fallbacks`, and tools with a `model` such as Anthropic's advisor. For every key it refuses a request that sets its
 * own price, address, account or headers, as one to LiteLLM can.
 */
export function checkRequested(model: string, body: Fields, known: Shape, caller: Caller): void {
  checkAllowed(model, caller);
  const unknown: Fields = Object.create(null);
  for (const name in body) {
    const value = body[name];
    if (!Object.hasOwn(known, name)) unknown[name] = value;
    // A label is a text; proxies read objects in its place as settings of theirs.
    else if (known[name] === LABELS && isFields(value)) {
      for (const [label, inner] of Object.entries(value).filter(isObjectIn)) unknown[label] = inner;
    }
  }
  if (caller.models !== null) checkOthers(body, unknown, caller);
  const [set] = findFields(unknown, OF_OPERATORS);
  if (set === undefined) return;
  const [name] = set;
  throw cannotPass(
    `"${
      name.slice(0, 80)
    }" sets a price, an address or an account of the provider, which only its operator may`,
  );
}

/** Refuses a request that names another model that its key may not call. */
function checkOthers(body: Fields, unknown: Fields, caller: Caller): void {
  // Within the schemas of a client's own tools, `model` is any name.
  const ofTools = [body.tools].flat().filter(isFields).flatMap((tool) =>
    OWN_TOOLS.has(tool.type)
      ? [tool.model, tool.models]
      : findFields(withoutSchema(tool), OF_MODELS).map(valueOf)
  );
  const others = [...ofTools, ...findFields(unknown, OF_MODELS).map(valueOf)];
  for (const other of others.flat()) {
    // LiteLLM has switches, too: `disable_fallbacks`.
    if (other !== undefined && other !== null && typeof other !== "boolean") {
      checkAllowed(nameOf(other), caller);
    }
  }
}

/** The most models that a request may name besides its own, each of which its budgets are asked about. */
const MAX_FALLBACKS = 10;

/**
 * Returns the models that the provider may call instead of the one that a request is for: OpenRouter `models`, LiteLLM `fallbacks` and
 * such, Anthropic `fallbacks`. Throws `invalid` for too many.
 */
export function fallbacksIn(model: string, body: Fields, known: Shape): readonly string[] {
  const unknown = Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(known, name)));
  const names = new Set(findFields(unknown, OF_FALLBACKS).flatMap(([, value]) => namesIn(value)));
  names.delete(model);
  if (names.size <= MAX_FALLBACKS) return [...names];
  throw cannotPass(
    `it names ${names.size} models that may be called instead; at most ${MAX_FALLBACKS} can be`,
  );
}

/** The fields that name models to call instead, in lower case and without underscores. */
const OF_FALLBACKS = /^models$|fallbacks$/;

/** Returns the names of models in a value: texts, objects with a `model`, and lists and maps of them. */
function namesIn(value: unknown, depth = 0): string[] {
  // With "default", Anthropic chooses the models by itself.
  if (typeof value === "string") return value === "default" ? [] : [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  if (isFields(value) && typeof value.model === "string") return [value.model];
  return Object.values(value).flatMap((inner) => namesIn(inner, depth + 1));
}

/** The types of the tools that the client runs; one without a type is another provider's form of these. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(["function", "custom", undefined, null]);

const withoutSchema = ({ input_schema: _, ...tool }: Fields): Fields => tool;
const valueOf = ([, value]: [string, unknown]) => value;
const isObjectIn = ([, value]: [string, unknown]) => typeof value === "object" && value !== null;

/** The fields that name models, in lower case and without underscores. */
const OF_MODELS = /models?$|^model|fallback|^preset$|^deployment(?:id)?$|^promptid$/;

/**
 * The fields by which a request to LiteLLM sets its price, and where, as whom and with which headers it goes. As of 2026-11-26,
 * from its `CustomPricingLiteLLMParams`, `all_litellm_params` and the list of what its proxy refuses in bodies.
 */
const OF_OPERATORS = new RegExp(
  "costper|tokencost|tieredpricing|apibase$|(?:api|base|endpoint|deployment)url$|^(?:aws|vertex|azure)" +
    "|^(?:apikey|apiversion|organization|regionname|tenantid|clientsecret|litellmparams|litellmcredentialname" +
    "|customllmprovider|modelinfo|modellist|modelconfig|userconfig|proxyserverrequest" +
    "|headers|extraheaders|extraquery|providerspecificheader)$",
);

/** Returns a name as servers compare it that take `apiBase` and `API_BASE` for `api_base`. */
const plainName = (name: string) => name.toLowerCase().replace(/[_-]/g, "");

/** Returns the fields with one of these names, at any depth. A value that is nested too deeply counts as such a field. */
function findFields(value: unknown, names: RegExp, depth = 0): [name: string, value: unknown][] {
  if (depth > MAX_DEPTH) return [["…", value]];
  if (Array.isArray(value)) return value.flatMap((item) => findFields(item, names, depth + 1));
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    names.test(plainName(name)) ? [[name, inner] as [string, unknown]] : findFields(inner, names, depth + 1)
  );
}

/** The depth to which fields are searched. */
const MAX_DEPTH = 12;

/** Returns the name of a model, which may be an object with settings. Without a name, returns one that no key may call. */
function nameOf(model: unknown): string {
  if (typeof model === "string") return model;
  return isFields(model) && typeof model.model === "string" ? model.model : JSON.stringify(model);
}

function isAllowed(model: string, models: Caller["models"]): boolean {
  return models === null ||
    models.some((one) => one.endsWith("*") ? model.startsWith(one.slice(0, -1)) : model === one);
}

/** Refuses a free request about a model that a key may not call; `readBody` is called only where its body names one. */
export async function checkShown(
  { shows, model }: Endpoint & { kind: "free" },
  caller: Caller,
  readBody: () => Promise<Fields>,
): Promise<void> {
  if (caller.models === null) return;
  if (model !== undefined) checkAllowed(model, caller);
  if (shows !== "model in body") return;
  const body = await readBody();
  if (model === undefined) return checkAllowed(modelOf(body), caller);
  // Gemini takes a whole request to be counted, with the model once more.
  for (const holder of [body, body.generateContentRequest, body.generate_content_request]) {
    if (isFields(holder) && holder.model != null) checkAllowed(withoutFolder(modelOf(holder)), caller);
  }
}

const withoutFolder = (name: string) => name.replace(/^models\//, "");

/** Returns a list of models without those that a key may not call. Throws `provider_error` for one of an unknown form. */
export function keepModels(body: unknown, models: readonly string[]): Uint8Array<ArrayBuffer> {
  const keep = (list: unknown[]) =>
    list.filter((model) => {
      const id = isFields(model) ? model.id ?? model.name : undefined;
      return typeof id === "string" && isAllowed(withoutFolder(id), models);
    });
  const encode = (list: unknown) => new TextEncoder().encode(JSON.stringify(list));
  if (Array.isArray(body)) return encode(keep(body));
  const lists = isFields(body) ? Object.entries(body).filter(([, value]) => Array.isArray(value)) : [];
  if (lists.length > 0) {
    const kept = lists.map(([name, list]) => [name, keep(list as unknown[])]);
    return encode({ ...body as Fields, ...Object.fromEntries(kept) });
  }
  throw new PurserError(
    "provider_error",
    "Cannot show the models that this API key may call: the provider's list can't be read",
    { details: { gateway_resend: false } },
  );
}
