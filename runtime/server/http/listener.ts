/** Listeners of a server: one for all, and those for administrators or metrics alone. */
import type { Need } from "../access/scopes.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
}

export interface Listener extends ListenAddress {
  /** Name of the option with its address. */
  readonly flag: string;
  /** Scopes that are served here in addition to health; other paths answer 404. */
  readonly needs: ReadonlySet<Need>;
  /** Whether it is separate from the common listener. */
  readonly isOwn: boolean;
}

export interface ListenAddresses {
  readonly http: ListenAddress;
  /** Left out, administrators and metrics are served with the rest. */
  readonly admin?: ListenAddress | undefined;
  readonly metrics?: ListenAddress | undefined;
}

/** Returns the listeners, the common one first; admin and metrics may share one. */
export function listenersOf({ http, admin, metrics }: ListenAddresses): Listener[] {
  const main = new Set<Need>(["open", "infer"]);
  if (admin === undefined) main.add("admin");
  if (metrics === undefined) main.add("metrics");
  const listeners: Listener[] = [{ ...http, flag: "--http", needs: main, isOwn: false }];
  const own = (address: ListenAddress, flag: string, needs: readonly Need[]) => {
    listeners.push({ ...address, flag, needs: new Set<Need>(["open", ...needs]), isOwn: true });
  };
  const isShared = admin !== undefined && metrics !== undefined && isSame(admin, metrics);
  if (isShared) own(admin, "--admin", ["admin", "metrics"]);
  else {
    if (admin !== undefined) own(admin, "--admin", ["admin"]);
    if (metrics !== undefined) own(metrics, "--metrics", ["metrics"]);
  }
  return listeners;
}

function isSame(one: ListenAddress, other: ListenAddress): boolean {
  return one.port !== 0 && one.port === other.port && one.host === other.host;
}
