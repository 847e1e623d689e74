/**
 * The Containerfiles, built by buildah from bases of Debian's packages: what is in the images, and
 * that they do their work as nobody.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { arch, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeRelease } from "../../lab/release/release.ts";
import { versionOf } from "../../lab/release/versions.ts";
import {
  buildah,
  canMakeImages,
  IMAGE_TOOLS,
  type ImageStore,
  makeBases,
  openStore,
  podman,
} from "./image-bases.ts";
import { testWith } from "./needs.ts";

const hasRegistry = spawnSync("npm", ["ping"], { stdio: "ignore" }).status === 0;
const isThere = hasRegistry && canMakeImages();
const withImages = testWith(`root, an npm registry, ${IMAGE_TOOLS.join(" and ")}`, isThere);
const RUNTIME = "localhost/stratagem-runtime";
const COMPILER = "localhost/stratagem";
const NO_WORKER = "65534:65534";

/** Its name is short: podman keeps no state below a path of more than 50 letters. */
const folder = mkdtempSync(join(tmpdir(), "image-"));
const store: ImageStore = openStore(folder);
/** What a pod mounts: the bundle and its models. */
const served = join(folder, "served");

beforeAll(() => {
  if (!isThere) return;
  const { folder: release } = makeRelease(join(folder, "release"), null);
  const { debian, node } = makeBases(store);
  for (const [image, name] of [
    [RUNTIME, "runtime"],
    [COMPILER, "compiler"],
  ] as const) {
    buildah(
      store,
      ...["bud", "--isolation", "chroot", "--pull-never", "--timestamp", "0", "--tag", image],
      ...["--build-arg", `NODE_IMAGE=${node}`, "--build-arg", `BASE_IMAGE=${debian}`],
      ...secrets(),
      ...["--file", resolve(`docs/deploy/Containerfile.${name}`), join(release, "images")],
    );
  }
  mkdirSync(join(served, "models"), { recursive: true });
  cpSync("policies/letters/bundle.msgpack", join(served, "bundle.msgpack"));
  cpSync("models/image-classification", join(served, "models"), { recursive: true });
  // Nobody is to read it, through a folder that only its owner may enter.
  chmodSync(folder, 0o755);
}, 900_000);

afterAll(() => {
  if (isThere) buildah(store, "rm", "--all");
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}, 120_000);

withImages("the image of the runtime has one platform's binaries and no compiler", () => {
  const root = mounted(RUNTIME);
  const modules = join(root, "opt/stratagem/node_modules");
  const engines = join(modules, "onnxruntime-node/bin/napi-v6");
  expect(readdirSync(engines)).toEqual(["linux"]);
  expect(readdirSync(join(engines, "linux"))).toEqual([arch()]);
  const names = readdirSync(modules);
  expect(names).toContain("stratagem-runtime");
  expect(names.filter((name) => /^(stratagem|glpk\.js|highs|mathjs|npm)$/.test(name))).toEqual([]);
  expect(existsSync(join(root, "usr/local/bin/npm"))).toBe(false);
  // Neither the settings of a registry nor its authority stay behind.
  for (const secret of ["root/.npmrc", "run/ca.pem"]) {
    expect(existsSync(join(root, secret)), secret).toBe(false);
  }
  const { version } = JSON.parse(
    readFileSync(join(modules, "stratagem-runtime/package.json"), "utf8"),
  );
  expect(version).toBe(versionOf());
});

