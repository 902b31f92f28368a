import type { Cause } from "../../../src/contract/bills/causes.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/clock.ts";
import {
  amountsOf,
  CENT,
  CLAUDE,
  costOf,
  COUNTS,
  dateOf,
  extraOf,
  type Form,
  groupsOf,
  iso,
  priceOf,
  shared,
  START,
  sumOf,
  usd,
} from "./form.ts";

/** The bills that come as files. */

export const FILE_FORMS: Readonly<Record<string, Form>> = {
  ...Object.fromEntries(
    ([
      ["AWS", "bedrock", HOUR_MS, 10, (at: number) => iso(at)],
      ["Microsoft", "azure", DAY_MS, 12, (at: number) => iso(at).replace(":00Z", "Z")],
      [
        "Google Cloud",
        "google-vertex",
        HOUR_MS,
        6,
        (at: number) => iso(at).replace("T", " ").replace("Z", " UTC"),
      ],
    ] as const).map(([name, provider, widthMs, decimals, time]) => [
      `the FOCUS file of ${name}`,
      {
        source: "focus",
        provider,
        models: CLAUDE,
        hasNoModels: true,
        onlyAmountsMs: widthMs,
        shares: [100n, 80n],
        extras: { credit: -7n * CENT, tax: 11n * CENT, commitment: 13n * CENT },
        file(bill) {
          const row = (at: number, category: string, list: bigint, amount: bigint, service = "AI") =>
            `123,${usd(amount, decimals)},${usd(list, decimals)},USD,${category},${time(at)},${
              time(at + widthMs)
            },${service},${
              service === "AI" ? "AI and Machine Learning" : "Compute"
            },${name},S,us-east-1,0.5,Units,999`;
          const extra = (category: string, cause: Cause) =>
            row(START, category, extraOf(bill, cause), extraOf(bill, cause));
          return {
            text: [
              "BillingAccountId,BilledCost,ListCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd," +
              "ServiceName,ServiceCategory,ProviderName,SkuId,RegionId,ConsumedQuantity,ConsumedUnit,SubAccountId",
              ...groupsOf(bill, bill.calls, widthMs, false).flatMap(({ at, own, more }) =>
                COUNTS.map((count) => {
                  const list = costOf(own, count) + (count === "output" ? more : 0n);
                  return row(at, "Usage", list, shared(list, bill));
                })
              ),
              extra("Credit", "credit"),
              extra("Tax", "tax"),
              extra("Purchase", "commitment"),
              row(START, "Usage", CENT, CENT, "Amazon EC2"),
              "",
            ].join("\n"),
          };
        },
      } satisfies Form,
    ]),
  ),
  "a console's table of dollars and cents": {
    source: "csv",
    provider: "mistral",
    models: ["mistral-large", "codestral"],
    onlyAmountsMs: DAY_MS,
    extras: { fee: 7n * CENT, minimum: 19n * CENT, fx: 17n * CENT },
    file: (bill) => ({
      columns: { starts_at: "Day", model: "Model", amount: "Cost (USD)", category: "Kind", sku: "What" },
      text: [
        "Day,Model,Cost (USD),Kind,What",
        ...groupsOf(bill, bill.calls, DAY_MS).map(({ at, model, own, more }) =>
          `${dateOf(at)},${model},${usd(priceOf(...own) + more, 2)},usage,`
        ),
        ...([["fee", "fee", "plan"], ["minimum", "purchase", "minimum spend"], [
          "fx",
          "fee",
          "FX charge",
        ]] as const)
          .map(([cause, kind, what]) => `${dateOf(START)},,${usd(extraOf(bill, cause), 2)},${kind},${what}`),
        "",
      ].join("\n"),
    }),
  },
  "a table of tokens by the hour": {
    source: "csv",
    provider: "mistral",
    models: ["mistral-large", "codestral"],
    shares: [100n, 80n],
    file: (bill) => ({
      text: [
        "starts_at,ends_at,model,part,quantity,list_amount,amount",
        ...groupsOf(bill, bill.calls, HOUR_MS).flatMap((one) =>
          amountsOf(one).map(([count, amount]) =>
            [
              ...[iso(one.at), iso(one.at + HOUR_MS), one.model],
              { input: "input_tokens", cacheRead: "cache_read_tokens", output: "output_tokens" }[count],
              ...[sumOf(one.own, count), usd(amount, 9), usd(shared(amount, bill), 9)],
            ].join(",")
          )
        ),
        "",
      ].join("\n"),
    }),
  },
};
