/** Opens the listeners of a server, all of them or none, and closes them. */
import type { Server } from "node:http";
import type { Need } from "../access/scopes.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { Connections } from "../connections/connections.ts";
import type { HttpContext } from "./context.ts";
import type { Door } from "./doors.ts";
import { Handshakes } from "./handshakes.ts";
import { closeServer, listen, serverOf, urlOf } from "./listening.ts";

/** While the doors close: how long a client may still take to agree on keys. */
const HANDSHAKE_LINGER_MS = 1000;

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
  const handshakes = new Handshakes(() => context.house.access.onHandshakeFailed());
  const close = async () => {
    const cut = setTimeout(() => handshakes.cut(), HANDSHAKE_LINGER_MS);
    await Promise.all(opened.map(({ server }) => closeServer(server)));
    clearTimeout(cut);
  };
  try {
    for (const door of doors) {
      const own = door.isOwn ? { ...context, connections: new Connections(limits) } : context;
      const server = serverOf(own, limits, door, handshakes);
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
