/**
 * The two images that the Containerfiles begin with, made of Debian's packages and this machine's
 * Node, since no registry of images is asked.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

/** Tools of Debian that make images without a daemon. */
export const IMAGE_TOOLS = ["buildah", "mmdebstrap"];

/** Where images and containers of a test lie, and nothing of the machine's own. */
export interface ImageStore {
  readonly folder: string;
  /** What every command of buildah is given first. */
  readonly options: readonly string[];
}

export interface Bases {
  readonly debian: string;
  readonly node: string;
}

/** Whether this machine can make images: tools, and being root. */
export function canMakeImages(): boolean {
  const isRoot = process.getuid?.() === 0;
  return isRoot && IMAGE_TOOLS.every((tool) => spawnSync(tool, ["--version"]).status === 0);
}

/** Layers share their files where the machine can lay folders over each other; else they copy. */
export function openStore(folder: string): ImageStore {
  const places = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
  const overlay = ["--storage-driver", "overlay", ...places];
  const { status } = spawnSync("buildah", [...overlay, "info"], { env: surroundings() });
  return { folder, options: status === 0 ? overlay : ["--storage-driver", "vfs", ...places] };
}

/** Runs buildah on the store of a test. @returns what it prints. */
export function buildah({ options }: ImageStore, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("buildah", [...options, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    env: surroundings(),
  });
  if (status === 0) return stdout.trim();
  throw new Error(`buildah ${args.join(" ")}: ended with ${status}: ${stdout}${stderr}`);
}

/** Runs podman on the same store, with runc, which takes cgroups of either version. */
export function podman({ options }: ImageStore, ...args: readonly string[]) {
  const engine = ["--runtime", "runc", "--cgroup-manager", "cgroupfs"];
  const { status, stdout, stderr } = spawnSync("podman", [...engine, ...options, ...args], {
    encoding: "utf8",
    env: surroundings(),
  });
  return { status, stdout: stdout ?? "", stderr: stderr ?? "" };
}

/** Debian as small as apt goes, and the same with Node and npm. */
export function makeBases(store: ImageStore): Bases {
  const root = join(store.folder, "debian.tar");
  execFileSync("mmdebstrap", ["--variant=minbase", "bookworm", root, ...aptOptions(), "-"], {
    input: debianSources(),
    stdio: ["pipe", "ignore", "pipe"],
    env: surroundings(),
  });
  const debian = "localhost/debian:bookworm-slim";
  const node = "localhost/node:bookworm-slim";
  commit(store, { from: "scratch", add: [[root, "/"]], as: debian });
  const npm = realpathSync(
    execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim(),
  );
  const packaged = npm.slice(0, npm.lastIndexOf("/npm/") + "/npm".length);
  commit(store, {
    from: debian,
    add: [
      [realpathSync(process.execPath), "/usr/local/bin/node"],
      [packaged, "/usr/local/lib/node_modules/npm"],
    ],
    links: [["../lib/node_modules/npm/bin/npm-cli.js", "/usr/local/bin/npm"]],
    as: node,
  });
  return { debian, node };
}

interface Layer {
  readonly from: string;
  /** Files, folders and archives, and where they go. */
  readonly add: readonly (readonly [from: string, to: string])[];
  readonly links?: readonly (readonly [target: string, at: string])[];
  readonly as: string;
}

function commit(store: ImageStore, { from, add, links = [], as }: Layer): void {
  const container = buildah(store, "from", from);
  for (const [file, to] of add) buildah(store, "add", container, file, to);
  for (const [target, at] of links) {
    buildah(store, "run", "--isolation", "chroot", container, "--", "ln", "-s", target, at);
  }
  buildah(store, "commit", "--rm", container, as);
}

/** The machine's own sources of packages where it is a Debian, whatever its mirror is. */
function debianSources(): string {
  const file = "/etc/apt/sources.list.d/debian.sources";
  if (existsSync(file)) return readFileSync(file, "utf8");
  return "deb http://deb.debian.org/debian bookworm main\n";
}

/** How the machine's apt reaches its mirror: proxies and authorities. */
function aptOptions(): string[] {
  const dump = execFileSync("apt-config", ["dump"], { encoding: "utf8" });
  return dump
    .split("\n")
    .filter((line) => /^Acquire::(http|https)::/i.test(line))
    .map((line) => `--aptopt=${line}`);
}

/** Without what npm tells the scripts that it runs. */
function surroundings(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name)));
}
