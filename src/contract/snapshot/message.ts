import { z } from "zod";
import { PRINTABLE } from "../limits.ts";

/**
 * The messages of a snapshot: the AI SDK's model messages, plus `id` and `created_at`. Known fields and parts are
 * validated; unknown ones are kept unchanged.
 */

/** A time in UTC (RFC 3339). */
export const UtcTime = z.string().regex(
  /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?(Z|\+00:00)$/,
  { error: "must be an ISO 8601 time in UTC, such as 2026-11-21T09:30:00.000Z", abort: true },
).refine(isRealTime, "isn't a time that exists").meta({ format: "date-time" });

/** JavaScript parses the 30th of February as the 2nd of March. */
function isRealTime(text: string): boolean {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return false;
  return Number(text.slice(8, 10)) <= 28 || new Date(ms).toISOString().slice(0, 10) === text.slice(0, 10);
}

const providerOptions = z.record(z.string(), z.looseObject({})).optional();
const mediaType = z.string().min(1);
/** Base64, a URL, an object of either, or a provider's reference. */
const media = z.union([z.string(), z.looseObject({})], { error: "must be a text or an object" });

const TextPart = z.looseObject({ type: z.literal("text"), text: z.string(), providerOptions }).meta({
  id: "TextPart",
});
const ImagePart = z.looseObject({
  type: z.literal("image"),
  image: media,
  mediaType: mediaType.optional(),
  providerOptions,
}).meta({ id: "ImagePart" });
const FilePart = z.looseObject({
  type: z.literal("file"),
  data: media,
  mediaType,
  filename: z.string().optional(),
  providerOptions,
}).meta({ id: "FilePart" });
const ReasoningPart = z.looseObject({ type: z.literal("reasoning"), text: z.string(), providerOptions }).meta(
  { id: "ReasoningPart" },
);
const ReasoningFilePart = z.looseObject({
  type: z.literal("reasoning-file"),
  data: media,
  mediaType,
  providerOptions,
}).meta({ id: "ReasoningFilePart" });
const ToolCallPart = z.looseObject({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.unknown(),
  providerExecuted: z.boolean().optional(),
  providerOptions,
}).meta({ id: "ToolCallPart" });
const ToolOutput = z.looseObject({ type: z.string().min(1), providerOptions });
const ToolResultPart = z.looseObject({
  type: z.literal("tool-result"),
  toolCallId: z.string(),
  toolName: z.string(),
  output: ToolOutput,
  providerOptions,
}).meta({ id: "ToolResultPart" });
const ToolApprovalRequest = z.looseObject({
  type: z.literal("tool-approval-request"),
  approvalId: z.string(),
  toolCallId: z.string(),
}).meta({ id: "ToolApprovalRequest" });
const ToolApprovalResponse = z.looseObject({
  type: z.literal("tool-approval-response"),
  approvalId: z.string(),
  approved: z.boolean(),
}).meta({ id: "ToolApprovalResponse" });

const KNOWN_PARTS = [
  "text",
  "image",
  "file",
  "reasoning",
  "reasoning-file",
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "tool-approval-response",
];

/** A part of a later version of the AI SDK, whose backups must still load. */
const UnknownPart = z.looseObject({
  type: z.string().min(1).refine(
    (type) => !KNOWN_PARTS.includes(type),
    { error: "isn't a part of a message of this role", abort: true },
  ).meta({ not: { enum: KNOWN_PARTS } }),
}).meta({ id: "UnknownPart" });

const partRule = { error: "must be a part of a message: an object with a type" };
const UserPart = z.union(
  [z.discriminatedUnion("type", [TextPart, ImagePart, FilePart]), UnknownPart],
  partRule,
);
const AssistantPart = z.union([
  z.discriminatedUnion("type", [
    TextPart,
    FilePart,
    ReasoningPart,
    ReasoningFilePart,
    ToolCallPart,
    ToolResultPart,
    ToolApprovalRequest,
  ]),
  UnknownPart,
], partRule);
const ToolPart = z.union(
  [z.discriminatedUnion("type", [ToolResultPart, ToolApprovalResponse]), UnknownPart],
  partRule,
);

const contentRule = { error: "must be a text or a list of parts" };
const common = {
  id: z.string().regex(
    new RegExp(`^${PRINTABLE}{1,256}$`, "u"),
    "must be 1 to 256 characters, none of them a control character",
  )
    .optional(),
  created_at: UtcTime.optional(),
  providerOptions,
};

export const SnapshotMessage = z.discriminatedUnion("role", [
  z.looseObject({
    ...common,
    role: z.literal("user"),
    content: z.union([z.string(), z.array(UserPart)], contentRule),
  }),
  z.looseObject({
    ...common,
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(AssistantPart)], contentRule),
  }),
  z.looseObject({ ...common, role: z.literal("tool"), content: z.array(ToolPart) }),
], { error: "must be a message: an object whose role is user, assistant or tool" });
export type SnapshotMessage = z.infer<typeof SnapshotMessage>;
