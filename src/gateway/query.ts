import type { Family, Target } from "./targets.ts";
import { cannotPass } from "./wires/requests.ts";

/**
 * The query parameters that pass, by method and path; `alt=sse` is one with its only value. They are those that the clients of
 * each API send: the SDKs openai 6.49.0, @anthropic-ai/sdk 1.14.0 and @google/genai 2.32.0, OpenRouter's list of models, and
 * Codex 0.171.0 (`client_version`), as of 2026-11-26. Every other one is refused: LiteLLM takes `?model=` before the model of the
 * body, Google's `userProject` names who pays, and its `fields` leaves the usage out.
 */
export const PASSED_PARAMETERS: Readonly<Record<Family, readonly (readonly [RegExp, readonly string[]])[]>> =
  {
    openai: [
      [/^GET models$/, ["after", "limit", "order", "client_version", "category", "supported_parameters"]],
      [/^GET responses\/[^/]+$/, ["include", "include_obfuscation", "starting_after", "stream"]],
      [/^GET responses\/[^/]+\/input_items$/, ["after", "before", "include", "limit", "order"]],
    ],
    anthropic: [
      [/^POST messages(\/count_tokens)?$/, ["beta=true", "beta=false"]],
      [/^GET models/, ["after_id", "before_id", "lifecycle", "limit", "beta=true", "beta=false"]],
    ],
    google: [
      [/^/, ["alt=json", "alt=sse", "$alt=json", "$alt=sse", "prettyPrint", "$prettyPrint"]],
      [/^GET models$/, ["pageSize", "pageToken", "page_size", "page_token"]],
    ],
  };

/** Values that every parser reads alike, and that are no key of Purser's. */
const VALUE = /^(?!.*psr_)[\w.,:~+/=-]{0,500}$/;

/**
 * Refuses a query parameter that isn't in the list: it might change the model, the price, the provider or the usage.
 *
 * @throws {PurserError} `invalid`, which names the parameter and those that pass
 */
export function checkQuery(method: string, { family, path }: Target, search: string): void {
  if (search === "") return;
  const request = `${method === "HEAD" ? "GET" : method} ${path}`;
  const passed = PASSED_PARAMETERS[family].flatMap(([pattern, names]) => pattern.test(request) ? names : []);
  for (const [given, value] of new URLSearchParams(search)) {
    const name = given.replace(/\[\d*\]$/, ""); // of a list: `include[]`
    const isKnown = passed.includes(name) || passed.includes(`${name}=${value}`);
    if (isKnown && VALUE.test(value)) continue;
    throw cannotPass(
      `with "${
        given.slice(0, 80)
      }" in its address, it might be one for another model or at another price, or its answer ` +
        `would have no usage; ${request.slice(0, 100)} takes ${passed.join(", ") || "no parameters"}`,
    );
  }
}
