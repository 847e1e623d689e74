/** The worker processes of a server, and pauses while they are watched. */
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

/** Ids of the processes that a server has started, oldest first; those that have ended are not. */
export function childrenOf(pid: number): number[] {
  const listed = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
  return listed
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === pid && !state?.startsWith("Z"))
    .map(([own]) => Number(own))
    .sort((one, other) => one - other);
}

export function quiet(ms: number): Promise<void> {
  return pause(ms);
}
