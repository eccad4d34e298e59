// Random numbers that a seed repeats.

/**
 * Numbers below `end` from a seed (mulberry32). The same seed gives the same plan, although no two
 * runs have the same timing.
 */
export function numbers(seed) {
  let state = seed >>> 0;
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}
