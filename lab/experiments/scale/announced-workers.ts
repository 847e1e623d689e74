/** Members of a cluster that do nothing but announce themselves. */
import { Announcer } from "stratagem-runtime/internal/features/cluster/announcer";
import type { ClusterConnection } from "stratagem-runtime/internal/features/cluster/connection";
import type { Every } from "stratagem-runtime/internal/features/cluster/membership";
import { NatsStore } from "stratagem-runtime/internal/features/cluster/nats-store";

/** Models that each holds, as the policy of image classification has them. */
const MODELS = 9;

/**
 * Announces workers over a few connections, each with its beat at another time of the second.
 * @returns what ends their beats.
 */
export function announceWorkers(
  connections: readonly ClusterConnection[],
  count: number,
): () => void {
  const ends: (() => void)[] = [];
  const stores = connections.map((connection) => new NatsStore(connection));
  for (let worker = 0; worker < count; worker++) {
    const [at, state] = [worker % connections.length, stateOf(worker)];
    const [connection, store] = [connections[at], stores[at]];
    if (connection === undefined || store === undefined) throw new RangeError("no connection");
    const every: Every = (ms, work) => {
      const end = everyFrom((ms * worker) / count, ms, work);
      ends.push(end);
      return end;
    };
    new Announcer({ connection, store, state: () => state, every });
  }
  return () => {
    for (const end of ends) end();
  };
}

/** What an agent says of itself, of the size that this has there. */
export function stateOf(worker: number) {
  const models = Array.from({ length: MODELS }, (_, model) => ({
    name: `efficientnet_b${model}`,
    sha256: model.toString(16).repeat(64),
    state: "ready" as const,
  }));
  const number = String(worker).padStart(4, "0");
  return {
    name: `worker-${number}`,
    url: `http://10.0.${Math.floor(worker / 250)}.${1 + (worker % 250)}:8000`,
    ...{ pool: "default", cores: 1, device: "cpu", provider: "cpu", models, epoch: 0 },
  };
}

function everyFrom(offsetMs: number, ms: number, work: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setInterval(work, ms);
    work();
  }, offsetMs);
  return () => clearInterval(timer);
}
