/** `deno task compile [--target PLATFORM]… [--output FOLDER] [--repository URL]`: the CLI as one binary. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { embedCli, type Embedding, hostTarget, type Target, TARGETS } from "./embed_cli.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    target: { type: "string", multiple: true },
    output: { type: "string", default: "dist" },
    repository: { type: "string" },
  },
});
const targets = (values.target ?? [hostTarget()]).map((name): Target => {
  const target = TARGETS.find((each) => each === name);
  if (target) return target;
  console.error(`Cannot compile for ${name}: Deno makes binaries for ${TARGETS.join(", ")}`);
  Deno.exit(2);
});

const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

async function report({ target, binary, reason, files, totalBytes }: Embedding): Promise<void> {
  if (binary !== undefined) {
    if (target === hostTarget()) await tryBinary(binary);
    const { size } = await Deno.stat(binary);
    console.log(
      `Compiled ${binary} for ${target}: ${megabytes(size)}, of which Purser is ${megabytes(totalBytes)}`,
    );
    return;
  }
  console.log(
    `NOT compiled for ${target}: Deno's base binary is not available (${reason ?? "no reason was given"})`,
  );
  console.log(`The binary would contain beside it, ${megabytes(totalBytes)}:`);
  for (const { path, bytes } of files) console.log(`  ${megabytes(bytes).padStart(8)}  ${path}`);
  console.log(
    "Run this again with access to dl.deno.land, or name a denort of this version in DENORT_BIN",
  );
}

/** An invalid base binary in DENORT_BIN compiles as well as a real one. */
async function tryBinary(binary: string): Promise<void> {
  const { success, stdout } = await new Deno.Command(binary, { args: ["--version"], stderr: "inherit" })
    .output();
  if (success && new TextDecoder().decode(stdout).startsWith("purser ")) return;
  console.error(`Cannot use ${binary}: it compiled, but does not run`);
  Deno.exit(1);
}

const folder = resolve(values.output);
const embeddings: Embedding[] = [];
for (const target of targets) {
  const embedding = await embedCli(target, folder, { repository: values.repository });
  await report(embedding);
  embeddings.push(embedding);
}
Deno.exit(embeddings.every(({ binary }) => binary !== undefined) ? 0 : 1);
