/** The log files of Claude Code that `bench import` reads: sessions of several projects, with sub-agents, in the form of 2.1.332. */

/** The files that were written. */
export interface WrittenLogs {
  files: number;
  bytes: number;
  calls: number;
}

/** The calls of a session, and the sub-agents that make a part of them. */
const CALLS_OF_SESSION = 130;
const PROJECTS = ["shop", "billing", "website", "infrastructure", "notes"];
const MODELS = ["claude-sonnet-5", "claude-haiku-5-5", "claude-opus-5"];
/** The bytes around each call, on average: those of prompts, tool results and attachments. */
const BYTES_OF_CALL = 6_500;

/** Writes logs of `calls` calls below `home`, over 30 days before `until`, in milliseconds. The same each time. */
export async function writeClaudeLogs(home: string, calls: number, until: number): Promise<WrittenLogs> {
  const random = createRandom(1);
  const written: WrittenLogs = { files: 0, bytes: 0, calls: 0 };
  for (let session = 0; written.calls < calls; session++) {
    const count = Math.min(CALLS_OF_SESSION, calls - written.calls);
    const project = PROJECTS[session % PROJECTS.length]!;
    const cwd = `/home/dev/${project}`;
    const sessionId = uuid(random);
    const folder = `${home}/.claude/projects/${cwd.replaceAll("/", "-")}`;
    const startsAt = until - 30 * 86_400_000 + Math.floor(random() * 29 * 86_400_000);
    const own = Math.ceil(count * 0.7);
    const parts: [path: string, count: number, agentId?: string][] = [[`${folder}/${sessionId}.jsonl`, own]];
    if (count > own) {
      const agentId = hex(random, 17);
      parts.push([`${folder}/${sessionId}/subagents/agent-${agentId}.jsonl`, count - own, agentId]);
    }
    for (const [path, count, agentId] of parts) {
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      const text = sessionText(random, {
        cwd,
        sessionId,
        agentId,
        startsAt,
        count,
        branch: `b${session % 7}`,
      });
      await Deno.writeTextFile(path, text);
      const endedAt = new Date(startsAt + count * 20_000);
      await Deno.utime(path, endedAt, endedAt);
      written.files++;
      written.bytes += text.length;
      written.calls += count;
    }
  }
  return written;
}

interface Session {
  cwd: string;
  sessionId: string;
  agentId: string | undefined;
  startsAt: number;
  count: number;
  branch: string;
}

/** Returns the text of a file: for each call a record of the user, and one of the answer for each block of its content. */
function sessionText(random: () => number, session: Session): string {
  const { cwd, sessionId, agentId, startsAt, count, branch } = session;
  const lines: string[] = [];
  let parentUuid: string | null = null;
  const add = (at: number, record: object) => {
    const uuidOfLine = uuid(random);
    lines.push(JSON.stringify({
      parentUuid,
      isSidechain: agentId !== undefined,
      ...(agentId && { agentId }),
      ...record,
      uuid: uuidOfLine,
      timestamp: new Date(at).toISOString(),
      userType: "external",
      entrypoint: "cli",
      cwd,
      sessionId,
      version: "2.1.332",
      gitBranch: branch,
    }));
    parentUuid = uuidOfLine;
  };
  for (let call = 0; call < count; call++) {
    const at = startsAt + call * 20_000;
    const text = filler(random, Math.floor(BYTES_OF_CALL * (0.2 + random() * 0.8)));
    add(at, {
      type: "user",
      message: {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${hex(random, 20)}`, content: text }],
      },
      toolUseResult: { stdout: text.slice(0, 200), stderr: "", interrupted: false },
    });
    const output = 20 + Math.floor(random() * 900);
    const write5m = Math.floor(random() * 3_000);
    const message = {
      id: `msg_01${hex(random, 22)}`,
      type: "message",
      role: "assistant",
      model: MODELS[Math.floor(random() * MODELS.length)],
      stop_reason: "tool_use",
      usage: {
        input_tokens: 3 + Math.floor(random() * 50),
        cache_creation_input_tokens: write5m,
        cache_read_input_tokens: 20_000 + call * 700,
        cache_creation: { ephemeral_5m_input_tokens: write5m, ephemeral_1h_input_tokens: 0 },
        output_tokens: output,
        service_tier: "standard",
        speed: "standard",
      },
    };
    const requestId = `req_01${hex(random, 22)}`;
    const blocks = [
      { type: "text", text: filler(random, 600) },
      {
        type: "tool_use",
        id: `toolu_${hex(random, 20)}`,
        name: "Bash",
        input: { command: filler(random, 200) },
      },
    ];
    for (const block of blocks) {
      add(at + 4_000, { type: "assistant", requestId, message: { ...message, content: [block] } });
    }
  }
  return lines.join("\n") + "\n";
}

const WORDS =
  'function return const value = await list(items) => null; // the result of a call {"a": [1, 2]} \n\t'.split(
    " ",
  );

function filler(random: () => number, length: number): string {
  const parts: string[] = [];
  for (let size = 0; size < length;) {
    const word = WORDS[Math.floor(random() * WORDS.length)]!;
    parts.push(word);
    size += word.length + 1;
  }
  return parts.join(" ");
}

function hex(random: () => number, length: number): string {
  let text = "";
  while (text.length < length) text += Math.floor(random() * 2 ** 32).toString(16).padStart(8, "0");
  return text.slice(0, length);
}

const uuid = (random: () => number) => hex(random, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/** A small generator of numbers in [0, 1), the same for each seed (mulberry32). */
function createRandom(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
