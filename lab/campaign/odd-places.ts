/** Places for outputs that are no plain files, and users that may do less than root. */
import { execFileSync, spawnSync } from "node:child_process";
import { createServer, type Server } from "node:net";
import { promisify } from "node:util";

export function makePipe(path: string): void {
  execFileSync("mkfifo", [path]);
}

/** A device that takes nothing, as /dev/full; false where this user may make none. */
export function makeFullDevice(path: string): boolean {
  return spawnSync("mknod", [path, "c", "1", "7"]).status === 0;
}

/** @returns what closes it. */
export async function makeSocket(path: string): Promise<() => Promise<void>> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return promisify(server.close.bind(server));
}

/** A file system in memory of that size; false where this user may mount none. */
export function mountSmall(folder: string, sizeKiB: number): boolean {
  const options = ["-t", "tmpfs", "-o", `size=${sizeKiB}k`, "tmpfs", folder];
  return spawnSync("mount", options).status === 0;
}

export function unmount(folder: string): void {
  execFileSync("umount", [folder]);
}

/** Ids of a user without rights, `nobody`, for a child process; null where this one has none. */
export function nobody(): { readonly uid: number; readonly gid: number } | null {
  return process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : null;
}
