/** Opens all listeners of a server or none, and closes them. */
import type { Server } from "node:http";
import type { Need } from "../access/scopes.ts";
import type { ServerLimits } from "../applications/limits.ts";
import { Connections } from "../connections/connections.ts";
import { Handshakes } from "../connections/handshakes.ts";
import { listen, urlOf } from "../connections/listen.ts";
import type { HttpContext } from "./context.ts";
import type { Listener } from "./listener.ts";
import { serverOf } from "./listening.ts";
import { forceServer, stopServer } from "./stopping.ts";

/** While the listeners close: how long a client may still take to agree on keys. */
const HANDSHAKE_LINGER_MS = 1000;

export interface OpenedListeners {
  readonly urls: { readonly url: string; readonly adminUrl: string; readonly metricsUrl: string };
  /** Stops the common listener like `stopServer`; the others stay open for monitoring meanwhile. */
  stop(): Promise<void>;
  /** Ends what is left, soon. @param stopped of `stop`. */
  close(stopped: Promise<void>): Promise<void>;
}

interface Opened {
  readonly listener: Listener;
  readonly server: Server;
  readonly connections: Connections;
}

/**
 * @param listeners the common one first; the others have their own connection limits, so that they
 * answer when it is full.
 * @throws RuntimeError RUNTIME_LISTEN, and closes those already open.
 */
export async function openListeners(
  context: HttpContext,
  limits: ServerLimits,
  listeners: readonly Listener[],
): Promise<OpenedListeners> {
  const opened: Opened[] = [];
  const { access } = context.state;
  const handshakes = new Handshakes(() => access.onHandshakeFailed());
  let cut: NodeJS.Timeout | undefined;
  const stopOne = ({ server, connections }: Opened) => {
    cut ??= setTimeout(() => handshakes.cut(), HANDSHAKE_LINGER_MS);
    return stopServer(server, connections);
  };
  const stop = async () => {
    const [main] = opened;
    if (main !== undefined) await stopOne(main);
  };
  const close = async (stopped: Promise<void>) => {
    const [main, ...others] = opened;
    const forced = others.map((one) => forceServer(one.server, stopOne(one)));
    if (main !== undefined) forced.push(forceServer(main.server, stopped));
    await Promise.all(forced);
    clearTimeout(cut);
  };
  try {
    for (const listener of listeners) {
      const own = { ...context, ...ownOf(context, limits, listener) };
      const { connections } = own;
      const server = serverOf(own, limits, listener, handshakes);
      await listen(server, listener, connections);
      opened.push({ listener, server, connections });
    }
  } catch (error) {
    await close(stop());
    throw error;
  }
  const urlFor = (need: Need) => {
    const found = opened.find(({ listener }) => listener.needs.has(need));
    return found === undefined ? "" : urlOf(found.server, access.tls !== undefined, found.listener);
  };
  const urls = { url: urlFor("infer"), adminUrl: urlFor("admin"), metricsUrl: urlFor("metrics") };
  return { urls, stop, close };
}

/** Creates the state that listeners do not share. */
function ownOf(
  { connections }: HttpContext,
  limits: ServerLimits,
  { isOwn, needs }: Listener,
): Pick<HttpContext, "connections" | "served"> {
  const own = () => new Connections(limits, connections.descriptors);
  return { connections: isOwn ? own() : connections, served: needs };
}
