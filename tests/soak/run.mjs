// `npm run soak`: crash rounds for as long as wanted; the first that fails is told with its seed, and what it left is kept.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCommand, buildTools } from "../setup/build.mjs";
import { needGroup } from "../setup/packages.mjs";
import { say } from "../setup/process.mjs";
import { Ground } from "./rounds.mjs";

const HELP = `npm run soak -- [OPTIONS]
  --rounds N      how many rounds (default 300)
  --seed N        of the first round; each further one takes the next number (default: of the clock)
  --bulk-mib N    size of the tree's large files (default 40)
  --at FOLDER     where everything lies (default: the folder for temporary files)
  --no-build      take the command that is there
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    "bulk-mib": { type: "string", default: "40" },
    at: { type: "string", default: tmpdir() },
    "no-build": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (!values["no-build"]) {
  needGroup("transfer", "comparing trees");
  buildCommand();
  buildTools();
}
const base = mkdtempSync(join(values.at, "ringway-soak-"));
const ground = new Ground(base, { bulkMib: Number(values["bulk-mib"]) });
await ground.pair();
const [rounds, first] = [Number(values.rounds), Number(values.seed)];
say(`${rounds} rounds from seed ${first}; undisturbed it takes ${ground.usualMs} ms`);
let [attempts, unchanged] = [0, 0];
for (let number = 0; number < rounds; number += 1) {
  try {
    const round = await ground.round(first + number);
    attempts += round.told.length;
    unchanged += round.unchanged;
    say(`seed ${first + number}: ${round.told.join(", ")}: ${round.unchanged} files were there`);
  } catch (error) {
    say(`${error.message}\nkept: ${base}`);
    process.exit(1);
  }
}
rmSync(base, { recursive: true });
say(`${rounds} rounds, ${attempts} attempts that something happened to, ${unchanged} files not sent again: nothing lost`);
