/**
 * `deno task prices:coverage [FILE] [--list]`: counts by provider how many models have a price: LiteLLM's chat and embedding
 * models of the providers that both sources know, and the models of genai-prices. FILE is LiteLLM's map as published, with the
 * models that the bundled one leaves out. `--list` prints the names as JSON, to try them on another version.
 */
import { parseArgs } from "node:util";
import { silentLog } from "../src/kernel/log.ts";
import { bundledPrices } from "../src/pricing/catalog/bundled_prices.ts";
import { litellmNamesOf, providerIdOfLitellm } from "../src/pricing/catalog/names/provider_names.ts";
import { createCatalog } from "../src/pricing/catalog.ts";

interface Name {
  source: "litellm" | "genai-prices";
  provider: string;
  model: string;
}

/** The needed fields of an entry of LiteLLM. */
interface Listed {
  litellm_provider?: string;
  mode?: string;
}

const { values, positionals: [file] } = parseArgs({
  args: Deno.args,
  options: { list: { type: "boolean", default: false } },
  allowPositionals: true,
});
const data = await bundledPrices();
const names = listNames();
if (values.list) console.log(JSON.stringify(names));
else printCoverage();

function listNames(): Name[] {
  const shared = new Set(data.genai.providers.map(({ id }) => id));
  const names = new Map<string, Name>();
  const add = (name: Name) => names.set(JSON.stringify(name), name);
  const map: Record<string, Listed> = file === undefined
    ? data.litellm.models
    : JSON.parse(Deno.readTextFileSync(file));
  for (const [key, { litellm_provider, mode = "chat" }] of Object.entries(map)) {
    const provider = providerIdOfLitellm(litellm_provider ?? "");
    if (!shared.has(provider) || !/^(chat|completion|responses|embedding)$/.test(mode)) continue;
    const prefix = litellmNamesOf(provider).find((one) => key.startsWith(`${one}/`));
    add({ source: "litellm", provider, model: prefix === undefined ? key : key.slice(prefix.length + 1) });
  }
  for (const { id, models } of data.genai.providers) {
    for (const model of models) add({ source: "genai-prices", provider: id, model: model.id });
  }
  return [...names.values()];
}

function printCoverage(): void {
  const catalog = createCatalog(data, silentLog);
  const counts = new Map<string, { models: number; priced: number }>();
  const count = (row: string, isPriced: boolean) => {
    const { models, priced } = counts.get(row) ?? { models: 0, priced: 0 };
    counts.set(row, { models: models + 1, priced: priced + Number(isPriced) });
  };
  for (const { source, provider, model } of names) {
    const isPriced = catalog.rates({ provider, model, at: Date.now() }) !== null;
    count(`${source} ${provider}`, isPriced);
    count(`${source} in all`, isPriced);
  }
  console.table(Object.fromEntries([...counts].sort(([a], [b]) => a < b ? -1 : 1)));
}
