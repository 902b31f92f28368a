import { dirname, join } from "node:path";
import { ROOT } from "../../build/run_deno.ts";
import { said } from "./node.ts";
import { sharedBuild } from "./shared_build.ts";

/** An instruction of a container file, with continued lines joined. */
export interface Instruction {
  name: string;
  rest: string;
}

/** Returns the instructions of the repository's container file. */
export async function readDockerfile(): Promise<Instruction[]> {
  const text = await Deno.readTextFile(join(ROOT, "Dockerfile"));
  return text.replaceAll(/\\\n\s*/g, "").split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      if (!name) throw new Error(`Cannot read the Dockerfile: ${line} is no instruction`);
      return { name, rest: rest! };
    });
}

/** Puts the container's folders that a text names below another folder. */
export const below = (folder: string, text: string): string =>
  text.replaceAll(/(^|[\s"'=])\/(?=(opt|data|etc|src|made)\b)/g, `$1${folder}/`);

/**
 * Returns the folder that the container file's first stage makes, `/made`. Its commands run once for all tests, which use the
 * bundle in it: they see only the files that they copy.
 */
export async function findContainerBuild(): Promise<string> {
  return join(await sharedBuild("container", runBuildStage), "made");
}

async function runBuildStage(folder: string): Promise<void> {
  const instructions = await readDockerfile();
  const [start, end] = [0, 1].map((stage) =>
    instructions.flatMap(({ name }, index) => name === "FROM" ? [index] : [])[stage]!
  );
  const src = join(folder, "src");
  await Deno.mkdir(src);
  for (const { name, rest } of instructions.slice(start, end)) {
    if (name === "COPY") {
      const [to, ...from] = rest.split(" ").reverse();
      const target = join(src, to!);
      await Deno.mkdir(to!.endsWith("/") ? target : dirname(target), { recursive: true });
      await said("cp", ["-a", ...from.map((path) => join(ROOT, path)), target]);
    } else if (name === "RUN") {
      const path = `PATH="${dirname(Deno.execPath())}:$PATH"`;
      await said("sh", ["-c", `${path} && ${below(folder, rest)}`], src);
    }
  }
  await Deno.remove(src, { recursive: true });
}
