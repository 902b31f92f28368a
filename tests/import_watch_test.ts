import assert from "node:assert/strict";
import { newPlace, type Place, start } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/** `purser import --watch` as a whole process, while agents write their logs. */

const CLAUDE = ".claude/projects/-home-dev-shop/0b1c.jsonl";
const PI = ".pi/agent/sessions/--home-dev-shop--/1.jsonl";

/** A record of Claude Code: of an answer that isn't whole without a reason for its stop. */
const claude = (id: string, output: number, stop_reason: string | null = "end_turn") =>
  JSON.stringify({
    type: "assistant",
    timestamp: "2026-11-26T11:36:20.861Z",
    sessionId: "0b1c",
    cwd: "/home/dev/shop",
    requestId: `req_${id}`,
    message: {
      id: `msg_${id}`,
      model: "claude-sonnet-5",
      stop_reason,
      usage: { input_tokens: 1_000, output_tokens: output },
    },
  }) + "\n";

const PI_HEADER = JSON.stringify({ type: "session", version: 3, id: "s1", cwd: "/home/dev/shop" }) + "\n";

/** A record of pi: it is final. */
const pi = (id: string, output: number) =>
  JSON.stringify({
    type: "message",
    id,
    timestamp: "2026-11-26T11:56:21.844Z",
    message: {
      role: "assistant",
      provider: "anthropic",
      model: "claude-sonnet-5",
      usage: { input: 100, output, cacheRead: 0, cacheWrite: 0 },
      stopReason: "stop",
      timestamp: Date.parse("2026-11-26T11:56:21.844Z"),
      responseId: `msg_${id}`,
    },
  }) + "\n";

/** A watch in a process of its own. */
interface Watch {
  /** Reads lines of its output until one matches. */
  until(pattern: RegExp): Promise<void>;
  /** Interrupts it, and returns its exit code. */
  end(): Promise<number>;
  kill(): Promise<void>;
}

function watch(place: Place): Watch {
  const child = start(place, ["import", "--watch", "--machine", "laptop"]);
  const said = new Response(child.stderr).text();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const close = async () => {
    await reader.cancel();
    await said;
    return (await child.status).code;
  };
  return {
    async until(pattern) {
      while (!pattern.test(text)) {
        const { done, value } = await reader.read();
        assert.ok(!done, `${pattern}: ${text}\n${done && await said}`);
        text += value;
      }
      text = text.replace(pattern, "");
    },
    end() {
      child.kill("SIGINT");
      return close();
    },
    async kill() {
      child.kill("SIGKILL");
      await close();
    },
  };
}

Deno.test("a watch books what is written, holds what may go on, and repeats nothing after a restart or a kill", async () => {
  await using place = await newPlace();
  const home = place.env.HOME = `${place.folder}/home`;
  const append = async (name: string, text: string) => {
    await Deno.mkdir(`${home}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${home}/${name}`, text, { append: true });
  };
  /** Lets a file look as if nothing had been written for two minutes. */
  const rest = (name: string) => Deno.utime(`${home}/${name}`, new Date(), new Date(Date.now() - 120_000));
  const total = async () => {
    const { out } = await purser(place, ["cost", "--total", "--since", "all", "--json"]);
    const { model_calls, output_tokens } = JSON.parse(out);
    return [model_calls, output_tokens];
  };
  await append(CLAUDE, claude("1", 10));
  await rest(CLAUDE);
  await append(PI, PI_HEADER);
  const first = watch(place);
  await first.until(/Claude Code: 1 call, \$/);
  // One that may go on, and after it one that is final: once that is booked, both were read.
  await append(CLAUDE, claude("2", 1, null));
  await append(PI, pi("a", 20));
  await first.until(/pi: 1 call, \$/);
  assert.deepEqual(await total(), [2, 30]);
  await append(CLAUDE, claude("2", 300));
  await rest(CLAUDE);
  await first.until(/Claude Code: 1 call, \$/);
  assert.deepEqual(await total(), [3, 330]);
  await append(CLAUDE, claude("3", 5, null));
  await append(PI, pi("b", 40));
  await first.until(/pi: 1 call, \$/);
  await first.kill();

  // What was held is in the state of the file.
  await append(CLAUDE, claude("3", 500));
  await rest(CLAUDE);
  const second = watch(place);
  await second.until(/Claude Code: 1 call, \$/);
  await append(PI, pi("c", 1_000));
  await second.until(/pi: 1 call, \$/);
  assert.deepEqual(await total(), [6, 1_870]);
  assert.equal(await second.end(), 130);
  const again = JSON.parse((await purser(place, ["import", "--machine", "laptop", "--json"])).out);
  assert.deepEqual(
    again.agents.map(({ booked, known }: Record<string, number>) => [booked, known]),
    [[0, 0], [0, 0]],
  );
});
