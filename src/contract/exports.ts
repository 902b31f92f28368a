import { z } from "@hono/zod-openapi";
import { Position } from "./parts.ts";

/** `time`: ISO 8601. `usd`: exact USD with at most nine decimals. `decimal`: an exact number with at most twelve. */
export const COLUMN_KINDS = ["text", "integer", "time", "usd", "decimal"] as const;

export const ExportColumn = z.object({ name: z.string(), kind: z.enum(COLUMN_KINDS) }).openapi(
  "ExportColumn",
);
export type ExportColumn = z.infer<typeof ExportColumn>;

const Cell = z.union([z.string(), z.number()]).nullable();
export type ExportCell = string | number | null;

const table = {
  ledger: z.string().nullable().openapi({
    description: "Tells the ledgers of databases apart; null while it is empty",
    example: "6f1d0c1be0a94d0e",
  }),
  columns: z.array(ExportColumn),
  rows: z.array(z.array(Cell)).openapi({
    description: "Cells in the order of `columns`; amounts and decimals are exact texts",
  }),
};

export const ExportedCalls = z.object({
  ...table,
  next_position: Position.openapi({ description: "The position to continue after" }),
  head_position: Position.openapi({ description: "The position of the newest entry of the ledger" }),
  after_call_id: z.string().nullable().openapi({
    description:
      "The id of the newest entry at or before `after`: another one than before means another ledger",
  }),
}).openapi("ExportedCalls");
export type ExportedCalls = z.infer<typeof ExportedCalls>;

export const ExportedCharges = z.object({
  ...table,
  next_cursor: z.string().nullable().openapi({ description: "Null on the last page" }),
}).openapi("ExportedCharges");
export type ExportedCharges = z.infer<typeof ExportedCharges>;
