import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path/posix";
import { LAYERS, WITHOUT_MOD } from "../build/layers.ts";
import { measure, readRecord } from "../build/sizes.ts";

/** The direction of imports and the access to the environment: the map in docs/architecture.md, as a test. */

const ROOT = normalize(new URL("..", import.meta.url).pathname);

/** The entries, which import anything and which no other file imports. */
const ENTRIES = new Set(["cli.ts", "main.ts", "src/mod.ts"]);

interface Import {
  from: string;
  to: string;
}

interface Access {
  file: string;
  what: string;
}

interface Source {
  path: string;
  text: string;
}

async function readSources(...places: string[]): Promise<Source[]> {
  const sources: Source[] = [];
  for (const place of places) {
    if (/\.tsx?$/.test(place)) {
      sources.push({ path: place, text: await Deno.readTextFile(ROOT + place) });
      continue;
    }
    const entries = await Array.fromAsync(Deno.readDir(ROOT + place)).catch(() => []);
    for (const entry of entries) {
      const path = `${place}/${entry.name}`;
      const isTest = /_test\.tsx?$|\/_\w+\.ts$|conformance\.ts$/.test(path);
      if (entry.isDirectory || (/\.tsx?$/.test(entry.name) && !isTest)) {
        sources.push(...await readSources(path));
      }
    }
  }
  return sources;
}

// deno-lint-ignore no-explicit-any -- a node of the syntax tree, of any type
type Node = any;

/** Deno's own linter, which `deno test` offers to plugins; its types are in the unstable library only. */
const { lint } = Deno as unknown as {
  lint: { runPlugin(plugin: object, path: string, text: string): unknown };
};

/** Reads the syntax tree of every file: its imports, dynamic ones and types too, and the globals it accesses. */
function scan(sources: readonly Source[]): { imports: Import[]; accesses: Access[] } {
  const imports: Import[] = [];
  const accesses: Access[] = [];
  for (const { path, text } of sources) {
    const add = (specifier: unknown) => {
      if (typeof specifier !== "string" || !specifier.startsWith(".")) return;
      imports.push({ from: path, to: join(dirname(path), specifier) });
    };
    const touch = (what: string) => accesses.push({ file: path, what });
    const visitor = {
      ImportDeclaration: (node: Node) => add(node.source.value),
      ExportNamedDeclaration: (node: Node) => add(node.source?.value),
      ExportAllDeclaration: (node: Node) => add(node.source.value),
      ImportExpression: (node: Node) => add(node.source.value),
      TSImportType: (node: Node) => add(node.argument?.literal?.value),
      MemberExpression({ object, property }: Node) {
        if (property.type !== "Identifier") return;
        if (object.type === "Identifier") touch(`${object.name}.${property.name}`);
        // `globalThis.Deno.env` is `Deno.env`; any file may test for `globalThis.Deno`.
        const isGlobal = object.type === "MemberExpression" && object.object.name === "globalThis";
        if (isGlobal && object.property.type === "Identifier") {
          touch(`${object.property.name}.${property.name}`);
        }
      },
      CallExpression({ callee }: Node) {
        if (callee.type === "Identifier") touch(`${callee.name}()`);
      },
      NewExpression({ callee, arguments: given }: Node) {
        if (callee.type === "Identifier" && given.length === 0) touch(`new ${callee.name}()`);
      },
    };
    lint.runPlugin({ name: "layers", rules: { scan: { create: () => visitor } } }, path, text);
  }
  return { imports, accesses };
}

/** A folder of `src`, `plugins`, or `entry`. */
function layerOf(path: string): string {
  if (ENTRIES.has(path)) return "entry";
  return path.startsWith("plugins/") ? "plugins" : path.split("/")[1]!;
}

const rankOf = (layer: string) => LAYERS.findIndex((layers) => layer in layers);

/** Returns the rule that an import breaks, or undefined. */
function faultOf({ from, to }: Import): string | undefined {
  const [mine, theirs] = [layerOf(from), layerOf(to)];
  if (theirs === "entry") return "an entry is imported by no file";
  if (mine === theirs) return undefined;
  if (!WITHOUT_MOD.includes(theirs) && !to.endsWith("/mod.ts")) {
    return "another folder is imported by a mod.ts";
  }
  if (mine === "entry") return undefined;
  if (mine === "plugins") return to === CHANNELS ? undefined : "plugins import the contract of channels only";
  if (theirs === "plugins") {
    return mine === "service" ? undefined : "only service/ and the entries import plugins";
  }
  if (rankOf(mine) === -1) return `${mine} is in no row of LAYERS`;
  return rankOf(theirs) < rankOf(mine) ? undefined : `${mine} may not import ${theirs}`;
}

const CHANNELS = "src/delivery/channels/mod.ts";

const sources = await readSources("cli.ts", "main.ts", "src", "plugins");
const { imports, accesses } = scan(sources);

Deno.test("imports point one way, from entry to kernel, and enter folders by mod.ts", () => {
  assert.ok(imports.length > 300, "the scan found the imports");
  const faults = imports.flatMap((one) => {
    const fault = faultOf(one);
    return fault ? [`${one.from} -> ${one.to}: ${fault}`] : [];
  });
  assert.deepEqual(faults, []);
});

Deno.test("every import names a file that exists, also those that are dynamic and not type-checked", async () => {
  const targets = [...new Set(imports.map(({ to }) => to))];
  const missing = await Promise.all(
    targets.map(async (to) => await Deno.stat(ROOT + to).then(() => [], () => [to])),
  );
  assert.deepEqual(missing.flat(), []);
});

