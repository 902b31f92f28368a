/**
 * Figures of the shape of a checkout, counted in the text of its production files: no code of it runs, so that an older
 * checkout is counted like this one. `build/figures.ts` prints them.
 */
const PRODUCTION = ["cli.ts", "main.ts", "src", "plugins"];

interface Source {
  path: string;
  text: string;
}

/** Counts the figures of the checkout in a folder. Each says how it is counted. */
export function shapeFigures(folder: string): Record<string, number> {
  const files = [...sourcesIn(folder, PRODUCTION)];
  return {
    "places that construct a call": constructors(files),
    "files that name `key_id` or `keyId`":
      files.filter(({ text }) => /\b(?:keyId|key_id)\b/.test(text)).length,
    "files that name the key as a dimension":
      files.filter(({ path, text }) =>
        !OTHER_KEYS.some((other) => other.test(path)) && KEY_AS_DIMENSION.test(text)
      ).length,
    "files that name the agent": files.filter(({ text }) => /\b(?:agentId|agent_id)\b/.test(text)).length,
    "types that decide what a caller sees": FORMS.filter((form) => files.some(form)).length,
    "production lines of src/ and plugins/": files.filter(({ path }) => /^(?:src|plugins)\//.test(path))
      .reduce((sum, { text }) => sum + text.split("\n").length - 1, 0),
  };
}

/** A value of the dimension, its name, or the dimension as a kind. */
const KEY_AS_DIMENSION = /\b(?:key_(?:id|name)|key(?:Id|Name)s?|readKeyNames)\b|(?:(?<!has)\(|=== )"key"/;

/** Files in which the key is no dimension of spending, by what it is in them. */
const OTHER_KEYS: readonly RegExp[] = [
  // A credential that is made, defined in a file, checked, shown, changed and revoked; and a column of the database.
  new RegExp(
    "^src/(?:keys|store|http/middleware|ui/(?:app|live|views/keys)|cli/(?:demo|commands/(?:keys|capture|apply))|" +
      "(?:contract|service)/definitions)/|/(?:(?:check_)?keys|web_sessions|own_view|definitions|kernel/ids)\\.ts$",
  ),
  // Who has imported, sent, measured, changed, raised or released something.
  new RegExp(
    "^src/(?:plans|ingest/otlp|service/audit|cli/commands/audit)/|" +
      "/(?:import(?:s|_files)|list_sources|(?:budget_)?(?:raises|releases)|contract/service|plan_(?:windows|meter)|" +
      "routes/plans|plans_card)\\.tsx?$",
  ),
  // The key of a provider that pays for calls, by the id that bills have of it.
  /^src\/cli\/commands\/upstreams\/|\/(?:ledger\/upstreams|costs\/upstreams|routes\/upstreams|cost_explain|reconcile_month|ledger_cells|open_month|bills\/key_names)\.tsx?$/,
];

/**
 * Literals of a `ModelCall`: a variable of that type with a literal, or a function that returns one as a literal. Rows of the
 * ledger that are read or adjusted, and copies of a call with other values, are not constructed anew.
 */
function constructors(files: readonly Source[]): number {
  return files.filter(({ path }) => !path.startsWith("src/ledger/")).flatMap(({ text }) => [
    ...text.matchAll(/: ModelCall = \{/g),
    ...[...text.matchAll(/\): ModelCall \{\n[^]*?\n\}/g)].filter(([body]) =>
      /return \{(?! \.\.\.)/.test(body)
    ),
  ]).length;
}

/** The types and parameters by which code decides what a caller may see. */
const FORMS: readonly ((source: Source) => boolean)[] = [
  // A caller of the gateway, of a run.
  ({ path, text }) =>
    path.startsWith("src/gateway/") && /interface Caller \{[^}]*\bagentId: string/.test(text),
  ({ path, text }) => path.startsWith("src/runner/") && /interface Caller \{[^}]*\bonlyAgentId\b/.test(text),
  ({ text }) => /interface BudgetReader\b/.test(text),
  // A refused call, and parameters of their own.
  ({ text }) => /interface Refused \{[^}]*\bonlyAgentId\b/.test(text),
  ({ text }) => /\bonlyAgentId\?: string[,;)]/.test(text),
  ({ text }) => /interface Viewer \{/.test(text),
];

/** The files of production: neither tests and their parts, nor what is built or data. */
function* sourcesIn(folder: string, paths: readonly string[]): Generator<Source> {
  for (const path of paths) {
    if (/\.tsx?$/.test(path)) {
      if (!/_test\.tsx?$|_bundle\.ts$/.test(path)) {
        yield { path, text: Deno.readTextFileSync(`${folder}/${path}`) };
      }
      continue;
    }
    if (/\.\w+$/.test(path)) continue;
    const names = [...Deno.readDirSync(`${folder}/${path}`)].map(({ name }) => `${path}/${name}`);
    yield* sourcesIn(folder, names.sort());
  }
}

/** The number of files that a recipe of docs/architecture.md says that it touches, by its heading. */
export function recipeFigures(folder: string): Record<string, string> {
  const document = Deno.readTextFileSync(`${folder}/docs/architecture.md`);
  const recipes = document.slice(document.indexOf("## Recipes"), document.indexOf("## How to"));
  return Object.fromEntries(
    [...recipes.matchAll(/^### (.+?): (.+)$/gm)].map(([, what, files]) => [`recipe: ${what}`, files!]),
  );
}
