import { BUILT_IN_PROVIDERS } from "../../contract/values.ts";
import { PurserError } from "../../kernel/errors.ts";
import { DEMO_MODELS } from "../demo/demo_models.ts";

/** The parts of a model's name. */
export interface ModelName {
  /** A built-in provider or one of the config. */
  provider: string;
  modelId: string;
  /** The API of a provider that has several. */
  api?: "chat" | "responses";
}

/** The two APIs of OpenAI that serve the same models. */
const OPENAI_APIS = new Map<string, ModelName["api"]>([
  ["openai.chat", "chat"],
  ["openai.responses", "responses"],
]);

/**
 * Patterns of names that belong to one provider. Models with open weights (`gpt-oss`, `gemma`, `llama`) have many providers
 * and are not listed.
 */
const BARE_NAMES: [RegExp, string][] = [
  [/^(gpt-(?!oss)|chatgpt-|o[1-9](-|$)|codex-|ft:gpt-)/, "openai"],
  [/^claude-/, "anthropic"],
  [/^gemini-/, "google"],
];

/** Parses `provider:model` or a bare name. Throws `invalid`. */
export function parseModelName(name: string, providers: Readonly<Record<string, unknown>>): ModelName {
  if (!/^[^\s\p{C}]{1,200}$/u.test(name)) {
    throw new PurserError(
      "invalid",
      "Cannot use the model: its name must be 1 to 200 characters without blanks, as in openai:gpt-5-mini",
    );
  }
  const known = [...BUILT_IN_PROVIDERS, ...Object.keys(providers)];
  const colon = name.indexOf(":");
  const provider = name.slice(0, Math.max(0, colon));
  const modelId = name.slice(colon + 1);
  const api = OPENAI_APIS.get(provider);
  if (api !== undefined || known.includes(provider)) {
    if (modelId === "") throw refuse(name, `it names no model; write it as in ${provider}:MODEL`);
    return checkDemoModel(api === undefined ? { provider, modelId } : { provider: "openai", modelId, api });
  }
  const owner = BARE_NAMES.find(([pattern]) => pattern.test(name))?.[1];
  if (owner !== undefined) return { provider: owner, modelId: name };
  const providersText = `known providers are ${known.join(", ")}`;
  throw colon === -1
    ? refuse(name, `its provider is not clear; write it as PROVIDER:${name}; ${providersText}`)
    : refuse(name, `the provider ${provider || "before the colon"} is not known; ${providersText}`);
}

/** Checks the provider names of a library user; those of a config file have been checked already. */
export function checkProviderNames(providers: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(providers)) {
    if ((BUILT_IN_PROVIDERS as readonly string[]).includes(name)) {
      throw new PurserError(
        "invalid",
        `Cannot add the provider ${name}: it is built in; choose another name`,
      );
    }
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
      throw new PurserError(
        "invalid",
        `Cannot add the provider ${name}: a name takes letters, digits, _ and -`,
      );
    }
  }
}

function checkDemoModel(name: ModelName): ModelName {
  if (name.provider !== "demo" || (DEMO_MODELS as readonly string[]).includes(name.modelId)) return name;
  const models = DEMO_MODELS.map((model) => `demo:${model}`).join(", ");
  throw refuse(`demo:${name.modelId}`, `it does not exist; the demo models are ${models}`);
}

function refuse(name: string, reason: string): PurserError {
  return new PurserError("invalid", `Cannot use the model ${name}: ${reason}`);
}
