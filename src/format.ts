// Numbers, sizes, rates and times as people read them, in the language of the desktop.
import { language } from "./locale";

const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

/** Decimal units, as disks and networks are sold. */
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** 1234567 as "1,234,567". */
export function count(n: number): string {
  return whole.format(n);
}

/** 1234567 bytes as "1.2 MB". */
export function bytes(n: number): string {
  let value = n;
  let unit = 0;
  // 999.95 would be written as 1,000.0.
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(value) : tenths.format(value)} ${UNITS[unit]}`;
}

/** Bytes a second. */
export function rate(perSecond: number): string {
  return `${bytes(perSecond)}/s`;
}

/** Milliseconds as "0.4 s", "12 s", "3 min 05 s" or "2 h 10 min". */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${tenths.format(seconds)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 60) return `${minutes} min ${String(total % 60).padStart(2, "0")} s`;
  return `${whole.format(Math.floor(minutes / 60))} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A graph's time axis: "30 s", "5 min", "2.5 h". */
export function axisTime(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 6) / 10} min`;
  return `${Math.round(seconds / 360) / 10} h`;
}

/** Time left: coarse, so that it does not flicker. */
export function left(ms: number): string {
  return duration(Math.max(1, Math.ceil(ms / 1000)) * 1000).replace(/^(\d)[.,]0 s$/, "$1 s");
}

/** A share from 0 to 1 as "61 %"; never 100 % before everything is there. */
export function percent(done: number, total: number): string {
  const share = total > 0 ? Math.floor((done / total) * 100) : 0;
  return `${done < total ? Math.min(share, 99) : share} %`;
}

/** A moment in the past as "5 minutes ago", or as a date where that is longer ago than a week. */
export function ago(ms: number, now: number): string {
  const seconds = Math.min(0, Math.round((ms - now) / 1000));
  if (seconds > -60) return relative.format(0, "minute");
  if (seconds > -3600) return relative.format(Math.ceil(seconds / 60), "minute");
  if (seconds > -86_400) return relative.format(Math.ceil(seconds / 3600), "hour");
  if (seconds > -7 * 86_400) return relative.format(Math.ceil(seconds / 86_400), "day");
  return dateTime.format(ms);
}

/** A moment as date and time. */
export function moment(ms: number): string {
  return dateTime.format(ms);
}
