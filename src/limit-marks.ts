// How each stage that limits a transfer is marked beneath its graph: by a colour for files,
// processors, the network and what was asked for, and by a pattern of its own, so that all of them
// are told apart without colour.
import type { Bottleneck } from "./ipc";

/** What a pattern repeats, in pixels; the band is as high. */
export const TILE = { width: 8, height: 6 } as const;

/** A mark: its colour's token, and an SVG path that fills a part of the tile. */
export interface LimitMark {
  token: string;
  path: string;
}

const SOLID = "M0 0h8v6h-8z";
const SLANTED = "M0 6h3l5-6h-3z";
const POSTS = "M0 0h5v6h-5z";
const PAIRS = "M0 0h2v6h-2zM4 0h1v6h-1z";
const RAILS = "M0 0h8v2h-8zM0 4h8v2h-8z";
const DOTS = "M1 2h2v2h-2zM5 2h2v2h-2z";
const DASHES = "M1 2h6v2h-6z";
const LOW = "M0 4h8v2h-8z";

export const LIMIT_MARKS: Record<Bottleneck, LimitMark> = {
  finding: { token: "--limit-files", path: DOTS },
  reading: { token: "--limit-files", path: SOLID },
  encrypting: { token: "--limit-processor", path: POSTS },
  network: { token: "--limit-network", path: RAILS },
  decrypting: { token: "--limit-processor", path: PAIRS },
  writing: { token: "--limit-files", path: SLANTED },
  limit: { token: "--limit-asked", path: LOW },
  stalled: { token: "--limit-stalled", path: DASHES },
};
