/** Libraries of a Linux that a bare machine lacks: Vulkan's loader, and what drivers ask for. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import type { PackedFile } from "./production-modules.ts";

const LOADER = "libvulkan.so.1";

/** By the name that programs ask for, Debian's package of it. */
const PACKAGES: Readonly<Record<string, string>> = {
  [LOADER]: "libvulkan1",
  // NVIDIA's driver for Vulkan is its library of GLX or of EGL, and those want these.
  "libGLdispatch.so.0": "libglvnd0",
  "libX11.so.6": "libx11-6",
  "libXext.so.6": "libxext6",
  "libxcb.so.1": "libxcb1",
  "libXau.so.6": "libxau6",
  "libXdmcp.so.6": "libxdmcp6",
  "libbsd.so.0": "libbsd0",
  "libmd.so.0": "libmd0",
};

/** Where packages for x86-64 have their libraries. */
const FOLDERS = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];

/**
 * Those of this machine, and from Debian where it has none.
 * @param work where packages are unpacked.
 * @throws Error without the loader; a driver may do without the others, and they are left out.
 */
export function systemLibraries(work: string): PackedFile[] {
  const known = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  return Object.entries(PACKAGES).flatMap(([name, debian]) => {
    const lines = known.split("\n").map((line) => line.trim().split(" "));
    const here = lines.find((words) => words[0] === name && words.join().includes("x86-64"));
    const from = here?.at(-1) ?? ofDebian(work, name, debian);
    if (from !== null) return [{ from: realpathSync(from), to: `lib/${name}` }];
    if (name !== LOADER) return [];
    throw new Error(`${name} is neither here nor to be had; apt-get install ${debian}`);
  });
}

function ofDebian(work: string, name: string, debian: string): string | null {
  const folder = path.join(work, "debian");
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("apt-get", ["download", "-qq", debian], { cwd: folder, stdio: "ignore" });
    const file = readdirSync(folder).find((each) => each.startsWith(`${debian}_`)) ?? "";
    execFileSync("dpkg", ["-x", file, "."], { cwd: folder });
  } catch {
    return null;
  }
  return FOLDERS.map((each) => path.join(folder, each, name)).find(existsSync) ?? null;
}
