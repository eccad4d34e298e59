// A course without the jitter of its packets: what a person would say how fast it was.

/** A course: seconds since the start, and the bytes a second at them. */
export interface Course {
  seconds: number[];
  perSecond: number[];
  entriesPerSecond: number[];
}

/** What is over sooner has no course to be looked at. */
const SECONDS_MIN = 2;

/** Whether a course is worth a graph. */
export const isLong = ({ seconds }: Pick<Course, "seconds">) => seconds.length > 2 && seconds.at(-1)! >= SECONDS_MIN;

/** Over so long, in seconds. */
export const OVER_S = 0.7;

/**
 * Each value is that of the time since the one before; smoothed, it is the mean of the time around.
 */
function smoothed(seconds: number[], values: number[], over: number): number[] {
  /** The sum by then. */
  const sums = [0];
  for (let at = 1; at < seconds.length; at += 1) sums.push(sums[at - 1]! + values[at]! * (seconds[at]! - seconds[at - 1]!));
  const end = seconds.at(-1) ?? 0;
  let from = 1;
  let to = 1;
  const by = (time: number, hint: number) => {
    let at = hint;
    while (at < seconds.length - 1 && seconds[at]! < time) at += 1;
    return { at, sum: sums[at]! - values[at]! * (seconds[at]! - time) };
  };
  return values.map((value, at) => {
    // The middle of the time that the value is of. At the ends of the course the mean is of as long
    // a time: over half of it, the last packet alone would be a peak that never was.
    const middle = at === 0 ? 0 : (seconds[at]! + seconds[at - 1]!) / 2;
    const begin = Math.max(0, Math.min(middle, end - over / 2) - over / 2);
    const until = Math.min(end, begin + over);
    if (until <= begin || seconds.length < 2 || (at > 0 && seconds[at]! - seconds[at - 1]! >= over)) return value;
    const [low, high] = [by(begin, from), by(until, to)];
    from = low.at;
    to = high.at;
    return (high.sum - low.sum) / (until - begin);
  });
}

/** A course, smoothed; one whose points are farther apart stays as it is. */
export function smooth({ seconds, perSecond, entriesPerSecond }: Course, over = OVER_S): Course {
  return { seconds, perSecond: smoothed(seconds, perSecond, over), entriesPerSecond: smoothed(seconds, entriesPerSecond, over) };
}

/** The most that came a second, smoothed. */
export function peak(course: Course): number {
  return Math.max(0, ...smooth(course).perSecond);
}

/** The average a second over the whole time. */
export function mean({ seconds, perSecond }: Course): number {
  const total = seconds.at(-1) ?? 0;
  const came = seconds.reduce((sum, time, at) => (at === 0 ? 0 : sum + perSecond[at]! * (time - seconds[at - 1]!)), 0);
  return total > 0 ? came / total : 0;
}
