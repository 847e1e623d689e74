/** Servers whose bundle is of a real registry, Debian's docker-registry, which goes and is back. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { DockerRegistry, HAS_DOCKER_REGISTRY } from "../support/docker-registry.ts";
import { EdgeServers } from "../support/edge-servers.ts";
import { stratagem } from "../support/run-cli.ts";
import { testWith } from "./needs.ts";

const test = testWith("docker-registry", HAS_DOCKER_REGISTRY);
const folder = mkdtempSync(join(tmpdir(), "stratagem-edge-registry-"));
const edge = new EdgeServers(folder);
const keyName = join(folder, "team");

beforeAll(() => {
  edge.compile("first", 3);
  edge.compile("second", 4);
  command("keygen", "-o", keyName);
}, 60_000);

afterEach(() => edge.end());

afterAll(() => rmSync(folder, { recursive: true }));

function command(...args: string[]): void {
  const { status, stderr } = stratagem(...args);
  if (status !== 0) throw new Error(stderr);
}

/** Signs a bundle and pushes it with its model. */
function ship(name: string, serial: number, reference: string): void {
  const { path } = edge.compiled(name);
  command("sign", path, "--key", `${keyName}.key`, "--serial", String(serial));
  command("push", path, reference);
}

test("what is pushed is followed, and kept while the registry is away", async () => {
  let registry = await DockerRegistry.start(folder);
  const reference = `oci://${registry.host}/team/echo:stable`;
  try {
    ship("first", 1, reference);
    const from = ["--policy", reference, "--require-signature", `${keyName}.pub`];
    const store = join(folder, "store");
    const { url, child } = await edge.serve(store, ...from);
    const started = await edge.until(url, ({ state }) => state === "followed");
    expect(started.source).toBe(reference);
    expect(started.revision).toMatchObject({ serial: 1, sha256: edge.compiled("first").sha256 });
    ship("second", 2, reference);
    const second = edge.compiled("second").sha256;
    await edge.until(url, ({ revision }) => revision.sha256 === second);
    expect(await edge.answered(url, 4)).toBe(200);
    // An older one under the same tag is known by its serial.
    ship("first", 1, reference);
    const old = await edge.until(url, ({ state }) => state === "refused");
    expect(old.refused?.error.code).toBe("RUNTIME_ROLLBACK");
    await registry.stop();
    await edge.until(url, ({ state }) => state === "away");
    child.kill("SIGKILL");
    await once(child, "exit");
    const again = await edge.serve(store, ...from);
    expect((await edge.until(again.url, ({ state }) => state === "away")).revision).toMatchObject({
      serial: 2,
      sha256: second,
    });
    expect(await edge.answered(again.url, 4)).toBe(200);
    registry = await DockerRegistry.start(folder, undefined, Number(registry.host.split(":")[1]));
    ship("first", 3, reference);
    await edge.until(again.url, ({ revision }) => revision.serial === 3);
    expect(await edge.answered(again.url, 3)).toBe(200);
  } finally {
    await registry.stop();
  }
});
