/** The way of a policy from CI to two edges, with all that goes wrong on it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DockerRegistry } from "../../test/support/docker-registry.ts";
import { requestsOf, SERVED_METHODS } from "../campaign/load/served-method.ts";
import { present } from "../harness/numbers.ts";
import { Askers, countsText } from "./askers.ts";
import { EdgeServer } from "./edge-server.ts";
import { Factory, type Version } from "./factory.ts";

export interface PlayOptions {
  readonly folder: string;
  /** Times that the power is cut in an update. */
  readonly cuts: number;
  /** Told of each step: what was done, what came of it, and of requests to each site. */
  readonly tell: (step: string, outcome: string, berlin: string, bonn: string) => void;
}

/** A power cut comes so long after what is new can be seen, at the latest. */
const LATEST_CUT_MS = 3000;
/** Requests go on for so long in each step at least. */
const LEAST_STEP_MS = 1500;

export class Play {
  readonly #options: PlayOptions;
  readonly #factory: Factory;
  readonly #edges: readonly [EdgeServer, EdgeServer];
  readonly #askers: Askers[] = [];
  #registry: DockerRegistry;

  private constructor(
    options: PlayOptions,
    factory: Factory,
    edges: readonly [EdgeServer, EdgeServer],
    registry: DockerRegistry,
  ) {
    this.#options = options;
    this.#factory = factory;
    this.#edges = edges;
    this.#registry = registry;
  }

