/** Opens the listeners of a server, all of them or none, and closes them. */
import type { Server } from "node:http";
import type { Need } from "../access/scopes.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { Connections } from "../connections/connections.ts";
import type { HttpContext } from "./context.ts";
import type { Door } from "./doors.ts";
import { closeServer, listen, serverOf, urlOf } from "./listening.ts";

export interface OpenedDoors {
  readonly urls: { readonly url: string; readonly adminUrl: string; readonly metricsUrl: string };
  /** As `closeServer` does, of all. */
  close(): Promise<void>;
}

/**
 * @param doors the one for all first; the others have connections of their own, so that they answer
 * where it has no room.
 * @throws RuntimeError RUNTIME_LISTEN, with none left open.
 */
export async function openDoors(
  context: HttpContext,
  limits: ServerLimits,
  doors: readonly Door[],
): Promise<OpenedDoors> {
  const opened: { readonly door: Door; readonly server: Server }[] = [];
  const close = async () => {
    await Promise.all(opened.map(({ server }) => closeServer(server)));
  };
  try {
    for (const door of doors) {
      const own = door.isOwn ? { ...context, connections: new Connections(limits) } : context;
      const server = serverOf(own, limits, door);
      await listen(server, door);
      opened.push({ door, server });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const urlFor = (need: Need) => {
    const found = opened.find(({ door }) => door.needs.has(need));
    return found === undefined ? "" : urlOf(found.server, context, found.door);
  };
  const urls = { url: urlFor("infer"), adminUrl: urlFor("admin"), metricsUrl: urlFor("metrics") };
  return { urls, close };
}
