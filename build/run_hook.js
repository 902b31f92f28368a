/*
 * Runs the program of a hook in a bundle: a script, since a runtime keeps of a module the code that it compiles at its start alone,
 * and compiles 2,000 functions anew for each hook. Here, the code of all functions that a run has called is kept for the next one, in a
 * folder of the user: others could plant theirs in a common one.
 */
import { Script } from "node:vm";

/** The files and the version of the engine. In Deno, `node:fs` and `process` would load the shims for Node. */
async function openRuntime() {
  const { Deno, process } = globalThis;
  if (Deno) {
    return {
      kind: "deno",
      engine: Deno.version.v8,
      pid: Deno.pid,
      read: Deno.readFileSync,
      readText: Deno.readTextFileSync,
      write: Deno.writeFileSync,
      mkdir: Deno.mkdirSync,
      rename: Deno.renameSync,
      remove: Deno.removeSync,
      list: (folder) => [...Deno.readDirSync(folder)].map(({ name }) => name),
    };
  }
  const fs = await import("node:fs");
  return {
    kind: "node",
    engine: process.versions.v8,
    pid: process.pid,
    read: fs.readFileSync,
    readText: (path) => fs.readFileSync(path, "latin1"),
    write: fs.writeFileSync,
    mkdir: fs.mkdirSync,
    rename: fs.renameSync,
    remove: fs.rmSync,
    list: fs.readdirSync,
  };
}

/** Runs the program in a file beside this one, whose text begins with its digest in a comment. Returns what it returns. */
export async function runHook(name, args, env) {
  const runtime = await openRuntime();
  const path = new URL(`./${name}.js`, import.meta.url);
  const text = runtime.readText(path);
  const home = env.HOME || env.USERPROFILE;
  const caches = env.XDG_CACHE_HOME || home && `${home}/.cache`;
  const folder = `${caches}/purser/hooks`;
  const kind = `${name}-${runtime.kind}-`;
  const file = `${kind}${runtime.engine}-${/\w+/.exec(text)[0]}`;
  const cachedData = caches ? readIfAny(runtime, `${folder}/${file}`) : undefined;
  const script = new Script(text, { filename: path.href, cachedData });
  const runAtOnce = await script.runInThisContext()((specifier) => import(specifier));
  const code = await runAtOnce(args, env);
  if (code !== undefined && caches && (cachedData === undefined || script.cachedDataRejected)) {
    try {
      runtime.mkdir(folder, { recursive: true, mode: 0o700 });
      const temporary = `${folder}/${file}.${runtime.pid}`;
      runtime.write(temporary, script.createCachedData(), { mode: 0o600 });
      runtime.rename(temporary, `${folder}/${file}`);
      for (const other of runtime.list(folder)) {
        if (other.startsWith(kind) && other !== file) runtime.remove(`${folder}/${other}`);
      }
    } catch {
      // The next hook compiles it again.
    }
  }
  return code;
}

function readIfAny({ read }, path) {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}
