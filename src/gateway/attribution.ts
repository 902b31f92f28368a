import { checkTags, type Tags, withKeyTags } from "../contract/tags/tags.ts";
import { PurserError } from "../kernel/errors.ts";
import { nameAfter, toName, type Viewer } from "../ledger/mod.ts";
import { NAME_PATTERN, NAME_RULE } from "../kernel/ids.ts";

/** The caller of the gateway. */
export interface Caller {
  viewer: Viewer;
  /** The name of its API key; null without one, on this machine. */
  name: string | null;
  /** The models that the key may call; null for all. */
  models: readonly string[] | null;
  /** The tags that the key gives its calls; undefined for none. */
  tags?: Tags;
  /** True for a key whose calls are refused before they spend a plan's paid credits. */
  stopsBeforeCredits: boolean;
}

/** The agent, session, run and tags that a call is booked under. They are labels: none gives a right, and the key's tags are its administrator's. */
export interface Attribution {
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  tags: Tags;
}

/**
 * The headers that name a session, in the order in which they count: Purser's, Claude Code's, Codex's, and others'. As of
 * 2026-11-26, those of Claude Code 2.1.332 and Codex 0.171.0.
 */
export const SESSION_HEADERS = [
  "x-purser-session",
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-id",
];

/** The agent of calls without a key and without a header that names one. */
const NO_AGENT = "gateway";

/**
 * Reads the attribution of a call from its key and its headers. A session or run of a key of one agent is named after it.
 *
 * @throws {PurserError} `invalid` for an agent, run or tag that can't be one; `forbidden` for another agent than the key's
 */
export function readAttribution(
  headers: Pick<Headers, "get">,
  { viewer: { agentId: only }, name, tags }: Caller,
): Attribution {
  const wanted = headers.get("x-purser-agent");
  if (wanted !== null) checkName("x-purser-agent", wanted);
  if (only !== undefined && wanted !== null && wanted !== only) {
    throw new PurserError(
      "forbidden",
      `Cannot call as agent ${wanted}: this API key is for agent ${only} only`,
      {
        details: { agent_id: only },
      },
    );
  }
  const run = headers.get("x-purser-run");
  if (run !== null) checkName("x-purser-run", run);
  const session = SESSION_HEADERS.map((header) => headers.get(header)?.trim()).find(Boolean);
  const own = (id: string) => nameSession(id, { viewer: { agentId: only } });
  return {
    agentId: only ?? wanted ?? (name === null ? NO_AGENT : toName(name)),
    sessionId: session === undefined ? null : own(session),
    runId: run === null ? null : own(run),
    tags: withKeyTags(readTags(headers.get("x-purser-tags")), tags),
  };
}

/** Returns the id of a session or run that a caller names; that of a key of one agent is named after the agent. */
export const nameSession = (
  id: string,
  { viewer: { agentId } }: { viewer: Pick<Viewer, "agentId"> },
): string => agentId === undefined ? toName(id) : nameAfter(agentId, id);

function checkName(header: string, value: string): void {
  if (!NAME_PATTERN.test(value)) {
    throw new PurserError("invalid", `Cannot read the header ${header}: it has to be ${NAME_RULE}`);
  }
}

/** Reads `x-purser-tags`: a JSON object, or `customer=acme, team=search`. */
function readTags(text: string | null): Tags {
  if (text === null || text.trim() === "") return {};
  let tags: unknown;
  if (text.trim().startsWith("{")) {
    try {
      tags = JSON.parse(text);
    } catch {
      throw new PurserError("invalid", "Cannot read the header x-purser-tags: it is not JSON");
    }
  } else {
    const pairs = text.split(",").map((pair) => {
      const [key, ...value] = pair.split("=");
      if (value.length === 0) {
        throw new PurserError(
          "invalid",
          "Cannot read the header x-purser-tags: write it as customer=acme, team=search, or as a JSON object",
        );
      }
      return [key!.trim(), value.join("=").trim()];
    });
    tags = Object.fromEntries(pairs);
  }
  return checkTags(tags as Tags, "the header x-purser-tags");
}
