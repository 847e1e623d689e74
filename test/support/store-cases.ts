/** What any store of a cluster does, whether of NATS or of one process. */
import { expect } from "vitest";
import { ClusterAwayError } from "../../runtime/features/cluster/away-error.ts";
import type { ClusterStore, StoreChange } from "../../runtime/features/cluster/store.ts";

export interface TriedStore {
  /** Two programs that see the same bucket. */
  readonly stores: readonly [ClusterStore, ClusterStore];
  /** Cuts the first one's link. */
  cut(): Promise<void>;
  heal(): Promise<void>;
}

export const STORE_CASES: Readonly<Record<string, (tried: TriedStore) => Promise<void>>> = {
  "a key is created once, and again after it was deleted": async ({ stores: [one, other] }) => {
    const first = await one.create("once.a", "1");
    expect(first).toBeGreaterThan(0);
    expect(await other.create("once.a", "2")).toBeNull();
    expect(await other.get("once.a")).toEqual({ key: "once.a", value: "1", revision: first });
    expect(await one.delete("once.a", first ?? 0)).toBe(true);
    expect(await other.get("once.a")).toBeNull();
    const second = await other.create("once.a", "3");
    expect(second).toBeGreaterThan(first ?? 0);
    expect(await one.get("once.a")).toMatchObject({ value: "3" });
    expect(await one.get("once.b")).toBeNull();
  },

  "of several who know a revision, one changes it": async ({ stores: [one, other] }) => {
    const revision = (await one.create("race.a", "0")) ?? 0;
    const all = [one, other, one, other, one, other].map((store, at) =>
      store.update("race.a", String(at), revision),
    );
    const won = (await Promise.all(all)).filter((answer) => answer !== null);
    expect(won).toHaveLength(1);
    expect((await one.get("race.a"))?.revision).toBe(won[0]);
    expect(await one.update("race.a", "late", revision)).toBeNull();
    expect(await one.delete("race.a", revision)).toBe(false);
    expect(await one.update("race.nothing", "x", revision)).toBeNull();
    expect(await other.delete("race.a")).toBe(true);
    expect(await one.update("race.a", "late", won[0] ?? 0)).toBeNull();
  },

  "who watches is told of what there is, and of every change": async ({ stores: [one, other] }) => {
    await one.create("seen.a", "1");
    await one.create("seen.gone", "1");
    await one.delete("seen.gone");
    await one.create("seenelse.a", "1");
    const watched = new Watched(other, "seen");
    await watched.until((told) => told.includes("settled"));
    expect(watched.told).toEqual(["seen.a=1", "settled"]);
    const revision = (await one.get("seen.a"))?.revision ?? 0;
    await one.update("seen.a", "2", revision);
    await one.create("seen.b.c", "3");
    await one.delete("seen.a");
    await watched.until((told) => told.includes("seen.a gone"));
    expect(watched.told.slice(2)).toEqual(["seen.a=2", "seen.b.c=3", "seen.a gone"]);
    watched.end();
    const later = new Watched(other, "seen");
    await one.create("seen.d", "4");
    await later.until((told) => told.includes("seen.d=4"));
    later.end();
    expect(watched.told).toHaveLength(5);
  },

  "who was away asks in vain, and is told afterwards how all is": async (tried) => {
    const [one, other] = tried.stores;
    await other.create("away.a", "1");
    await other.create("away.gone", "1");
    const watched = new Watched(one, "away");
    await watched.until((told) => told.includes("settled"));
    await tried.cut();
    await expect(one.get("away.a")).rejects.toThrow(ClusterAwayError);
    await expect(one.create("away.b", "2")).rejects.toThrow(ClusterAwayError);
    await other.create("away.c", "3");
    await other.delete("away.gone");
    watched.told.length = 0;
    await tried.heal();
    await watched.until((told) => told.includes("settled"));
    expect(watched.told).toContain("away.c=3");
    expect(watched.told).toContain("away.gone gone");
    expect(await one.get("away.c")).toMatchObject({ value: "3" });
    expect(await one.get("away.b")).toBeNull();
    watched.end();
  },
};

class Watched {
  readonly told: string[] = [];
  readonly end: () => void;
  #revisions = new Map<string, number>();
  #wake = () => {};

  constructor(store: ClusterStore, prefix: string) {
    this.end = store.watch(prefix, {
      onChange: (change) => this.#tell(change),
      onSettled: () => this.#say("settled"),
    });
  }

  async until(isSo: (told: readonly string[]) => boolean): Promise<void> {
    while (!isSo(this.told)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #tell({ key, value, revision }: StoreChange): void {
    expect(revision).toBeGreaterThanOrEqual(this.#revisions.get(key) ?? 0);
    this.#revisions.set(key, revision);
    this.#say(value === null ? `${key} gone` : `${key}=${value}`);
  }

  #say(text: string): void {
    this.told.push(text);
    this.#wake();
  }
}