Deno.test("the rules refuse the imports that they are meant to refuse", () => {
  const wrong: [string, string][] = [
    ["src/store/x.ts", "src/ledger/mod.ts"],
    ["src/store/x.ts", "src/config/mod.ts"],
    ["src/ledger/x.ts", "src/sessions/mod.ts"],
    ["src/runner/x.ts", "src/http/mod.ts"],
    ["src/runner/x.ts", "src/store/schema/tables.ts"],
    ["src/runner/x.ts", "src/service/mod.ts"],
    ["src/service/x.ts", "src/http/mod.ts"],
    ["src/http/x.ts", "src/mod.ts"],
    ["src/http/x.ts", "src/edge/mod.ts"],
    ["src/edge/x.ts", "src/cli/mod.ts"],
    ["src/kernel/money.ts", "src/contract/values.ts"],
    ["src/contract/x.ts", "src/store/mod.ts"],
    ["src/cli/x.ts", "src/config/file/parse_config_file.ts"],
    ["plugins/slack/mod.ts", "src/kernel/money.ts"],
    ["plugins/slack/mod.ts", "src/delivery/mod.ts"],
    ["src/alerts/x.ts", "plugins/mod.ts"],
    ["src/service/x.ts", "plugins/smtp/deliver.ts"],
    ["src/new_folder/x.ts", "src/kernel/money.ts"],
    ["main.ts", "cli.ts"],
  ];
  for (const [from, to] of wrong) assert.ok(faultOf({ from, to }), `${from} -> ${to}`);
  const right: [string, string][] = [
    ["src/pricing/x.ts", "src/contract/price_override.ts"],
    ["src/sessions/x.ts", "src/ledger/mod.ts"],
    ["src/http/routes/x.ts", "src/service/mod.ts"],
    ["src/http/routes/x.ts", "src/http/router.ts"],
    ["src/edge/x.ts", "src/client/mod.ts"],
    ["src/cli/commands/x.ts", "src/http/openapi/mod.ts"],
    ["plugins/slack/mod.ts", CHANNELS],
    ["src/service/x.ts", "plugins/mod.ts"],
    ["src/mod.ts", "src/client/mod.ts"],
    ["cli.ts", "src/cli/mod.ts"],
  ];
  for (const [from, to] of right) assert.equal(faultOf({ from, to }), undefined, `${from} -> ${to}`);
});

/** Globals that may be accessed in these files only. */
const RESERVED: { what: RegExp; by: RegExp; rule: string }[] = [
  {
    what: /^(Deno|process)\.env$/,
    by: /^src\/config\/environment\.ts$/,
    rule: "the environment is read in config/",
  },
  {
    // Node runs the library and the command line too: each of these but `main.ts` has an alternative for Node.
    what: /^Deno\.\w+$/,
    by:
      /^(main\.ts|src\/(config\/environment|kernel\/(files\/files|this_process)|cli\/terminal\/process_terminal)\.ts)$/,
    rule: "Deno is touched in a few places",
  },
  {
    what:
      /^(Date\.now|performance\.now|new Date\(\)|(set|clear)(Timeout|Interval)\(\)|AbortSignal\.timeout)$/,
    // A deadline on the network is measured by the machine's clock, also where a test's clock stands still.
    by:
      /^src\/(kernel\/clock|store\/(within|libsql\/libsql_client|postgres\/(connection_pool|postgres_connection))|client\/connect|ui\/hooks\/clock)\.ts$/,
    rule: "the clock is read in clock.ts",
  },
  {
    what: /^(Deno|process|deno)\.exit$/,
    by: /^(main|src\/kernel\/this_process)\.ts$/,
    rule: "entries set the exit code",
  },
  {
    what: /^thisProcess\(\)$/,
    by: /^(cli|src\/(cli\/terminal\/process_terminal|kernel\/this_process))\.ts$/,
    rule: "entries ask for the process",
  },
  {
    what: /^console\.\w+$/,
    by: /^((cli|main)\.ts|src\/cli\/.*)$/,
    rule: "messages go through the log",
  },
];

for (const { what, by, rule } of RESERVED) {
  Deno.test(`${rule}, and nowhere else`, () => {
    const faults = accesses.filter((access) => what.test(access.what) && !by.test(access.file));
    assert.deepEqual(faults.map(({ file, what }) => `${file}: ${what}`), []);
  });
}

/** Modules that only some platforms have are imported dynamically: at the edge, a static import would fail to load. */
const LAZY = /^node:(sqlite|fs|fs\/promises|os|http|https|test|child_process|worker_threads)$/;
const MAY_BE_STATIC =
  /^(src\/cli\/.*|src\/http\/server\/node_server\.ts|src\/store\/(sqlite\/database_threads|postgres\/postgres_connection)\.ts|src\/delivery\/channels\/http\/guarded_http\.ts)$/;

Deno.test("modules of files and servers are imported dynamically, except by modules that are themselves", () => {
  const early = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from "(node:[\w/]+)";/gm)]
      .filter(([, specifier]) => LAZY.test(specifier!) && !MAY_BE_STATIC.test(path))
      .map(([, specifier]) => `${path}: ${specifier}`)
  );
  assert.deepEqual(early, []);
});

Deno.test("no file and no folder has grown past its recorded size", () => {
  const recorded = readRecord();
  const grown = Object.entries(measure()).flatMap(([path, size]) => {
    const before = recorded[path];
    if (before !== undefined && size <= before) return [];
    const unit = path.endsWith("/") ? "files" : "lines";
    return [`${path} has ${size} ${unit}, ${before ?? "at most " + (unit === "files" ? 25 : 400)} until now`];
  });
  assert.ok(
    grown.length === 0,
    `${grown.join("\n")}
Divide it where it has two purposes; or record its size by \`deno task sizes\`, and say why in the commit`,
  );
});
