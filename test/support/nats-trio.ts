/** Three nats-servers of this machine that are one cluster, and what they say of a bucket. */
import { freePort, NatsServer } from "./nats-server.ts";
import { untilTrue } from "./until-true.ts";

const NAMES = ["n1", "n2", "n3"];

interface Member {
  readonly name: string;
  readonly server: NatsServer;
  readonly monitorPort: number;
}

/** What one server says of a bucket. */
export interface BucketTold {
  readonly replicas: number;
  readonly leader: string | undefined;
}

export class NatsTrio {
  readonly #members: Member[];

  private constructor(members: Member[]) {
    this.#members = members;
  }

  /** @param folder makes one. */
  static async start(folder: (name: string) => string): Promise<NatsTrio> {
    const routePorts = await Promise.all(NAMES.map(() => freePort()));
    const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(",");
    const members = NAMES.map(async (name, at) => {
      const monitorPort = await freePort();
      const route = `nats://127.0.0.1:${routePorts[at]}`;
      const joined = ["--cluster_name", "trio", "--cluster", route, "--routes", routes];
      const own = ["-n", name, "-m", String(monitorPort)];
      const server = await NatsServer.start(folder(name), ...own, ...joined);
      return { name, server, monitorPort };
    });
    return new NatsTrio(await Promise.all(members));
  }

  /** As `--cluster` takes it. */
  get url(): string {
    const servers = this.#members.map(({ server }) => `127.0.0.1:${server.port}`);
    return `nats://${servers.join(",")}/tried`;
  }

  /** Asks those that live until one knows the leader of a bucket, other than a name. */
  async leader(bucket: string, other?: string): Promise<BucketTold & { readonly leader: string }> {
    let found = { leader: "", replicas: 0 };
    await untilTrue(`a leader of the bucket ${bucket} other than ${other}`, async () => {
      for (const { monitorPort } of this.#members) {
        const { leader, replicas } = await bucketTold(monitorPort, bucket);
        if (leader !== undefined && leader !== other) found = { leader, replicas };
      }
      return found.leader !== "";
    });
    return found;
  }

  async killOne(name: string): Promise<void> {
    const at = this.#members.findIndex((member) => member.name === name);
    const [gone] = this.#members.splice(at, 1);
    await gone?.server.kill();
  }

  async kill(): Promise<void> {
    for (const { server } of this.#members.splice(0)) await server.kill();
  }
}

interface StreamTold {
  readonly name: string;
  readonly config?: { readonly num_replicas?: number };
  readonly cluster?: { readonly leader?: string };
}

async function bucketTold(port: number, bucket: string): Promise<BucketTold> {
  const reply = await fetch(`http://127.0.0.1:${port}/jsz?streams=true&config=true`);
  const told = (await reply.json()) as {
    readonly account_details?: readonly { readonly stream_detail?: readonly StreamTold[] }[];
  };
  const streams = (told.account_details ?? []).flatMap(({ stream_detail = [] }) => stream_detail);
  const found = streams.find(({ name }) => name === `KV_${bucket}`);
  return { replicas: found?.config?.num_replicas ?? 0, leader: found?.cluster?.leader };
}
