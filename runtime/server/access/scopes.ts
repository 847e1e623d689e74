/** What a request is about, and so which scope its client needs. */

export const SCOPES = ["infer", "admin", "metrics"] as const;
export type Scope = (typeof SCOPES)[number];
/** "open" is for everybody: health, which probes ask for that have no token. */
export type Need = Scope | "open";

/** Rpcs by what they need, where that is not "infer"; by the last part of their names. */
const NEED_BY_RPC: Readonly<Record<string, Need>> = {
  ServerLive: "open",
  ServerReady: "open",
  // Those of grpc.health.v1.
  Check: "open",
  List: "open",
  Watch: "open",
  RepositoryModelLoad: "admin",
  RepositoryModelUnload: "admin",
  TraceSetting: "admin",
  LogSettings: "admin",
};

/**
 * @param path segments of the path without their escapes, as the routes see them. What is no route
 * needs "infer", so that a stranger learns nothing of it.
 */
export function needOf(path: readonly string[]): Need {
  const [first, second, third] = path;
  // The root holds nothing.
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