withImages("the image of the runtime serves what is mounted, as nobody", async () => {
  const { config } = configOf(RUNTIME);
  expect(config.User).toBe(NO_WORKER);
  // As the image says, but on a port that is free, and with words for this test.
  const given = config.Cmd.map((word) => word.replace("0.0.0.0:8000", "127.0.0.1:0"));
  const container = buildah(store, "from", RUNTIME);
  const mount = ["--volume", `${served}:/srv/stratagem:ro`];
  const asked = [...config.Entrypoint, ...given, "--json"];
  const server = spawn(
    "buildah",
    [
      ...store.options,
      ...["run", "--isolation", "chroot", "--user", NO_WORKER, ...mount, container, "--", ...asked],
    ],
    { stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  const ended = once(server, "exit");
  try {
    let said = "";
    for await (const chunk of server.stdout) {
      said += chunk;
      if (said.endsWith("}\n")) break;
    }
    const { url } = JSON.parse(said) as { readonly url: string };
    const inputs = [{ name: "pixels", datatype: "UINT8", shape: [1, 4096], data: pixels() }];
    const body = JSON.stringify({ inputs });
    const answer = await fetch(`${url}/v2/models/letters/infer`, { method: "POST", body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ outputs: [{ name: "logits", shape: [1, 20] }] });
  } finally {
    // The whole group: buildah, and the server in its chroot.
    process.kill(-Number(server.pid), "SIGTERM");
    await ended;
  }
});

withImages("the image of the compiler compiles the committed bytes, and has the runtime", () => {
  const { config } = configOf(COMPILER);
  expect(config.Entrypoint).toEqual(["stratagem"]);
  const work = join(folder, "work");
  for (const data of ["models", "profiles", "policies"]) {
    cpSync(data, join(work, data), { recursive: true });
  }
  chmodSync(work, 0o777);
  const container = buildah(store, "from", COMPILER);
  const run = ["run", "--isolation", "chroot", "--user", config.User];
  const mount = ["--volume", `${work}:/work`, container, "--"];
  const asked = ["compile", "policies/letters/app.yaml", "-o", "letters.msgpack"];
  buildah(store, ...run, ...mount, ...config.Entrypoint, ...asked);
  const committed = readFileSync("policies/letters/bundle.msgpack");
  expect(readFileSync(join(work, "letters.msgpack")).equals(committed)).toBe(true);
  const told = buildah(store, ...run, ...mount, "stratagem-runtime", "--version");
  expect(told).toBe(versionOf());
});

/** As docs/deploy/pod.yaml confines it, and without any network: it has no need of one. */
const CONFINED = [
  ...["--network", "none", "--read-only", "--cap-drop", "all"],
  ...["--security-opt", "no-new-privileges", "--memory", "4g", "--pids-limit", "512"],
  // Of a machine's own limits an engine without privileges may set lower ones alone.
  ...["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"],
];

/** Asks the server from within its container, once it answers there. @returns status and text. */
const ASKING = `
  const url = "http://127.0.0.1:8000/v2/";
  for (let tries = 0; ; tries++) {
    const ready = await fetch(url + "health/ready").catch(() => null);
    if (ready?.status === 200) break;
    if (tries > 600) throw new Error("it is not ready");
    await new Promise((done) => setTimeout(done, 100));
  }
  const data = new Array(4096).fill(255);
  const inputs = [{ name: "pixels", datatype: "UINT8", shape: [1, 4096], data }];
  const body = JSON.stringify({ inputs });
  const answer = await fetch(url + "models/letters/infer", { method: "POST", body });
  console.log(answer.status, await answer.text());`;

test.skipIf(!isThere)(
  "podman runs the image of the runtime as a pod confines it",
  (context) => {
    const tried = podman(store, "run", "--rm", ...CONFINED, RUNTIME, "--help");
    const engine = "podman and runc, and leave to make namespaces and cgroups";
    if (tried.status !== 0) context.skip(`needs ${engine}: ${tried.stderr.trim()}`);
    const mount = ["--volume", `${served}:/srv/stratagem:ro`];
    const started = podman(store, "run", "--detach", ...CONFINED, ...mount, RUNTIME);
    expect(started.stderr).toBe("");
    const container = started.stdout.trim();
    try {
      const node = ["/usr/local/bin/node", "--input-type=module", "-e", ASKING];
      const { stdout } = podman(store, "exec", container, ...node);
      const logs = podman(store, "logs", container);
      expect({ stdout, logs: logs.stdout + logs.stderr }).toMatchObject({
        stdout: expect.stringMatching(/^200 .*"logits"/),
      });
      // It answers what it has accepted, and ends by itself.
      expect(podman(store, "stop", "--time", "40", container).status).toBe(0);
      const state = podman(store, "inspect", "--format", "{{.State.ExitCode}}", container);
      expect(state.stdout.trim()).toBe("0");
    } finally {
      podman(store, "rm", "--force", container);
    }
  },
  300_000,
);

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
  };
}

function configOf(image: string): ImageConfig {
  const { OCIv1 } = JSON.parse(buildah(store, "inspect", "--type", "image", image)) as {
    readonly OCIv1: ImageConfig;
  };
  return OCIv1;
}

/** Where the files of an image can be looked at. */
function mounted(image: string): string {
  return buildah(store, "mount", buildah(store, "from", image));
}

/** This machine's way to the registry, for the step that installs. */
function secrets(): string[] {
  const npmrc = join(folder, "npmrc");
  const registry = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
  const lines = [`registry=${registry.stdout.trim()}`];
  const authority = process.env["NODE_EXTRA_CA_CERTS"];
  if (authority !== undefined) lines.push("cafile=/run/ca.pem");
  writeFileSync(npmrc, `${lines.join("\n")}\n`);
  const ca = authority === undefined ? [] : ["--secret", `id=ca,src=${authority}`];
  return ["--secret", `id=npmrc,src=${npmrc}`, ...ca];
}

function pixels(): number[] {
  return new Array<number>(4096).fill(255);
}
