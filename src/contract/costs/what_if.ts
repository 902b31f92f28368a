import { z } from "@hono/zod-openapi";
import { CostRow } from "../costs.ts";
import { CostUsd } from "../parts.ts";

/** The wire schema of the comparison with another model. */

export const WhatIf = z.object({
  model: z.string().openapi({ description: "The other model", example: "openai:gpt-6-luna" }),
  price_source: z.string().openapi({ description: "Source of its rates, and their date" }),
  rows: z.array(
    z.object({
      ...CostRow.shape,
      what_if_cost_usd: CostUsd.openapi({
        description:
          "USD that the same tokens would cost on the other model; null where it has no output price",
      }),
    }).openapi("WhatIfRow"),
  ).openapi({ description: "As in `GET /costs`" }),
  notes: z.array(z.string()).openapi({ description: "What the comparison can't know, in sentences" }),
}).openapi("WhatIf");
export type WhatIf = z.infer<typeof WhatIf>;
