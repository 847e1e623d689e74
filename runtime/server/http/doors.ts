/** Listeners of a server: one for all, and those for administrators or metrics alone. */
import type { Need } from "../access/scopes.ts";

export interface DoorAddress {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
}

export interface Door extends DoorAddress {
  /** Of the setting that says where it is. */
  readonly flag: string;
  /** What is served there beside health; other paths are not there. */
  readonly needs: ReadonlySet<Need>;
  /** Whether it is not the one for all. */
  readonly isOwn: boolean;
}

export interface DoorAddresses {
  readonly http: DoorAddress;
  /** Left out, administrators and metrics are served with the rest. */
  readonly admin?: DoorAddress | undefined;
  readonly metrics?: DoorAddress | undefined;
}

/** The one for all comes first; administrators and metrics may share one. */
export function doorsOf({ http, admin, metrics }: DoorAddresses): Door[] {
  const main = new Set<Need>(["open", "infer"]);
  if (admin === undefined) main.add("admin");
  if (metrics === undefined) main.add("metrics");
  const doors: Door[] = [{ ...http, flag: "--http", needs: main, isOwn: false }];
  const own = (address: DoorAddress, flag: string, needs: readonly Need[]) => {
    doors.push({ ...address, flag, needs: new Set<Need>(["open", ...needs]), isOwn: true });
  };
  const isShared = admin !== undefined && metrics !== undefined && isSame(admin, metrics);
  if (isShared) own(admin, "--admin", ["admin", "metrics"]);
  else {
    if (admin !== undefined) own(admin, "--admin", ["admin"]);
    if (metrics !== undefined) own(metrics, "--metrics", ["metrics"]);
  }
  return doors;
}

function isSame(one: DoorAddress, other: DoorAddress): boolean {
  return one.port !== 0 && one.port === other.port && one.host === other.host;
}
