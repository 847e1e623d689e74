/** Debian's docker-registry as a process: a real registry, for anybody, accounts or tokens. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export const HAS_DOCKER_REGISTRY = spawnSync("docker-registry", ["--version"]).status === 0;

/** Of its configuration, which YAML takes as JSON. */
export type RegistryAccess = { readonly htpasswd: object } | { readonly token: object };

export class DockerRegistry {
  /** Host and port. */
  readonly host: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, host: string) {
    this.#process = process;
    this.host = host;
  }

  /**
   * Starts one that keeps its content in a folder.
   * @param auth whom it lets in; undefined for anybody. @param port 0 for any.
   * @param tls paths of its certificate and key; undefined for none.
   */
  static async start(
    folder: string,
    auth?: RegistryAccess,
    port = 0,
    tls?: { readonly certificate: string; readonly key: string },
  ): Promise<DockerRegistry> {
    const config = {
      version: 0.1,
      log: { level: "info", formatter: "text" },
      storage: { filesystem: { rootdirectory: join(folder, "content") } },
      http: { addr: `127.0.0.1:${port}`, ...(tls === undefined ? {} : { tls }) },
      ...(auth === undefined ? {} : { auth }),
    };
    const path = join(folder, "registry.yml");
    writeFileSync(path, JSON.stringify(config));
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    const child = spawn("docker-registry", ["serve", path], { stdio });
    return new DockerRegistry(child, await hostOf(child));
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}

/** Waits until it says where it listens. @throws Error with what it said before it ended. */
async function hostOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let text = "";
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const host = /listening on (127\.0\.0\.1:\d+)/.exec(text)?.[1];
      if (host !== undefined) resolve(host);
    };
    stdout?.on("data", read);
    stderr?.on("data", read);
    stderr?.on("close", () => reject(new Error(`docker-registry: ${text}`)));
  });
}
