import { z } from "zod";
import type { ChannelPlugin } from "../../src/delivery/channels/mod.ts";

interface Property {
  type?: string;
  enum?: string[];
  description?: string;
  default?: unknown;
  items?: Property;
  additionalProperties?: Property;
  secret?: true | "url";
  fromFile?: true;
}

/** Renders the schema of a plugin's settings as a table for its README. */
export function writeSettingsTable(plugin: ChannelPlugin): string {
  const schema = z.toJSONSchema(plugin.settings, { io: "input", unrepresentable: "any" });
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Property>;
    required?: string[];
  };
  const rows = Object.entries(properties).map(([name, property]) =>
    `| \`${name}\` | ${describeType(property)} | ${describeMeaning(property, required.includes(name))} |`
  );
  if (rows.length === 0) return "It has no settings of its own.";
  return ["| setting | type | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function describeType(property: Property): string {
  const { type, enum: values, items, additionalProperties } = property;
  if (values) return values.map((value) => `\`${value}\``).join(", ");
  if (items) return `list of ${describeType(items)}s`;
  if (additionalProperties) return `${describeType(additionalProperties)}s by name`;
  return type ?? "any";
}

function describeMeaning(property: Property, isRequired: boolean): string {
  const { description, items, additionalProperties, fromFile } = property;
  const secret = property.secret ?? items?.secret ?? additionalProperties?.secret;
  const parts = [
    isRequired ? "Required" : "",
    description ?? "",
    property.default === undefined ? "" : `Default: \`${property.default}\``,
    secret === "url" ? "Secret but for its host" : secret ? "Secret" : "",
    secret || fromFile ? 'may be `{"file": "…"}`' : "",
  ];
  return parts.filter(Boolean).join(". ").replace("Secret. may", "Secret, may")
    .replace("host. may", "host, may").replace(/\. may/, "; may") + ".";
}
