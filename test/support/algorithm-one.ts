/**
 * Loki's algorithm 1 line by line, over servers and with a map per table: slow, obvious, and with
 * its two flaws. Source: Loki §5.1.
 */

export interface LiteralTask {
  readonly name: string;
  readonly children: readonly string[];
  /** Servers by name; sorted here. */
  readonly workers: readonly LiteralWorker[];
}

interface LiteralWorker {
  readonly id: string;
  readonly accuracy: number;
  readonly capacityQps: number;
  readonly fanouts: Readonly<Record<string, number>>;
}

export interface LiteralResult {
  /** By server, or `frontend`, and child task: probability by server. */
  readonly tables: Record<string, Record<string, Record<string, number>>>;
  /** Queries per second that found no server, by `server->task`. */
  readonly unrouted: Record<string, number>;
  readonly incomingQps: Record<string, number>;
}

export function algorithmOne(
  tasks: readonly LiteralTask[],
  entry: string,
  demandQps: number,
): LiteralResult {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const capacity = new Map<string, number>();
  const incoming = new Map<string, number>();
  for (const worker of tasks.flatMap(({ workers }) => workers)) {
    capacity.set(worker.id, worker.capacityQps);
    incoming.set(worker.id, 0);
  }
  const tables: LiteralResult["tables"] = {};
  const unrouted: Record<string, number> = {};
  const route = (from: string, child: string, total: number) => {
    let outgoing = total;
    const table: Record<string, number> = {};
    for (const worker of sorted(byName.get(child)?.workers ?? [])) {
      const free = capacity.get(worker.id) ?? 0;
      if (!(free > 1e-9 && outgoing > 1e-9)) continue;
      const routed = Math.min(outgoing, free);
      table[worker.id] = routed / total;
      outgoing -= routed;
      capacity.set(worker.id, free - routed);
      incoming.set(worker.id, (incoming.get(worker.id) ?? 0) + routed);
    }
    if (outgoing > 1e-6) unrouted[`${from}->${child}`] = outgoing;
    tables[from] = { ...tables[from], [child]: table };
  };
  route("frontend", entry, demandQps);
  for (const task of tasks) {
    for (const worker of sorted(task.workers)) {
      for (const child of task.children) {
        const outgoing = (incoming.get(worker.id) ?? 0) * (worker.fanouts[child] ?? 0);
        if (outgoing > 0) route(worker.id, child, outgoing);
      }
    }
  }
  return { tables, unrouted, incomingQps: Object.fromEntries(incoming) };
}

/** By falling accuracy; equal servers by their names, as the published tables have them. */
function sorted(workers: readonly LiteralWorker[]): LiteralWorker[] {
  return [...workers].sort((a, b) => b.accuracy - a.accuracy || (a.id < b.id ? -1 : 1));
}
