/** Parses the value of `--cluster`. */
import { RuntimeError } from "../../base/errors.ts";

export interface ClusterUrl {
  /** Text given by the user. */
  readonly text: string;
  /** HOST or HOST:PORT per server. */
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  /**
   * Prefix of the cluster's bucket and subjects; clusters with different names can share a NATS.
   */
  readonly name: string;
}

const URL_PARTS = /^(nats|tls):\/\/([^/]{1,4096})(?:\/([\w-]{1,64}))?$/;
const SERVER = /^(?:[\w.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/;
const DEFAULT_NAME = "stratagem";

/** @throws RuntimeError RUNTIME_USAGE */
export function clusterUrlOf(text: string): ClusterUrl {
  const [, scheme = "", authority = "", name = DEFAULT_NAME] = URL_PARTS.exec(text) ?? [];
  const servers = authority.split(",");
  if (servers.every((server) => SERVER.test(server))) {
    return { text, servers, isEncrypted: scheme === "tls", name };
  }
  const expected =
    "expected nats://HOST[:PORT],HOST[:PORT]…[/NAME] or tls://…, without credentials";
  const found = authority.includes("@") ? "a URL with credentials; use --token cluster=FILE" : text;
  throw new RuntimeError("RUNTIME_USAGE", `--cluster: ${expected}, got ${found}`);
}
