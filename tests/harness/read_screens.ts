const FRAME = "\x1b[H";

/** Returns the screens that a viewer has drawn, each as its lines without blank ones. */
export function readScreens(out: string): string[] {
  const [, ...frames] = out.split(FRAME);
  return frames.map((frame) =>
    frame.split("\r\n")
      // deno-lint-ignore no-control-regex -- the colours and erasures of a terminal, and the switch of its screen
      .map((line) => line.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").trimEnd())
      .filter((line) => line !== "").join("\n")
  );
}
