// The day above the first line of each day.
import { dayNumber, dayOf } from "../../format";

/**
 * What stands above each of the moments: their day, or nothing below the same day. The day `said`
 * stands above the first already.
 */
export function daysAbove(atsMs: readonly number[], nowMs: number, said = ""): string[] {
  let last = NaN;
  return atsMs.map((atMs) => {
    // Of many lines, few begin a day, and only those take the time of being worded.
    if (dayNumber(atMs) === last) return "";
    last = dayNumber(atMs);
    const day = dayOf(atMs, nowMs);
    const isNew = day !== said;
    said = day;
    return isNew ? day : "";
  });
}
