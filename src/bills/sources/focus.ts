import { BILL_CATEGORIES, type BillCategory } from "../../contract/values.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type Answer, statedOf, timeOf } from "./answer.ts";
import { defineBillSource } from "./bill_source.ts";
import { readTable, type Row } from "./tables.ts";

const NEEDED = [
  "BilledCost",
  "BillingCurrency",
  "ChargeCategory",
  "ChargePeriodStart",
  "ChargePeriodEnd",
  "ServiceName",
];

/** Services with language models, where the category of a row doesn't say so: AWS bills models of the marketplace by their names. */
const OF_MODELS =
  /bedrock|vertex|gemini|openai|foundry|claude|anthropic|cognitive services|llama|mistral|\bnova\b/i;
const AI = "AI and Machine Learning";

/** The columns that are kept under `other`: the first of each that a row has. As of AWS, Azure and Google, 2026-11. */
const OTHER: Readonly<Record<string, readonly string[]>> = {
  provider: ["ServiceProviderName", "ProviderName", "PublisherName"],
  service: ["ServiceName"],
  meter: ["SkuMeter", "x_UsageType", "x_SkuMeterName", "x_SkuDescription", "ChargeDescription"],
  charge_class: ["ChargeClass"],
  principal: ["x_IamPrincipal", "x_CallerIdentity"],
  resource: ["ResourceId"],
  // Of the resource, which calls don't state.
  region: ["RegionId", "Region"],
  commitment: ["CommitmentDiscountId"],
  tags: ["Tags"],
};

/** The cost and usage files of clouds in the FOCUS format, versions 1.0 to 1.4, as CSV or Parquet. */
export default defineBillSource({
  name: "focus",
  title: "FOCUS files of AWS, Azure and Google Cloud",
  seen:
    "2026-07-18, FOCUS 1.4 data model of focus-data-toolkit 0.14.1; FOCUS 1.0r2 and 1.2 of the clouds, 2026-05",
  provider: null,
  delayMs: 2 * DAY_MS,
  finalAfterDays: 6,
  mapping: 1,
  holes: [
    "Hours or days by SKU, which has the model, tier and direction in its text",
    "Rows of services without models are counted and left out; so are taxes of the whole account",
  ],
  series: ["cost"],
  areRowsDistinct: true,
  readFile: (file) =>
    readTable(file, (columns) => {
      const missing = NEEDED.filter((name) => !columns.includes(name));
      if (missing.length > 0) {
        const fault = `it has no column ${missing.join(", ")}, as a FOCUS file has`;
        throw new PurserError("invalid", `Cannot import ${file.name}: ${fault}`);
      }
      return addRow;
    }),
});

const first = (row: Row, names: readonly string[]) =>
  names.map((name) => row[name]).find((text) => text !== undefined);

function addRow(answer: Answer, row: Row): string | undefined {
  const account = row.BillingAccountId;
  const service = `${row.ServiceName ?? ""} ${row.SkuId ?? ""} ${row.ChargeDescription ?? ""}`;
  if (row.ServiceCategory !== AI && !OF_MODELS.test(service)) {
    answer.count("rows of other services");
    return account;
  }
  const category = row.ChargeCategory!.toLowerCase() as BillCategory;
  const isKnown = BILL_CATEGORIES.includes(category);
  if (!isKnown) answer.count(`ChargeCategory ${row.ChargeCategory}`);
  const other = Object.entries(OTHER).map(([name, columns]) => [name, first(row, columns)?.slice(0, 1_000)]);
  answer.lines.push({
    series: "cost",
    category: isKnown ? category : "adjustment",
    startsAt: timeOf(zoned(row.ChargePeriodStart), "ChargePeriodStart"),
    endsAt: timeOf(zoned(row.ChargePeriodEnd), "ChargePeriodEnd"),
    sku: row.SkuPriceId ?? row.SkuId,
    project: row.SubAccountId,
    quantity: row.ConsumedQuantity ?? row.UsageQuantity ?? row.PricingQuantity,
    unit: row.ConsumedUnit ?? row.UsageUnit ?? row.PricingUnit,
    amount: row.BilledCost,
    listAmount: row.ListCost,
    currency: row.BillingCurrency?.toUpperCase(),
    other: statedOf(Object.fromEntries(other)),
  });
  return account;
}

/** BigQuery writes `2026-11-25 10:00:00 UTC`, Azure `2026-11-25T00:00Z`. */
const zoned = (text = "") => text.replace(/ UTC$/, "Z").replace(/^(\S+) (\d)/, "$1T$2");
