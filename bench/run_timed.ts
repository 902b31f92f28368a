/** A program that was run to its end. */
export interface TimedRun {
  seconds: number;
  /** The most memory that it held; undefined where the system has no /usr/bin/time. */
  megabytes: number | undefined;
  /** The time of processors that it took, which other work on the machine changes little. */
  cpuSeconds: number | undefined;
  out: string;
}

/** Runs a program to its end. Throws an error with what it says if it fails. */
export async function runTimed(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<TimedRun> {
  const hasTime = await Deno.stat("/usr/bin/time").then(() => true, () => false);
  const timed = hasTime ? ["/usr/bin/time", "-f", "peak %M cpu %U %S", program, ...args] : [program, ...args];
  const start = performance.now();
  const { success, stdout, stderr } = await new Deno.Command(timed[0]!, { args: timed.slice(1), env })
    .output();
  const seconds = (performance.now() - start) / 1_000;
  const [out, said] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  if (!success) throw new Error(`${program} ${args.join(" ")} has failed:\n${said}`);
  const [, peak, user, system] = /^peak (\d+) cpu ([\d.]+) ([\d.]+)$/m.exec(said) ?? [];
  return {
    seconds,
    megabytes: peak === undefined ? undefined : Number(peak) / 1_000,
    cpuSeconds: peak === undefined ? undefined : Number(user) + Number(system),
    out,
  };
}
