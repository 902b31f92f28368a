import { customType } from "drizzle-orm/sqlite-core";

/** An INTEGER that fits a JS number: counts, times in milliseconds, flags. The drivers give bigint. */
export const int = customType<{ data: number; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: Number,
  toDriver: BigInt,
});

/** An INTEGER amount in nano-USD. */
export const nanoUsd = customType<{ data: bigint; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: BigInt,
});

/** An INTEGER that is 0 or 1. */
export const flag = customType<{ data: boolean; driverData: bigint }>({
  dataType: () => "integer",
  fromDriver: (value) => Number(value) !== 0,
  toDriver: (value) => (value ? 1n : 0n),
});
