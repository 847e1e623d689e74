/** Scope that a client needs for a request. */

export const SCOPES = ["infer", "admin", "metrics"] as const;
export type Scope = (typeof SCOPES)[number];
/** "open" needs no token, such as health checks of probes. */
export type Need = Scope | "open";

/** Scopes of RPCs other than "infer", by the last part of their names. */
const NEED_BY_RPC: Readonly<Record<string, Need>> = {
  ServerLive: "open",
  ServerReady: "open",
  // grpc.health.v1.
  Check: "open",
  List: "open",
  Watch: "open",
  RepositoryModelLoad: "admin",
  RepositoryModelUnload: "admin",
  TraceSetting: "admin",
  LogSettings: "admin",
};

/**
 * @param path unescaped path segments, as the routes see them. Unknown paths need "infer", so that
 * clients without a token learn nothing about them.
 */
export function needOf(path: readonly string[]): Need {
  const [first, second, third] = path;
  // The root has no content.
  if (first === "" && path.length === 1) return "open";
  if (first === "metrics") return "metrics";
  if (first === "admin") return "admin";
  if (first !== "v2") return "infer";
  if (second === "health") return "open";
  if (second === "repository" && third === "models") return "admin";
  return "infer";
}

/** @param rpc such as `ModelInfer`, without its service. */
export function needOfRpc(rpc: string): Need {
  return Object.hasOwn(NEED_BY_RPC, rpc) ? (NEED_BY_RPC[rpc] ?? "infer") : "infer";
}
