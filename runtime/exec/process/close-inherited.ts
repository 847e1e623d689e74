/**
 * Closes descriptors that a process inherited from an ancestor of its parent, such as a shell, and
 * that the parent does not know of. Node opens its own descriptors so that no child inherits them.
 */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSED_ON_EXEC = 0o2000000;

/**
 * @param kept number of descriptors, from 0 on, that are meant for this process. Does nothing
 * outside of Linux.
 */
export function closeInherited(kept: number): void {
  for (const name of descriptors()) {
    const fd = Number(name);
    if (fd >= kept && isInherited(fd)) closeSync(fd);
  }
}

function descriptors(): readonly string[] {
  try {
    return readdirSync("/proc/self/fd");
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // That of the list itself is closed by now.
    return false;
  }
}
