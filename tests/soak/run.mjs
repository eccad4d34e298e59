// `npm run soak`: crash rounds, and hostile streams, for as long as wanted. The first failure is
// reported with its seed, and its files are kept.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { WORKSPACE, buildCommand, buildTools } from "../setup/build.mjs";
import { needModules } from "../setup/npm.mjs";
import { needGroup } from "../setup/packages.mjs";
import { run, say } from "../setup/process.mjs";
import { Crashing, missing } from "../transfer/crashes.mjs";
import { Differential } from "../transfer/differential.mjs";
import { KINDS, crashRounds, missing as missingInVm } from "../vm/crashes.mjs";
import { Ground } from "./rounds.mjs";

const HELP = `npm run soak -- [OPTIONS]
  --rounds N      how many rounds (default 300)
  --crashes N     how many rounds in which the filesystem of the receiver crashes (default 200; they take root), and as many power cuts in a virtual machine
  --oracle N      seconds of hostile streams against the consent oracle (default 600)
  --trees N       generated trees that are copied and sent, each against cp or rsync: in plain folders, by other users, onto small and full disks, under limits (default 2000)
  --seed N        of the first round; each further one takes the next number (default: of the clock). The oracle's seeds follow from it
  --bulk-mib N    size of the tree's large files (default 40)
  --at FOLDER     where everything lies (default: the folder for temporary files)
  --no-build      take the command that is there
`;

/**
 * A day has fewer batches of the consent oracle than this, so that two soaks do not use the same
 * seeds.
 */
const SEEDS_APART = 1_000_000;
const CUTS_OF_A_TRANSFER = 10;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "300" },
    crashes: { type: "string", default: "200" },
    oracle: { type: "string", default: "600" },
    trees: { type: "string", default: "2000" },
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
  needModules();
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
const differential = new Differential(base);
differential.prepare();
if (Differential.lacks()) say(`skipped: generated trees: ${Differential.lacks()}`);
for (let number = 0; !Differential.lacks() && number < Number(values.trees); number += 1) {
  try {
    await differential.holds(number % 4 === 0 ? "send" : "copy", first + number);
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}
differential.told().forEach(say);
const kinds = ["ext4", "xfs", "btrfs", "f2fs"].filter((kind) => {
  const lacking = missing(kind);
  if (lacking) say(`skipped: crashes of ${kind}: ${lacking}`);
  return !lacking;
});
const crashing = new Crashing(join(base, "crashes"));
if (kinds.length > 0) await crashing.pair();
for (let number = 0; kinds.length > 0 && number < Number(values.crashes); number += 1) {
  const [kind, seed] = [kinds[number % kinds.length], first + number];
  try {
    say(`${kind} crashes, seed ${seed}: ${JSON.stringify(await crashing.round(kind, seed))}`);
  } catch (error) {
    say(`${error.message}\nkept: ${base}`);
    process.exit(1);
  }
}
await cutPower(Number(values.crashes));
if (Number(values.oracle) > 0) {
  const env = { ...process.env, RINGWAY_ORACLE_SECONDS: values.oracle, RINGWAY_ORACLE_SEED: String(first * SEEDS_APART) };
  run("cargo", ["test", "--locked", "-p", "ringway-tree", "--lib", "consent_oracle", "--", "--nocapture"], { cwd: WORKSPACE, env });
}
rmSync(base, { recursive: true });
say(`${rounds} rounds, ${attempts} attempts that something happened to, ${unchanged} files not sent again: nothing lost`);

/**
 * This many power cuts in the virtual machine, on each filesystem in turn. Each transfer there is
 * cut ten times.
 */
async function cutPower(cuts) {
  const there = KINDS.filter((kind) => {
    const lacking = cuts > 0 && missingInVm(kind);
    if (lacking) say(`skipped: power cuts on ${kind}: ${lacking}`);
    return !lacking;
  });
  for (let number = 0; there.length > 0 && number < cuts; number += CUTS_OF_A_TRANSFER) {
    const kind = there[(number / CUTS_OF_A_TRANSFER) % there.length];
    const seeds = Array.from({ length: Math.min(CUTS_OF_A_TRANSFER, cuts - number) }, (_, at) => first + number + at);
    const { status } = await crashRounds([kind], seeds, (line) => say(`${kind}: ${line}`));
    if (status === 0) continue;
    say(`power cuts on ${kind} from seed ${seeds[0]}: a guest ended with ${status}\nkept: ${base}`);
    process.exit(1);
  }
}
