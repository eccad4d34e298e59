// Numbers, sizes, rates and times as people read them, in the window's language.
import { language } from "./language.svelte";
import { type Key, t } from "./messages";

function formatsFor(locale: string) {
  return {
    locale,
    whole: new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }),
    tenths: new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    twoDigits: new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 }),
    axis: new Intl.NumberFormat(locale),
    typed: new Intl.NumberFormat(locale, { useGrouping: false, maximumFractionDigits: 6 }),
    day: new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long", year: "numeric" }),
    time: new Intl.DateTimeFormat(locale, { timeStyle: "short" }),
    dateTime: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }),
    relative: new Intl.RelativeTimeFormat(locale, { numeric: "auto" }),
  };
}

let made = formatsFor(language.locale);

/** Made anew when another language is spoken. */
function formats(): ReturnType<typeof formatsFor> {
  if (made.locale !== language.locale) made = formatsFor(language.locale);
  return made;
}

/** Decimal units, as disks and networks are sold. */
const UNITS = ["unit.B", "unit.kB", "unit.MB", "unit.GB", "unit.TB", "unit.PB"] as const satisfies Key[];

/** 1234567 as "1,234,567". */
export function count(n: number): string {
  return formats().whole.format(n);
}

/** A number as somebody types it: "1234.5". */
export function typed(n: number): string {
  return formats().typed.format(n);
}

/** 1234567 bytes as "1.2 MB". */
export function bytes(n: number): string {
  return sized(n, (value) => formats().tenths.format(value));
}

/** A size that somebody chose: 20000000000 bytes as "20 GB", without a figure that says nothing. */
export function chosenBytes(n: number): string {
  return sized(n, (value) => formats().axis.format(Math.round(value * 10) / 10));
}

/** "3.1 of 12.0 GB": the unit once, where both have the same. */
export function bytesOf(done: number, total: number): string {
  const all = scaled(total);
  const own = scaled(done);
  const isShort = own.unit === all.unit || done === 0;
  const digits = all.unit === 0 || done === 0 ? count(own.value) : formats().tenths.format(own.value);
  return t("activity.size", { done: isShort ? digits : bytes(done), total: bytes(total) });
}

function scaled(n: number): { value: number; unit: number } {
  let value = n;
  let unit = 0;
  // 999.95 would be written as 1,000.0.
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return { value, unit };
}

function sized(n: number, format: (value: number) => string): string {
  const { value, unit } = scaled(n);
  return t(UNITS[unit]!, { value: unit === 0 ? count(value) : format(value) });
}

/** Bytes a second. */
export function rate(perSecond: number): string {
  return t("unit.perSecond", { size: bytes(perSecond) });
}

/** Files, with folders and links, a second. */
export function perSecond(entries: number): string {
  return t("unit.filesPerSecond", { n: Math.round(entries) });
}

/** Milliseconds as "40 ms", "0.4 s", "12 s", "3 min 05 s" or "2 h 10 min". */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (ms > 0 && ms < 95) return t("unit.milliseconds", { value: count(Math.max(1, Math.round(ms))) });
  return seconds < 9.95 ? t("unit.seconds", { value: formats().tenths.format(seconds) }) : wholeSeconds(Math.round(seconds));
}

function wholeSeconds(total: number): string {
  const { twoDigits } = formats();
  if (total < 60) return t("unit.seconds", { value: count(total) });
  const minutes = Math.floor(total / 60);
  if (minutes < 60) return t("unit.minutesSeconds", { minutes: count(minutes), seconds: twoDigits.format(total % 60) });
  return t("unit.hoursMinutes", { hours: count(Math.floor(minutes / 60)), minutes: twoDigits.format(minutes % 60) });
}

/** A time on a graph's axis, as a clock shows it: "0:30", "12:00", "1:30:00". All have one form. */
export function axisTime(seconds: number): string {
  const { twoDigits, whole } = formats();
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const beginning = hours > 0 ? [whole.format(hours), twoDigits.format(minutes)] : [whole.format(minutes)];
  return [...beginning, twoDigits.format(seconds % 60)].join(":");
}

/** Time left: coarse, so that it does not flicker. */
export function left(ms: number): string {
  return wholeSeconds(Math.max(1, Math.ceil(ms / 1000)));
}

/** A share from 0 to 1 as "61 %"; never 100 % before everything is there. */
export function percent(done: number, total: number): string {
  const share = total > 0 ? Math.floor((done / total) * 100) : 0;
  return t("unit.percent", { value: count(done < total ? Math.min(share, 99) : share) });
}

/**
 * A moment in the past as "5 minutes ago", or as a date where that is longer ago than a week; below
 * its date, as the time of day where that is longer ago than a day.
 */
export function ago(ms: number, now: number, isBelowDay = false): string {
  const { relative, dateTime, time } = formats();
  const seconds = Math.min(0, Math.round((ms - now) / 1000));
  if (seconds > -60) return t("time.justNow");
  if (seconds > -3600) return relative.format(Math.ceil(seconds / 60), "minute");
  if (seconds > -86_400) return relative.format(Math.ceil(seconds / 3600), "hour");
  if (isBelowDay) return time.format(ms);
  // By the calendar, as the headings of the days: "yesterday" is not of the day before it.
  if (seconds > -7 * 86_400) return relative.format(dayNumber(ms) - dayNumber(now), "day");
  return dateTime.format(ms);
}

/** The day of a moment, as a heading: "Today", "Yesterday", or its date. */
export function dayOf(ms: number, now: number): string {
  const days = dayNumber(now) - dayNumber(ms);
  if (days <= 0) return t("time.today");
  return days === 1 ? t("time.yesterday") : formats().day.format(ms);
}

/** Which day it is here, counted from some day on. */
export function dayNumber(ms: number): number {
  const at = new Date(ms);
  return Math.floor(Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / 86_400_000);
}

/** A moment as date and time. */
export function moment(ms: number): string {
  return formats().dateTime.format(ms);
}
