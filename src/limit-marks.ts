// How each stage that limits a transfer is marked beneath its graph: by a colour for files,
// processors, the network and what was asked for, and by a pattern of its own, so that all of them
// are told apart without colour. Each is at least 8 pixels high.
import type { Bottleneck } from "./ipc";

/** What a pattern repeats, in pixels; the band is as high. */
export const TILE = { width: 8, height: 10 } as const;

/** A mark: its colour's token, and an SVG path that fills a part of the tile. */
export interface LimitMark {
  token: string;
  path: string;
}

const SOLID = "M0 0h8v10h-8z";
const SLANTED = "M0 10h3.5l4.5-10h-3.5z";
const POSTS = "M0 0h5v10h-5z";
const PAIRS = "M0 0h3v10h-3zM5 0h1.5v10h-1.5z";
const RAILS = "M0 0h8v3.5h-8zM0 6.5h8v3.5h-8z";
const DOTS = "M0.5 1h3v3h-3zM4.5 6h3v3h-3z";
const CROSSES = "M0 0h2l2 3.5 2-3.5h2l-3 5 3 5h-2l-2-3.5-2 3.5h-2l3-5z";
const CHECKS = "M0 0h4v5h-4zM4 5h4v5h-4z";

export const LIMIT_MARKS: Record<Bottleneck, LimitMark> = {
  finding: { token: "--limit-files", path: DOTS },
  reading: { token: "--limit-files", path: SOLID },
  encrypting: { token: "--limit-processor", path: POSTS },
  network: { token: "--limit-network", path: RAILS },
  decrypting: { token: "--limit-processor", path: PAIRS },
  writing: { token: "--limit-files", path: SLANTED },
  limit: { token: "--limit-asked", path: CHECKS },
  stalled: { token: "--limit-stalled", path: CROSSES },
};
