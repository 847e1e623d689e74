/** Everybody who plays: CI, a registry, two sites with their clients, and who is told of them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DockerRegistry } from "../../../test/support/docker-registry.ts";
import { requestsOf, SERVED_METHODS } from "../../campaign/load/served-method.ts";
import { present } from "../harness/numbers.ts";
import { Askers, countsText } from "./askers.ts";
import { EdgeServer } from "./edge-server.ts";
import { Factory, type Version } from "./factory.ts";
import { Fleet } from "./fleet.ts";

/** Told of each step: what was done, what came of it, and of requests to each site. */
export type TellStep = (step: string, outcome: string, berlin: string, bonn: string) => void;

/** Requests go on for so long in each step at least. */
const LEAST_STEP_MS = 1500;
/** A quarter of the requests of Bonn: where the canary does badly, few enough notice. */
const CANARY_SHARE = "25%";
/** Machines that do other things besides refuse a request of a hundred to either bundle. */
const CANARY_TOLERANCE = "2%";

interface Parts {
  readonly folder: string;
  readonly factory: Factory;
  readonly berlin: EdgeServer;
  readonly bonn: EdgeServer;
  readonly fleet: Fleet;
  readonly messages: readonly Uint8Array[];
}

export class Stage {
  readonly folder: string;
  readonly factory: Factory;
  readonly berlin: EdgeServer;
  readonly bonn: EdgeServer;
  readonly fleet: Fleet;
  readonly messages: readonly Uint8Array[];
  readonly #tell: TellStep;
  readonly #askers: Askers[] = [];
  #registry: DockerRegistry;

  private constructor(parts: Parts, registry: DockerRegistry, tell: TellStep) {
    this.folder = parts.folder;
    this.factory = parts.factory;
    this.berlin = parts.berlin;
    this.bonn = parts.bonn;
    this.fleet = parts.fleet;
    this.messages = parts.messages;
    this.#registry = registry;
    this.#tell = tell;
  }

  static async open(folder: string, tell: TellStep): Promise<Stage> {
    const content = join(folder, "registry");
    mkdirSync(content);
    const registry = await DockerRegistry.start(content);
    const factory = await Factory.open(folder, `oci://${registry.host}`);
    const fleet = await Fleet.open();
    const of = (name: string, ...more: string[]) => {
      const reference = factory.reference(name);
      const { publicKey } = factory;
      return EdgeServer.of({ name, reference, publicKey, folder, statusUrl: fleet.url, more });
    };
    const canary = `${join(folder, "bonn-canary", "bundle.msgpack")}=${CANARY_SHARE}`;
    const berlin = await of("berlin");
    const rules = ["--limit", "canaryTime=2s", "--limit", `canaryTolerance=${CANARY_TOLERANCE}`];
    const bonn = await of("bonn", "--canary", canary, ...rules);
    const { messages } = await requestsOf(present(SERVED_METHODS[0]));
    return new Stage({ folder, factory, berlin, bonn, fleet, messages }, registry, tell);
  }

  async close(): Promise<void> {
    await Promise.all(this.#askers.map((askers) => askers.end()));
    await Promise.all([this.berlin, this.bonn].map((edge) => edge.stop()));
    this.fleet.close();
    await this.stopRegistry().catch(() => {});
  }

  /** Clients of both sites, from now on. */
  ask(): void {
    for (const { port } of [this.berlin, this.bonn]) {
      this.#askers.push(new Askers(port, this.messages));
    }
  }

  async stopRegistry(): Promise<void> {
    await this.#registry.stop();
  }

  /** At the same address, with what it had. */
  async startRegistry(): Promise<void> {
    const port = Number(this.#registry.host.split(":")[1]);
    this.#registry = await DockerRegistry.start(join(this.folder, "registry"), undefined, port);
  }

  /** Of each site its own signature, since it is for that site. */
  async publish(version: Version): Promise<void> {
    const { factory } = this;
    const sites = [this.berlin, this.bonn];
    for (const { site } of sites) {
      await factory.sign(version, `site=${site.name}`, { serial: factory.serial + 1 });
      await factory.push(version, site.name);
    }
    factory.next();
    if (this.#askers.length === 0) return;
    await Promise.all(sites.map((edge) => edge.follows(factory.serial)));
  }

  async step(what: string, act: () => Promise<string>): Promise<void> {
    const least = pause(LEAST_STEP_MS);
    const outcome = await act();
    await least;
    const counts = await Promise.all(this.#askers.map((askers) => askers.take()));
    const [berlin = "", bonn = ""] = counts.map(countsText);
    this.#tell(what, outcome, berlin, bonn);
  }

  /** The sums of all steps; no request is under way. */
  async tellTotals(): Promise<void> {
    await Promise.all(this.#askers.map((askers) => askers.end()));
    for (const askers of this.#askers) await askers.take();
    const [berlin = "", bonn = ""] = this.#askers.map(({ total }) => countsText(total));
    this.#tell("all of it", `the fleet was told ${this.fleet.reports} times`, berlin, bonn);
  }
}
