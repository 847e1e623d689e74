/** A part as a compressed archive, kept between runs as long as its files are the same. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import type { Part } from "./parts.ts";

export interface PackedPart {
  readonly name: string;
  /** The archive: tar, xz. */
  readonly file: string;
  readonly bytes: number;
  readonly unpackedBytes: number;
}

/** How hard xz tries: minutes of a core for 150 MB, once; or seconds, for a quarter more bytes. */
export type Effort = "smallest" | "fast";
const PRESETS: Readonly<Record<Effort, string>> = {
  smallest: "--lzma2=preset=9e",
  fast: "--lzma2=preset=2",
};
/** Jumps of machine code as absolute addresses, which repeat. */
const OF_X86 = "--x86";

/** Of one tree always the same bytes. */
const SAME_BYTES = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];

/** @param folder where archives are kept. @throws Error if tar or xz fail. */
export async function packedPart(part: Part, folder: string, effort: Effort): Promise<PackedPart> {
  const { name } = part;
  const file = path.join(folder, `${name}-${effort}-${digestOf(part)}.tar.xz`);
  if (!existsSync(file)) {
    const stage = path.join(folder, `stage-${name}`);
    layOut(part, stage);
    const filter = part.isMachineCode === true ? [OF_X86] : [];
    await compress(stage, `${file}.new`, [...filter, PRESETS[effort]]);
    rmSync(stage, { recursive: true });
    for (const old of readdirSync(folder)) {
      if (isOf(`${name}-${effort}`, old)) rmSync(path.join(folder, old));
    }
    renameSync(`${file}.new`, file);
  }
  const unpackedBytes = part.files.reduce((sum, { from }) => sum + statSync(from).size, 0);
  return { name, file, bytes: statSync(file).size, unpackedBytes };
}

/** Whether a file of the folder is an archive of a part, of whatever files. */
function isOf(part: string, file: string): boolean {
  return file.startsWith(`${part}-`) && file.endsWith(".tar.xz");
}

function digestOf({ files, links = {} }: Part): string {
  const hash = createHash("sha256").update(JSON.stringify(links));
  for (const { from, to } of files) {
    hash.update(JSON.stringify([to, statSync(from).mode & 0o111, statSync(from).size]));
    hash.update(readFileSync(from));
  }
  return hash.digest("hex").slice(0, 16);
}

function layOut({ files, links = {} }: Part, stage: string): void {
  rmSync(stage, { recursive: true, force: true });
  for (const { from, to } of files) {
    mkdirSync(path.join(stage, path.dirname(to)), { recursive: true });
    copyFileSync(from, path.join(stage, to));
  }
  for (const [at, target] of Object.entries(links)) {
    mkdirSync(path.join(stage, path.dirname(at)), { recursive: true });
    symlinkSync(target, path.join(stage, at));
  }
}

async function compress(stage: string, file: string, options: readonly string[]): Promise<void> {
  const tar = spawn("tar", ["-C", stage, ...SAME_BYTES, "-cf", "-", "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const xz = spawn("xz", [...options, "-c"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = Promise.all([tar, xz].map((child) => once(child, "close")));
  await Promise.all([pipeline(tar.stdout, xz.stdin), pipeline(xz.stdout, createWriteStream(file))]);
  const codes = (await ended).map(([code]) => code as number | null);
  if (codes.some((code) => code !== 0)) throw new Error(`${file}: tar and xz ended with ${codes}`);
}
