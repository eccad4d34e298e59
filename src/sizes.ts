// Sizes that people type, in GB.
import { typed } from "./format";
import { t } from "./messages";

const BYTES_PER_GB = 1_000_000_000;
/** In GB: what nobody would type by mistake. */
const [SIZE_MIN, SIZE_MAX] = [0.001, 1_000_000];

const numberOf = (text: string) => (/^\d+([.,]\d+)?$/.test(text.trim()) ? Number(text.trim().replace(",", ".")) : 0);

/** Bytes of what was typed; nothing typed is no limit. */
export function sizeTyped(text: string): number | null {
  return text.trim() === "" ? null : Math.round(numberOf(text) * BYTES_PER_GB);
}

/** Bytes as they are typed. */
export function typedSize(bytes: number | null): string {
  return bytes === null ? "" : typed(bytes / BYTES_PER_GB);
}

/** What is wrong with a size that was typed, if something is. */
export function unfitSize(text: string): string | undefined {
  const size = numberOf(text);
  return text.trim() === "" || (size >= SIZE_MIN && size <= SIZE_MAX) ? undefined : t("devices.ruleSizeBad");
}
