/**
 * Packs Node, the product, its libraries and its models for a machine that has none of them:
 * lab/gpu/check. Prints the size of each part, and fails where the whole is too large to travel.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, realpathSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import { type PackedPart, packedPart } from "./packed-part.ts";
import { partsOf } from "./parts.ts";

const MIB = 2 ** 20;
const MOST_MIB = 60;
/** Folder of all in the archive, and here for what is kept between runs. */
const NAME = "gpu-check";

const root = process.cwd();
const kept = path.join(root, ".stratagem", NAME);
try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      "without-models": { type: "boolean" },
      fast: { type: "boolean" },
      out: { type: "string", short: "o" },
    },
  });
  if (process.platform !== "linux" || process.arch !== "x64") {
    const here = `${process.platform} ${process.arch}`;
    throw new Error(`expected Linux on x86-64, where the pack is to run; this is ${here}`);
  }
  const out = path.resolve(values.out ?? path.join(".stratagem", `${NAME}.tar`));
  const parts = partsOf(root, path.join(kept, "work"), values["without-models"] !== true);
  const packed: PackedPart[] = [];
  const effort = values.fast === true ? "fast" : "smallest";
  // The two large ones first, one on each of two cores; one of these takes 0.7 GB of memory.
  const queue = parts.values();
  const pack = async () => {
    for (const part of queue) packed.push(await packedPart(part, kept, effort));
  };
  await Promise.all([pack(), pack()]);
  const bytes = writeArchive(packed, out);
  console.log(sizesText(packed, bytes));
  console.log(`\n${path.relative(root, out)}: on the machine with the GPU, unpack it and run`);
  console.log(`  tar xf ${path.basename(out)} && ${NAME}/run --out table`);
  if (bytes <= MOST_MIB * MIB) return;
  throw new Error(`the pack has ${mib(bytes)} MiB; ${MOST_MIB} are what it may have to travel`);
}

/** The script and the parts, and of xz itself what is needed to read them. @returns its bytes. */
function writeArchive(packed: readonly PackedPart[], out: string): number {
  const stage = path.join(kept, "stage", NAME);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  mkdirSync(path.dirname(out), { recursive: true });
  cpSync(path.join(root, "lab/gpu/run"), path.join(stage, "run"));
  for (const { name, file } of packed) copyFileSync(file, path.join(stage, `${name}.tar.xz`));
  addXz(stage);
  execFileSync("tar", ["-C", path.dirname(stage), "-cf", out, NAME]);
  rmSync(path.dirname(stage), { recursive: true });
  return statSync(out).size;
}

/** A bare machine has tar and gzip, but maybe no xz: this machine's, and its library. */
function addXz(stage: string): void {
  const program = execFileSync("sh", ["-c", "command -v xz"], { encoding: "utf8" }).trim();
  const libraries = execFileSync("ldd", [program], { encoding: "utf8" });
  const library = /liblzma\.so\.5 => (\S+)/.exec(libraries)?.[1];
  const folder = path.join(stage, "xz");
  mkdirSync(folder);
  copyFileSync(realpathSync(program), path.join(folder, "xz"));
  if (library !== undefined) copyFileSync(library, path.join(folder, "liblzma.so.5"));
  execFileSync("tar", ["-C", stage, "-czf", path.join(stage, "xz.tar.gz"), "xz"]);
  rmSync(folder, { recursive: true });
}

function sizesText(packed: readonly PackedPart[], bytes: number): string {
  const rows = packed
    .toSorted((one, other) => other.bytes - one.bytes)
    .map((part) => [part.name, mib(part.unpackedBytes), mib(part.bytes)]);
  const unpacked = packed.reduce((sum, part) => sum + part.unpackedBytes, 0);
  return alignColumns([["part", "MiB", "packed"], ...rows, ["all", mib(unpacked), mib(bytes)]]);
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(2);
}
