import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "#dev/ajv.ts";
import { SNAPSHOT_JSON_SCHEMA, SNAPSHOT_SCHEMA_PATH } from "../../src/contract/snapshot/json_schema.ts";
import { type OpenApiDocument, resolve, type Schema } from "./openapi_document.ts";

/** Fails if a value does not fit a schema of the document; `where` begins the message. */
export type SchemaCheck = (schema: Schema, value: unknown, where: string) => void;

const isWhole = (max: number) => (value: number) => Number.isInteger(value) && Math.abs(value) <= max;

/** The document's formats. Responses have times in one form only; requests may have any zone. */
function createAjv(side: "request" | "answer"): Ajv2020 {
  // Most schemas check a few values: code that isn't optimized is ready in half the time. The document itself is
  // checked by `openapi_client_test.ts`.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  const zone = side === "answer" ? "\\.\\d{3}Z" : "(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)";
  ajv.addFormat("date-time", new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d${zone}$`));
  ajv.addFormat("date", /^\d{4}-\d\d-\d\d$/);
  ajv.addFormat("int32", { type: "number", validate: isWhole(2 ** 31 - 1) });
  ajv.addFormat("int64", { type: "number", validate: isWhole(Number.MAX_SAFE_INTEGER) });
  // A report's cost may have more decimals than are kept.
  const isDecimal = (value: number) => side === "request" || Number(value.toFixed(9)) === value;
  ajv.addFormat("decimal", { type: "number", validate: isDecimal });
  return ajv;
}

/** Creates the check for requests or for responses. */
export function createSchemaCheck(document: OpenApiDocument, side: "request" | "answer"): SchemaCheck {
  const ajv = createAjv(side);
  ajv.addSchema(JSON.parse(JSON.stringify(document).replaceAll('"#/', '"purser#/')), "purser");
  const validators = new Map<Schema, ValidateFunction>();
  const compile = (schema: Schema, make: () => Schema): ValidateFunction => {
    const validator = validators.get(schema) ?? ajv.compile(make());
    validators.set(schema, validator);
    return validator;
  };

  return (schema, value, where) => {
    const own = () => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"purser#/'));
    assertFits(compile(schema, own), value, where);
    // The document has a snapshot's outline, and refers to its full schema.
    if (resolve<Schema>(document, schema as { $ref: string }).externalDocs?.url === SNAPSHOT_SCHEMA_PATH) {
      assertFits(compile(SNAPSHOT_JSON_SCHEMA, () => SNAPSHOT_JSON_SCHEMA), value, where);
    }
  };
}

function assertFits(validator: ValidateFunction, value: unknown, where: string): void {
  const isValid = validator(value);
  if (!isValid) {
    assert.fail(`${where}: ${JSON.stringify(validator.errors, null, 1)} in ${JSON.stringify(value)}`);
  }
}
