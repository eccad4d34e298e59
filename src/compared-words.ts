// What an offer would do to what is in its folder, in words.
import { ago, bytes } from "./format";
import type { Comparison, Difference, Offer, OnConflict, PathText } from "./ipc";
import { t } from "./messages";

/** Such as "18 new, 303 unchanged, 1 differs here"; empty where that is not known. */
export function comparedWords(compared: Comparison): string {
  if (compared.state === "unknown") return "";
  const parts = [
    compared.unchanged > 0 && t("comparison.unchanged", { n: compared.unchanged }),
    ...differingParts(compared),
    compared.unreadable > 0 && t("comparison.unreadable", { n: compared.unreadable }),
  ].filter((part) => part !== false);
  if (compared.new > 0 || parts.length === 0) parts.unshift(t("comparison.new", { n: compared.new }));
  if (compared.state === "done" && !compared.at_least && compared.new > 0 && parts.length === 1) return t("inbox.allNew", { n: compared.new });
  const counts = parts.join(", ");
  return compared.state === "comparing" ? t("comparison.soFar", { counts }) : atLeast(compared, counts);
}

/**
 * What differed before it was received. The transfer's report says what was new, and what was there
 * already.
 */
export function differedWords(compared: Comparison): string {
  return atLeast(compared, differingParts(compared).filter((part) => part !== false).join(", "));
}

const atLeast = ({ at_least: isMore }: Comparison, counts: string) => (isMore ? t("comparison.atLeast", { counts }) : counts);

function differingParts({ differing: n, edited, in_the_way: inTheWay }: Comparison): (string | false)[] {
  const words = t("comparison.differing", { n });
  return [n > 0 && (edited > 0 ? t("comparison.edited", { differing: words, n: edited }) : words), inTheWay > 0 && t("comparison.inTheWay", { n: inTheWay })];
}

/** How it compares with what it would be merged into under that choice. */
export function comparedUnder(offer: Offer, existing: OnConflict): Comparison | null {
  return existing === "rename_top" ? offer.comparison : (offer.in_place ?? offer.comparison);
}

/** What that choice does beyond the counts: to other names, or to what is the owner's. */
export function wouldDo(offer: Offer, existing: OnConflict): string[] {
  const names = (paths: PathText[]) => paths.map(({ path }) => path).join(", ");
  if (existing === "replace") return [overwrites(comparedUnder(offer, existing))].filter(Boolean);
  if (existing !== "rename_top") return [];
  return [
    ...(offer.updates.length > 0 ? [t("offer.updates", { names: names(offer.updates) })] : []),
    ...(offer.renamed.length > 0 ? [t("offer.renamed", { names: names(offer.renamed) })] : []),
  ];
}

/** Whether there is nothing that the choice could be about. */
export function isAllNew({ comparison, renamed }: Offer): boolean {
  if (comparison?.state !== "done" || comparison.at_least || renamed.length > 0) return false;
  return comparison.unchanged + comparison.differing + comparison.in_the_way + comparison.unreadable === 0;
}

/**
 * What differs is of two kinds: as its device brought it, and the owner's own. `edited` is the part
 * of `differing` that is the owner's.
 */
function partsOf({ differing, edited }: Comparison): { brought: number; edited: number } {
  return { brought: differing - edited, edited };
}

/** What that choice does to what differs; empty where that is not known. */
export function effectWords(offer: Offer, existing: OnConflict): string {
  const compared = comparedUnder(offer, existing);
  if (compared?.state !== "done" || compared.at_least) return "";
  if (differing(compared) === 0 && compared.unreadable === 0) return t("inbox.existing.nothing");
  if (existing === "replace") return "";
  const { brought, edited } = partsOf(compared);
  const [replaced, stays] = existing === "rename_top" ? [brought, edited] : [0, brought + edited];
  const parts = [
    replaced > 0 && t("inbox.existing.updates", { n: replaced, from: offer.from }),
    stays > 0 && (existing === "keep" ? t("inbox.existing.skips", { n: stays }) : t("inbox.existing.numbers", { n: stays })),
  ];
  return parts.filter((part) => part !== false).join(" ");
}

/** Whether to keep both file by file does something else here than to keep both, or may do so. */
export function isPerFileOwn(offer: Offer): boolean {
  if (offer.updates.length > 0 || offer.renamed.length > 0) return true;
  const [whole, perFile] = [effectWords(offer, "rename_top"), effectWords(offer, "rename")];
  return whole === "" || whole !== perFile;
}

function overwrites(compared: Comparison | null): string {
  if (!compared || compared.state === "unknown" || compared.edited === 0) return "";
  const isWhole = compared.state === "done" && !compared.at_least;
  return isWhole ? t("offer.overwrites", { n: compared.edited }) : t("offer.overwritesAtLeast", { n: compared.edited });
}

/** How many entries differ, or are in the way. */
export function differing({ state, differing: differ, in_the_way: inTheWay }: Comparison): number {
  return state === "unknown" ? 0 : differ + inTheWay;
}

/** A file's size and age. */
function version(size: number | null, changedAt: number | null, now: number): string {
  const parts = [size === null ? "" : bytes(size), changedAt === null ? "" : ago(changedAt * 1000, now)];
  return parts.filter(Boolean).join(", ");
}

/** How what is there differs, and both versions where they are files. */
export function differenceWords(found: Difference, now: number): string {
  const kind = {
    newer: t("inbox.differs.newer"),
    older: t("inbox.differs.older"),
    other: t("inbox.differs.other"),
    in_the_way: t("inbox.differs.inTheWay"),
  }[found.here_is];
  const what = found.edited ? t("inbox.differs.edited", { what: kind }) : kind;
  const here = version(found.here_bytes, found.here_changed_at, now);
  const offered = version(found.offered_bytes, found.offered_changed_at, now);
  return here && offered ? t("inbox.differs.versions", { what, here, offered }) : what;
}
