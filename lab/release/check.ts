/**
 * `npm run release:check -- [--out FOLDER] [--key NAME.key]`: packs the packages twice and compares
 * the bytes, installs them, signs with them, and tries what a user would. One line for each step;
 * ends with 3 where one fails.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { changelogFaults } from "./changelog.ts";
import { buildAndPack, uncommitted } from "./clean-build.ts";
import { writeInstallFolder } from "./install-folder.ts";
import { install } from "./installed.ts";
import { readLock } from "./lock.ts";
import { CONTEXTS, makeRelease, type Release } from "./release.ts";
import { sbomFaults } from "./sbom-check.ts";
import { type Homes, layExamples, TRIALS } from "./smoke.ts";
import { versionFaults, versionOf } from "./versions.ts";

const EXIT_FAILED = 3;
/** Where a build differs from the next one in all that must not matter. */
const ELSEWHERE = { TZ: "Pacific/Auckland", LANG: "C", LC_ALL: "C", HOME: "/nonexistent" };

const { values } = parseArgs({
  options: {
    out: { type: "string", default: ".stratagem/release" },
    key: { type: "string" },
  },
});
const scratch = mkdtempSync(join(tmpdir(), "stratagem-release-"));
try {
  await main(resolve(values.out), values.key ?? null);
} finally {
  rmSync(scratch, { recursive: true, maxRetries: 3 });
}

async function main(out: string, keyFile: string | null): Promise<void> {
  const version = versionOf();
  await step("version", () => withoutFaults(versionFaults(), `${version}, wherever it is said`));
  await step("changelog", () => withoutFaults(changelogFaults(), "says what is new"));
  await step("tree", () =>
    uncommitted().length === 0 ? "as committed" : "has uncommitted changes",
  );
  const release = await step("pack", () => makeRelease(out, keyFile));
  if (release === null) return;
  await step("reproducible", () => packedAgain(release));
  await step("sbom", () => checkedSboms(release));
  const homes = await step("install", () => installed(release, version));
  if (homes === null) return;
  for (const trial of TRIALS) await step(trial.name, () => trial.run(homes));
}

/** Does one step and tells of it. @returns null where it failed, which decides the exit code. */
async function step<Result>(
  name: string,
  act: () => Result | Promise<Result>,
): Promise<Result | null> {
  try {
    const result = await act();
    console.log(`ok      ${name}${typeof result === "string" ? `: ${result}` : ""}`);
    return result;
  } catch (error) {
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = EXIT_FAILED;
    return null;
  }
}

function withoutFaults(faults: readonly string[], fine: string): string {
  if (faults.length > 0) throw new Error(faults.join("; "));
  return fine;
}

/** Builds in another folder, and as somebody else would. @throws Error naming what differs. */
function packedAgain({ tarballs }: Release): string {
  const folder = join(scratch, "a build in a folder of another name");
  const again = buildAndPack({ folder, out: join(scratch, "again"), env: ELSEWHERE });
  const others = tarballs.filter(({ file }, at) => {
    const second = again[at];
    return second === undefined || !readFileSync(file).equals(readFileSync(second.file));
  });
  const names = others.map(({ file }) => basename(file));
  if (names.length > 0) throw new Error(`packed twice, these differ: ${names.join(", ")}`);
  return `${tarballs.length} tarballs, packed twice, have the same bytes`;
}

async function checkedSboms({ sboms }: Release): Promise<string> {
  const faults = await Promise.all(sboms.map((file) => sbomFaults(file)));
  return withoutFaults(faults.flat(), `${sboms.length} bills of materials keep their schema`);
}

function installed({ tarballs }: Release, version: string): Homes {
  const homes = { edge: join(scratch, "edge"), ci: join(scratch, "ci"), version };
  for (const [home, wanted] of [
    [homes.edge, CONTEXTS.runtime],
    [homes.ci, CONTEXTS.compiler],
  ] as const) {
    mkdirSync(home);
    const names: readonly string[] = wanted;
    const own = tarballs.filter(({ workspace }) => names.includes(workspace));
    writeInstallFolder(home, readLock(), own);
    install(home);
  }
  layExamples(homes);
  return homes;
}
