/** Which NATS a cluster has, by the text of `--cluster`. */
import { RuntimeError } from "../../base/errors.ts";

export interface ClusterUrl {
  /** As it was written. */
  readonly text: string;
  /** HOST or HOST:PORT of each. */
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  /** Of its bucket and its subjects; clusters of other names may have the same NATS. */
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
  const expected = "expected nats://HOST[:PORT],HOST[:PORT]…[/NAME], or tls://, no credentials";
  const found = authority.includes("@") ? "one with credentials; --token cluster=FILE" : text;
  throw new RuntimeError("RUNTIME_USAGE", `--cluster: ${expected}, got ${found}`);
}
