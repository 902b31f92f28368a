import { join } from "node:path";
import { bundleCli } from "./bundle_cli.ts";
import { CLI_PERMISSIONS } from "./permissions.ts";
import { ROOT, runDeno } from "./run_deno.ts";

/** The platforms for which Deno makes binaries. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;
export type Target = typeof TARGETS[number];

/** The result for one binary. */
export interface Embedding {
  target: Target;
  /** The path of the binary; undefined if Deno's base binary was not available, so that only the list was made. */
  binary?: string;
  /** The reason why there is no binary. */
  reason?: string;
  /** The embedded files as Deno lists them: a path, and its size in bytes. */
  files: { path: string; bytes: number }[];
  /** All of it together, in bytes. */
  totalBytes: number;
  /** The folder of the bundle, and the names of its files. */
  bundle: { folder: string; names: string[] };
}

/** The platform of this process. */
export function hostTarget(): Target {
  const { target } = Deno.build;
  const found = TARGETS.find((each) => each === target);
  if (found === undefined) {
    throw new Error(`Cannot compile for ${target}: Deno makes binaries for ${TARGETS.join(", ")}`);
  }
  return found;
}

/** No server listens on port 1. */
const NO_PROXY_THERE = "http://127.0.0.1:1";

/**
 * Compiles the CLI to one binary in a folder. If Deno's base binary can't be downloaded, Deno still lists the files that
 * it would embed, and only the list is returned. With `isOffline`, the base binary is taken from Deno's cache or not at all. With its
 * `repository`, the binary hints at newer releases.
 */
export async function embedCli(
  target: Target,
  folder: string,
  { isOffline = false, repository }: { isOffline?: boolean; repository?: string } = {},
): Promise<Embedding> {
  const bundleFolder = join(folder, "bundle");
  const names = await bundleCli(bundleFolder, {
    release: repository === undefined ? undefined : { kind: "binary", repository },
  });
  const binary = join(folder, target === hostTarget() ? "purser" : `purser-${target}`) +
    (target.includes("windows") ? ".exe" : "");
  const compile = async (env?: Record<string, string>) =>
    await runDeno([
      ...[
        "compile",
        ...CLI_PERMISSIONS,
        "--no-check",
        "--exclude-unused-npm",
        "--config",
        join(ROOT, "deno.json"),
      ],
      ...["--target", target, "--output", binary, join(bundleFolder, "cli.js")],
    ], { env, mayFail: true });

  const real = await compile(isOffline ? { HTTPS_PROXY: NO_PROXY_THERE } : undefined);
  if (real.success) {
    return { target, binary, ...readList(real.said), bundle: { folder: bundleFolder, names } };
  }
  if (!/denort|dl\.deno\.land/i.test(real.said)) throw new Error(`Cannot compile: ${real.said.trim()}`);
  const reason = /dns error|timed out|refused|status code \d+|\d{3} \w+/i.exec(real.said)?.[0];
  // Any executable of that platform stands in for the base binary: the output does not run, and is removed.
  const listed = await compile({ DENORT_BIN: Deno.execPath() });
  await Deno.remove(binary).catch(() => {});
  return { target, reason, ...readList(listed.said), bundle: { folder: bundleFolder, names } };
}

const UNITS: Record<string, number> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** Reads the tree under "Embedded Files". */
export function readList(said: string): Pick<Embedding, "files" | "totalBytes"> {
  const files: Embedding["files"] = [];
  const folders: string[] = [];
  let totalBytes = 0;
  for (const line of said.split("\n")) {
    const total = /^Files: ([\d.]+)([KMG]?B)/.exec(line);
    if (total) totalBytes = toBytes(total[1]!, total[2]!);
    const entry = /^([│├└─┬ ]*[├└]─[┬─] )(.+?)(?: \(([\d.]+)([KMG]?B)[^)]*\))?$/.exec(line);
    if (!entry) continue;
    const depth = entry[1]!.length / 2;
    folders.length = Math.max(0, Math.ceil(depth) - 2);
    folders.push(entry[2]!);
    const bytes = entry[3] ? toBytes(entry[3], entry[4]!) : 0;
    // An empty folder marks the location of the config.
    if (!entry[1]!.includes("┬") && bytes > 0) files.push({ path: folders.join("/"), bytes });
  }
  if (totalBytes === 0) throw new Error(`Cannot read what would be embedded: ${said.trim()}`);
  return { files, totalBytes };
}

function toBytes(number: string, unit: string): number {
  return Math.round(Number(number) * UNITS[unit]!);
}
