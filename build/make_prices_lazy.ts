import { join } from "node:path";
import { findChunk } from "./find_chunk.ts";
import { ROOT } from "./run_deno.ts";

/** The files of bundled prices, with the list that takes up nearly all of each. */
const PRICE_FILES = { genai_prices: "providers", litellm_prices: "models" } as const;

/**
 * Writes the chunks of a bundle that have the prices of this release anew: in the same shape, but the entries of a provider or
 * of a model are parsed when they are first read, since a command prices few models. `names` are those of the bundle's files.
 */
export async function makePricesLazy(folder: string, names: readonly string[]): Promise<void> {
  for (const [data, list] of Object.entries(PRICE_FILES)) {
    const path = join(ROOT, `src/pricing/catalog/data/${data}.json`);
    const { [list]: entries, ...head } = JSON.parse(await Deno.readTextFile(path));
    const text = list === "providers" ? lazyProviders(entries) : lazyModels(entries);
    await Deno.writeTextFile(
      join(folder, findChunk(names, data)),
      `${text}export default {...${JSON.stringify(head)},${list}};\n`,
    );
  }
}

/** JSON has no raw tabs and line breaks, which separate the parts here. */
function lazyProviders(providers: readonly { models: unknown }[]): string {
  const lines = providers.map(({ models, ...rest }) => `${JSON.stringify(rest)}\t${JSON.stringify(models)}`);
  return `const providers=${literal(lines)}.split("\\n").map(line=>{
let models;const [rest,text]=line.split("\\t");
return Object.defineProperty(JSON.parse(rest),"models",{enumerable:true,get:()=>models??=JSON.parse(text)});
});
`;
}

function lazyModels(models: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(models).map(([name, model]) => {
    if (/[\t\n]/.test(name)) throw new Error(`Cannot write the price of ${JSON.stringify(name)}`);
    return `${name}\t${JSON.stringify(model)}`;
  });
  return `const models={};for(const line of ${literal(lines)}.split("\\n")){
let model;const at=line.indexOf("\\t");
Object.defineProperty(models,line.slice(0,at),{enumerable:true,get:()=>model??=JSON.parse(line.slice(at+1))});
}
`;
}

function literal(lines: readonly string[]): string {
  const text = lines.join("\n").replaceAll(/[\\`]|\$\{/g, "\\$&");
  return `\`${
    text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  }\``;
}
