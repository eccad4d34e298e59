// `npm run package`: builds the packages into packages/. All of them, or those that are named: deb,
// rpm, tarball.
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { needGroup } from "../../tests/setup/packages.mjs";
import { ROOT, say, which } from "../../tests/setup/process.mjs";
import { build, buildStatic, epoch, version } from "./build.mjs";
import { packDeb } from "./deb.mjs";
import { packRpm } from "./rpm.mjs";
import { packTarball } from "./tarball.mjs";

const KINDS = ["deb", "rpm", "tarball"];
const FOLDER = join(ROOT, "packages");

const wanted = process.argv.slice(2);
const unknown = wanted.find((kind) => !KINDS.includes(kind));
if (unknown) throw new Error(`${unknown} is none of ${KINDS.join(", ")}`);
const kinds = wanted.length > 0 ? wanted : KINDS;

needGroup("package", "packing");
const work = join(FOLDER, ".work");
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
const made = [];
if (kinds.includes("rpm") && !which("rpmbuild")) throw new Error("rpmbuild is not here: install the package rpm, or name other kinds");
const how = { version: version(), epoch: epoch() };
if (kinds.some((kind) => kind !== "tarball")) how.built = build();
if (kinds.includes("tarball")) how.builtStatic = buildStatic();
if (kinds.includes("deb")) made.push(packDeb(FOLDER, work, how));
if (kinds.includes("rpm")) made.push(packRpm(FOLDER, work, how));
if (kinds.includes("tarball")) made.push(packTarball(FOLDER, work, how));
rmSync(work, { recursive: true });
for (const path of made) say(`${relative(ROOT, path)}  ${(statSync(path).size / 1e6).toFixed(1)} MB`);
