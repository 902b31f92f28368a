/**
 * Writes the lists of docs/architecture.md from the code: `deno task map`. They stand between `<!-- list NAME -->` and
 * `<!-- end -->`; the rest of the document, its journeys and recipes, is written by hand. `tests/docs_test.ts` compares.
 */
import { fileURLToPath } from "node:url";
import { ConfigFile } from "../src/config/file/parse_config_file.ts";
import { SETTING_ROWS } from "../src/config/mod.ts";
import { LAYERS, WITHOUT_MOD } from "./layers.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENT = `${ROOT}docs/architecture.md`;

const LISTS: Record<string, () => string> = { folders, layers, routes, settings };

/** Returns the document with its lists as the code has them now. */
export function withLists(document: string): string {
  return document.replaceAll(
    /(<!-- list (\w+) -->\n)[^]*?(\n<!-- end -->)/g,
    (_, begin, name, end) => `${begin}\n${LISTS[name]!()}\n${end}`,
  );
}

/** The folders of `src/`, lowest layer first, with the subfolders that have an entry of their own. */
function folders(): string {
  const rows = LAYERS.flatMap((layer, index) =>
    Object.entries(layer).map(([folder, contents]) => {
      const others = subfolders(`src/${folder}`).map((path) => `\`${path.slice(`src/${folder}/`.length)}/\``);
      const entries = WITHOUT_MOD.includes(folder)
        ? "any file"
        : [`[mod.ts](../src/${folder}/mod.ts)`, ...others].join(", ");
      return [`${index + 1}`, `\`${folder}/\``, contents, entries];
    })
  );
  return table(["layer", "folder", "contents", "entries"], rows);
}

function subfolders(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(ROOT + folder)) {
    if (!isDirectory) continue;
    const path = `${folder}/${name}`;
    if ([...Deno.readDirSync(ROOT + path)].some((file) => file.name === "mod.ts")) found.push(path);
    found.push(...subfolders(path));
  }
  return found.sort();
}

/** The layers as a diagram: an arrow points from what is imported to what imports it. */
function layers(): string {
  const names = LAYERS.map((layer, index) => `l${index + 1}["${Object.keys(layer).join(" · ")}"]`);
  return [
    "```mermaid",
    "flowchart BT",
    ...names.slice(1).map((name, index) => `  ${index === 0 ? names[0] : `l${index + 1}`} --> ${name}`),
    `  l${names.length} --> entries["cli.ts · main.ts · src/mod.ts"]`,
    `  plugins["plugins/"] -. "registered by" .-> l${LAYERS.findIndex((layer) => "service" in layer) + 1}`,
    "```",
  ].join("\n");
}

/** The operations of the API by the file that defines them. */
function routes(): string {
  const folder = `${ROOT}src/http/routes`;
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => !/_test/.test(name))
    .sort();
  const rows = files.flatMap((file) => {
    const text = Deno.readTextFileSync(`${folder}/${file}`);
    const operations = [
      ...text.matchAll(
        /createRoute\(\{\n(?: {2}.*\n)*? {2}method: "(\w+)",\n(?: {2}.*\n)*? {2}path: (.*),$/gm,
      ),
    ]
      .map(([, method, path]) => {
        const constant = new RegExp(`const ${path} = (".*");`).exec(text)?.[1];
        return `\`${method!.toUpperCase()} ${(constant ?? path!).replaceAll('"', "")}\``;
      });
    return operations.length === 0 ? [] : [[`[${file}](../src/http/routes/${file})`, operations.join(", ")]];
  });
  return table(["defined in", "operations"], rows);
}

/** The keys of the config file, and the variables that `config/` reads. */
function settings(): string {
  const keys = Object.keys(ConfigFile.shape).filter((key) => key !== "$schema").sort();
  const variables = new Set(SETTING_ROWS.flatMap((row) => row.hasVariable ? [row.variable] : []));
  for (const text of filesOf("src/config")) {
    for (const [name] of text.matchAll(/\bPURSER_[A-Z_]+[A-Z]\b/g)) variables.add(name);
  }
  const listed = (names: Iterable<string>) => [...names].map((name) => `\`${name}\``).join(", ");
  return wrap(`Keys of the config file: ${listed(keys)}.`) + "\n\n" +
    wrap(`Variables of the environment: ${listed([...variables].sort())}.`);
}

function* filesOf(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(ROOT + folder)) {
    if (isDirectory) yield* filesOf(`${folder}/${name}`);
    else if (!/_test\.ts$/.test(name)) yield Deno.readTextFileSync(`${ROOT}${folder}/${name}`);
  }
}

/** A table as the formatter leaves it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length))
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** A paragraph in lines of at most 110 characters, as the formatter leaves it. */
function wrap(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && line.length + 1 + word.length > 110) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

if (import.meta.main) Deno.writeTextFileSync(DOCUMENT, withLists(Deno.readTextFileSync(DOCUMENT)));
