/** What runs that were killed have left: machines, what runs on them, and their disks. */
import { readFileSync } from "node:fs";
import { command } from "./command.ts";
import { kill } from "./machine.ts";

/** Before the number of the process whose namespaces and disks they are. */
const PREFIX = "sg";

/** How this process's own are named. */
export const OWN_PREFIX = `${PREFIX}${process.pid}`;

/** Takes away what processes have left that are no more; what belongs to others stays. */
export async function forgetDead(): Promise<void> {
  for (const line of (await command("ip", "netns", "list")).split("\n")) {
    const [name = ""] = line.split(" ");
    if (!isOfDead(name.split("-")[0])) continue;
    for (const pid of (await command("ip", "netns", "pids", name)).split("\n").filter(Boolean)) {
      kill(Number(pid), "SIGKILL");
    }
    await command("ip", "netns", "delete", name);
  }
  for (const line of readFileSync("/proc/mounts", "utf8").split("\n")) {
    const [source, folder = ""] = line.split(" ");
    if (isOfDead(source)) await command("umount", "-l", folder);
  }
}

/** Second bytes of addresses that nothing on this machine has, by its routes. */
export async function freeNets(from: number, to: number): Promise<number[]> {
  const routes = await command("ip", "route", "show");
  const nets = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  return nets.filter((net) => !routes.includes(`10.${net}.`));
}

function isOfDead(prefix = ""): boolean {
  const owner = prefix.startsWith(PREFIX) ? Number(prefix.slice(PREFIX.length)) : Number.NaN;
  return Number.isInteger(owner) && owner > 0 && !isAlive(owner);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
