/**
 * `deno task prices [--genai FILE|URL] [--litellm FILE|URL] [--genai-date DAY] [--litellm-date DAY]`: makes the bundled prices
 * anew, for each release. A file is read as it is published, or with a head that names its date and version.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { countSkipped, type ParsedPrices, parsePriceData } from "../src/pricing/catalog/parse_price_data.ts";
import type { PriceData } from "../src/pricing/catalog/price_data.ts";
import { refuseWrongUnits } from "../src/pricing/catalog/wrong_units.ts";
import { ROOT } from "./run_deno.ts";

const GENAI_URL = "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json";
const LITELLM_URL =
  "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";

const LICENSES = {
  "genai-prices": "MIT, Copyright (c) Pydantic Services Inc. 2025 to present",
  litellm: "MIT, Copyright (c) 2023 Berri AI",
};

const { values } = parseArgs({
  args: Deno.args,
  options: {
    genai: { type: "string", default: GENAI_URL },
    litellm: { type: "string", default: LITELLM_URL },
    "genai-date": { type: "string" },
    "litellm-date": { type: "string" },
  },
});
const folder = join(ROOT, "src", "pricing", "catalog", "data");
const genai = await read("genai-prices", values.genai, values["genai-date"]);
const litellm = await read("litellm", values.litellm, values["litellm-date"]);
await write(refuseWrongUnits(genai, [litellm.data]), join(folder, "genai_prices.json"));
await write(refuseWrongUnits(litellm, [genai.data]), join(folder, "litellm_prices.json"));

async function read(
  source: keyof typeof LICENSES,
  from: string,
  date: string | undefined,
): Promise<ParsedPrices> {
  const isUrl = /^https?:/.test(from);
  const text = isUrl ? await download(from) : await Deno.readTextFile(from);
  const origin = isUrl
    ? { date: date ?? new Date().toISOString().slice(0, 10), url: from, license: "MIT" }
    : date === undefined
    ? {}
    : { date };
  const parsed = parsePriceData(text, origin);
  if (parsed.data.source === source) return parsed;
  throw new Error(`Cannot take ${from} for ${source}: it is a file of ${parsed.data.source}`);
}

async function write({ data, skipped }: ParsedPrices, path: string): Promise<void> {
  const counts = countSkipped(skipped);
  const written = { ...data, license: LICENSES[data.source], skipped: { ...data.skipped, ...counts } };
  await Deno.writeTextFile(path, linesOf(written));
  console.log(`${path}: ${data.source}@${data.date}, ${sizeOf(data)} models`);
  for (const [reason, count] of Object.entries(counts)) console.log(`  left out ${count}: ${reason}`);
}

async function download(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`Cannot download ${url}: status ${response.status}`);
  return await response.text();
}

function sizeOf(data: PriceData): number {
  return data.source === "litellm"
    ? Object.keys(data.models).length
    : data.providers.reduce((sum, { models }) => sum + models.length, 0);
}

/** Writes one model a line, so that a refresh shows as a difference by model. */
function linesOf(data: PriceData): string {
  const { source, date, version, url, license, skipped } = data;
  const head = JSON.stringify({ source, date, version, url, license, skipped }).slice(0, -1);
  if (data.source === "litellm") {
    const models = Object.entries(data.models).map(([key, model]) =>
      `${JSON.stringify(key)}:${JSON.stringify(model)}`
    );
    return `${head},"models":{\n${models.join(",\n")}\n}}\n`;
  }
  const providers = data.providers.map(({ models, ...provider }) => {
    const lines = models.map((model) => JSON.stringify(model)).join(",\n");
    return `${JSON.stringify(provider).slice(0, -1)},"models":[\n${lines}\n]}`;
  });
  return `${head},"providers":[\n${providers.join(",\n")}\n]}\n`;
}
