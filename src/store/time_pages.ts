import { and, asc, type Column, desc, eq, gt, lt, or, type SQL } from "drizzle-orm";

/** A position in a list by time: the time of an entry in epoch milliseconds, and its id. */
export type TimePosition = [at: number, id: string];

/** A list by time: its columns, the condition of what follows a position, and its order. */
interface ByTime {
  from(position: TimePosition | undefined): SQL | undefined;
  order: SQL[];
}

/** A list with the oldest entry first. */
export function oldestFirst(at: Column, id: Column): ByTime {
  return listBy(gt, asc, at, id);
}

/** A list with the newest entry first. */
export function newestFirst(at: Column, id: Column): ByTime {
  return listBy(lt, desc, at, id);
}

function listBy(follows: typeof gt, order: typeof asc, at: Column, id: Column): ByTime {
  return {
    from: (position) =>
      position && or(follows(at, position[0]), and(eq(at, position[0]), follows(id, position[1]))),
    order: [order(at), order(id)],
  };
}
