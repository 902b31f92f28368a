import { findOwnAddress, providersWithKeys, withNames } from "../../config/mod.ts";
import { listModels } from "../../gateway/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { WholeCore } from "../core.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";

/** The time in which a provider has to answer. */
const TIMEOUT_MS = 5_000;

/** Returns the providers that can be called: built-in ones with a key, and those of the config. */
export function providersToCheck(
  { providerSources: { env, providers } }: Pick<WholeCore, "providerSources">,
) {
  return [...providersWithKeys(env), ...Object.keys(providers)];
}

type ProviderContext = Pick<WholeCore, "clock" | "providerSources" | "gateway" | "listenAddress" | "secrets">;

/** Checks that a provider is another server, that it can be reached, and that it accepts its key. */
export async function checkProvider(core: ProviderContext, provider: string): Promise<Finding> {
  const own = core.listenAddress && findOwnAddress(await withNames(core.listenAddress), core.providerSources);
  if (own?.provider === provider) {
    return failed(
      `${own.setting} is the address of this server: each call would call itself`,
      own.remedy.charAt(0).toUpperCase() + own.remedy.slice(1),
    );
  }
  const [over, answered] = [new AbortController(), new AbortController()];
  void core.clock.sleep(TIMEOUT_MS, answered.signal).then(() => over.abort());
  try {
    return describe(provider, await listModels(core, provider, over.signal));
  } catch (error) {
    if (error instanceof PurserError && error.code === "invalid") return failed(error.message, RESTART);
    const reason = over.signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : messageOf(error);
    return warning(
      `it can't be reached: ${core.secrets.scrub(reason)}`,
      "Check its base URL, and the network of the machine",
    );
  } finally {
    answered.abort();
  }
}

const RESTART = "Correct its key or its base URL in the settings of Purser, and restart it";

function describe(
  provider: string,
  { host, status, hasKey, isKeyRefused }: Awaited<ReturnType<typeof listModels>>,
): Finding {
  if (isKeyRefused) return failed(`${host} refuses its key (status ${status})`, RESTART);
  if (status < 300) return ok(`${host} answers${hasKey ? ", and accepts its key" : ""}`);
  // Many OpenAI-compatible servers have no list of models.
  const hasList = ["openai", "anthropic", "google"].includes(provider);
  if (!hasList && status < 500) return ok(`${host} answers`);
  return warning(
    `${host} answers a request for its models with status ${status}`,
    status === 404 ? "Check the path of its base URL, which ends with the version" : "Try again later",
  );
}
