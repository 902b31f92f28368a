import assert from "node:assert/strict";
import parse from "#dev/parse_prometheus.ts";
import type { TestPurser } from "./test_purser.ts";

/** The result of one scrape, read by an independent parser. */
export interface Scrape {
  types: Record<string, string>;
  help: Record<string, string>;
  /** The value of a series as text: `purser_alerts_total severity=warning`. */
  values: Record<string, string>;
  /** The histograms: each value is the process's own, so it is not among the others. */
  histograms: Record<string, { count: number; sum: number; buckets: Record<string, string> }>;
}

/** Scrapes a Purser and checks what any tool that reads the format relies on. */
export async function scrape(purser: TestPurser, query = ""): Promise<Scrape> {
  const response = await purser.fetch("GET", `/metrics${query}`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return readScrape(await response.text());
}

/** Reads the text format. */
export function readScrape(text: string): Scrape {
  const read: Scrape = { types: {}, help: {}, values: {}, histograms: {} };
  for (const { name, help, type, metrics } of parse(text)) {
    assert.ok(!(name in read.types), `${name} comes twice`);
    assert.equal(type === "COUNTER", name.endsWith("_total"), `${name} is a ${type}`);
    read.types[name] = type;
    read.help[name] = help;
    if (type === "HISTOGRAM") {
      readHistograms(text, name, read.histograms);
      continue;
    }
    for (const { value, labels = {} } of metrics) {
      const pairs = Object.entries(labels).map(([label, text]) => ` ${label}=${text}`).sort();
      const key = name + pairs.join("");
      assert.ok(!(key in read.values), `${key} comes twice`);
      read.values[key] = value;
    }
  }
  return read;
}

/** Reads the histograms of a name: the parser leaves out their labels. */
function readHistograms(text: string, name: string, into: Scrape["histograms"]): void {
  for (
    const [, part, labels = "", value] of text.matchAll(
      new RegExp(`^${name}_(bucket|sum|count)(?:\\{(.*)\\})? (\\S+)$`, "gm"),
    )
  ) {
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label!, text!] as const);
    const key = name +
      pairs.filter(([label]) => label !== "le").map(([label, text]) => ` ${label}=${text}`).join("");
    const read = into[key] ??= { count: NaN, sum: NaN, buckets: {} };
    if (part === "bucket") read.buckets[new Map(pairs).get("le")!] = value!;
    else read[part as "sum" | "count"] = Number(value);
  }
  for (const [key, { buckets, count }] of Object.entries(into)) {
    assert.equal(buckets["+Inf"], String(count), `${key} has all of its values below infinity`);
  }
}
