import { join } from "node:path";
import { ROOT } from "../../build/run_deno.ts";
import { said } from "./node.ts";
import { isThorough } from "./thorough.ts";

/** The reason why the programs of compose.yaml aren't started here, or undefined if they are. */
export const composeMissing: string | undefined = !isThorough
  ? "PURSER_THOROUGH is not set"
  : Deno.build.os !== "linux" || Deno.uid() !== 0
  ? "only root makes a network of its own"
  : await missingProgram();

async function missingProgram(): Promise<string | undefined> {
  for (
    const [name, version] of [["caddy", "version"], ["prometheus", "--version"], ["nsenter", "--version"]]
  ) {
    if (!await said(name!, [version!]).then(() => true, () => false)) return `${name} is not installed`;
  }
  return undefined;
}

/** The network and the mounts of compose.yaml, without containers: its names, addresses, ports and secrets. */
export interface ComposeNetwork extends AsyncDisposable {
  /** Runs a program in it to its end; rejects with what it says if it fails. */
  run(program: string, ...args: string[]): Promise<string>;
  /** Starts a program in it, which ends with the network. */
  start(env: Record<string, string>, program: string, ...args: string[]): void;
}

/** Opens it, with a file as the secret of Prometheus; `folder` has what the programs write. */
export async function openComposeNetwork(folder: string): Promise<ComposeNetwork> {
  const compose = await Deno.readTextFile(join(ROOT, "compose.yaml"));
  const [network] = /(?<=subnet: )[\d.]+(?=\.0\/24)/.exec(compose)!;
  await Deno.writeTextFile(join(folder, "hosts"), `127.0.0.1 localhost\n${network}.2 purser\n`);
  await Deno.mkdir(join(folder, "secrets"));
  // `/run` is empty in it: mounting needs a folder, and the machine's own is not written to.
  const setUp = [
    "ip link set lo up",
    `ip addr add ${network}.2/24 dev lo`,
    `mount --bind ${folder}/hosts /etc/hosts`,
    "mount -t tmpfs tmpfs /run",
    "mkdir /run/secrets",
    `mount --bind ${folder}/secrets /run/secrets`,
    "echo ready",
    "exec cat",
  ];
  const holder = new Deno.Command("unshare", {
    args: ["--mount", "--net", "sh", "-ec", setUp.join("\n")],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const { value } = await holder.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  if (value !== "ready\n") throw new Error("Cannot make the network of compose.yaml");
  const inside = ["--target", String(holder.pid), "--mount", "--net", "--"];
  const children: Deno.ChildProcess[] = [];
  return {
    run: (program, ...args) => said("nsenter", [...inside, program, ...args]),
    start(env, program, ...args) {
      const log = { stdin: "null", stdout: "null", stderr: "null" } as const;
      children.push(
        new Deno.Command("nsenter", { args: [...inside, program, ...args], cwd: folder, env, ...log })
          .spawn(),
      );
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(children.map((child) => child.status));
      await holder.stdin.close();
      await holder.status;
    },
  };
}
