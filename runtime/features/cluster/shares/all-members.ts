/** Members of a cluster, before they are shared, and the lease epochs that they have seen. */
import type { RemoteMember, RemoteWorkers } from "../../../remote/remote-workers.ts";
import type { ClusterMembership } from "../membership.ts";
import type { WorkerState } from "../worker-state.ts";

interface AllMembers {
  /** All members, whichever front end holds them. */
  readonly all: RemoteWorkers;
  /** Highest epoch that a worker reported; undefined if it is no member. */
  readonly epochOf: (worker: string) => number | undefined;
}

export function allOf(membership: Pick<ClusterMembership, "members" | "onChange">): AllMembers {
  let from: readonly WorkerState[] = [];
  let members: readonly RemoteMember[] = [];
  let epochs: ReadonlyMap<string, number> = new Map();
  const refresh = () => {
    if (from === membership.members) return;
    from = membership.members;
    members = from.map(({ name, url, pool }) => ({ name, url, pool, lease: null }));
    epochs = new Map(from.map(({ name, epoch }) => [name, epoch]));
  };
  return {
    all: {
      members: () => {
        refresh();
        return members;
      },
      onChange: (listener) => membership.onChange(listener),
    },
    epochOf: (worker) => {
      refresh();
      return epochs.get(worker);
    },
  };
}