  static async run(options: PlayOptions): Promise<void> {
    const content = join(options.folder, "registry");
    mkdirSync(content);
    const registry = await DockerRegistry.start(content);
    const factory = await Factory.open(options.folder, `oci://${registry.host}`);
    const of = (name: string) => {
      const { publicKey } = factory;
      const reference = factory.reference(name);
      return EdgeServer.of({ name, reference, publicKey, folder: options.folder });
    };
    const edges = [await of("berlin"), await of("bonn")] as const;
    const play = new Play(options, factory, edges, registry);
    try {
      await play.#all();
    } finally {
      await Promise.all(play.#askers.map((askers) => askers.end()));
      await Promise.all(edges.map((edge) => edge.stop()));
      await play.#registry.stop().catch(() => {});
    }
  }

  async #all(): Promise<void> {
    const [berlin, bonn] = this.#edges;
    const factory = this.#factory;
    const first = await factory.compile("first", (spec) => spec);
    await this.#publish(first);
    await Promise.all([berlin.start(), bonn.start()]);
    const { messages } = await requestsOf(present(SERVED_METHODS[0]));
    for (const { port } of this.#edges) this.#askers.push(new Askers(port, messages));
    await this.#step("CI compiles, signs, pushes; two sites start", async () => "both serve");

    const second = await factory.compile("second", withQueue(15));
    await this.#step("a second version", async () => {
      const code = await factory.gate(first, second);
      if (code !== 0) throw new Error(`the gate refuses what may ship: ${code}`);
      await this.#publish(second);
      return "passes the gate; both follow, on new workers";
    });
    await this.#step("a worse version", async () => {
      const worse = await factory.compile("worse", withoutBest);
      const code = await factory.gate(second, worse);
      if (code !== 3) throw new Error(`the gate lets a worse one through: ${code}`);
      return "stopped by the gate: exit code 3";
    });
    await this.#refusals(first, second);
    await this.#registryAway(await factory.compile("third", withQueue(14)));
    await this.#powerCuts([first, second]);
  }

  async #refusals(first: Version, second: Version): Promise<void> {
    const factory = this.#factory;
    const next = await factory.compile("next", withQueue(13));
    const bad = [
      ["a changed signature", next, "site=berlin", {}, () => factory.tamper(next)],
      ["the key of somebody else", next, "site=berlin", { key: "stranger" }, () => {}],
      ["an older version", first, "site=berlin", { serial: 1 }, () => {}],
      ["a version for Bonn", next, "site=bonn", {}, () => {}],
      ["another application", await this.#renamed(), "site=berlin", {}, () => {}],
    ] as const;
    for (const [what, version, scope, how, change] of bad) {
      await this.#step(`Berlin gets ${what}`, async () => {
        const [berlin] = this.#edges;
        const before = await berlin.status();
        await factory.sign(version, scope, how);
        change();
        await factory.push(version, "berlin");
        const code = await berlin.refuses();
        const { revision } = await berlin.status();
        if (revision?.sha256 !== before.revision?.sha256) throw new Error("it was followed");
        const serial = await factory.sign(second, "site=berlin");
        await factory.push(second, "berlin");
        await berlin.follows(serial);
        return `refused: ${code}; taken back by the good one`;
      });
    }
  }

  #renamed(): Promise<Version> {
    return this.#factory.compile("renamed", (spec) =>
      spec.replace("application: letters", "application: digits"),
    );
  }

  async #registryAway(third: Version): Promise<void> {
    const [berlin, bonn] = this.#edges;
    const { folder } = this.#options;
    const port = Number(this.#registry.host.split(":")[1]);
    await this.#step("the registry is killed", async () => {
      await this.#registry.stop();
      await berlin.until("away", async () => (await berlin.status()).state === "away");
      return "both serve, and say that it is away";
    });
    await this.#step("Berlin loses power meanwhile", async () => {
      await berlin.cut();
      await berlin.start();
      return "it starts with the last good one";
    });
    await this.#step("the registry is back, with a third version", async () => {
      this.#registry = await DockerRegistry.start(join(folder, "registry"), undefined, port);
      await this.#publish(third);
      await bonn.follows(this.#factory.serial);
      return "both follow";
    });
  }

  /** Each at another moment of an update: as it is fetched, checked, warmed, or just followed. */
  async #powerCuts(versions: readonly [Version, Version]): Promise<void> {
    const [berlin] = this.#edges;
    const { cuts } = this.#options;
    const found = { before: 0, after: 0 };
    await this.#step(`the power of Berlin is cut in ${cuts} updates`, async () => {
      for (let cut = 0; cut < cuts; cut++) {
        const before = (await berlin.status()).revision?.serial;
        const version = versions[cut % 2] ?? versions[0];
        const serial = await this.#factory.sign(version, "site=berlin");
        await this.#factory.push(version, "berlin");
        await pause((LATEST_CUT_MS * cut) / cuts);
        await berlin.cut();
        await berlin.start();
        const after = (await berlin.status()).revision?.serial;
        if (after === serial) found.after++;
        else if (after === before) found.before++;
        else throw new Error(`it serves ${after}, neither ${before} nor ${serial}`);
        await berlin.follows(serial);
      }
      return `started with the one before ${found.before} times, with the new ${found.after}`;
    });
  }

  /** Of each site its own signature, since it is for that site. */
  async #publish(version: Version): Promise<void> {
    for (const { site } of this.#edges) {
      await this.#factory.sign(version, `site=${site.name}`, { serial: this.#factory.serial + 1 });
      await this.#factory.push(version, site.name);
    }
    this.#factory.next();
    if (this.#askers.length === 0) return;
    await Promise.all(this.#edges.map((edge) => edge.follows(this.#factory.serial)));
  }

  async #step(what: string, act: () => Promise<string>): Promise<void> {
    const least = pause(LEAST_STEP_MS);
    const outcome = await act();
    await least;
    const [berlin = "", bonn = ""] = this.#askers.map((askers) => countsText(askers.take()));
    this.#options.tell(what, outcome, berlin, bonn);
  }
}

function withQueue(maxQueue: number): (spec: string) => string {
  return (spec) => spec.replace(/maxQueue: \d+/, `maxQueue: ${maxQueue}`);
}

/** Without the most accurate model. */
function withoutBest(spec: string): string {
  return spec.replace(/^.*name: cnn-xl.*\n/m, "");
}
