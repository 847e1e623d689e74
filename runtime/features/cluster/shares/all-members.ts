/** The members of a cluster as they are shared: all of them, and the epochs that they have seen. */
import type { RemoteMember, RemoteWorkers } from "../../../remote/remote-workers.ts";
import type { ClusterMembership } from "../membership.ts";
import type { WorkerState } from "../worker-state.ts";

interface AllMembers {
  /** Whoever has them. */
  readonly all: RemoteWorkers;
  /** The highest epoch that a worker has told of; undefined of one that is no member. */
  readonly epochOf: (worker: string) => number | undefined;
}

export function allOf(membership: Pick<ClusterMembership, "members" | "onChange">): AllMembers {
  let from: readonly WorkerState[] = [];
  let members: readonly RemoteMember[] = [];
  let epochs: ReadonlyMap<string, number> = new Map();
  const look = () => {
    if (from === membership.members) return;
    from = membership.members;
    members = from.map(({ name, url, pool }) => ({ name, url, pool, lease: null }));
    epochs = new Map(from.map(({ name, epoch }) => [name, epoch]));
  };
  return {
    all: {
      members: () => {
        look();
        return members;
      },
      onChange: (listener) => membership.onChange(listener),
    },
    epochOf: (worker) => {
      look();
      return epochs.get(worker);
    },
  };
}
