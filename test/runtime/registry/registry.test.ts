/** Requests to a registry and checks of its responses, against one in memory. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { descriptorOf } from "../../../runtime/registry/manifest.ts";
import { MANIFEST } from "../../../runtime/registry/media-types.ts";
import { openRegistry, type RegistryOptions } from "../../../runtime/registry/registry.ts";
import {
  digestOf,
  SmallRegistry,
  type SmallRegistryOptions,
} from "../../support/small-registry.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-registry-"));
afterAll(() => rmSync(folder, { recursive: true }));
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const ACCOUNT = { username: "edge", password: "hush" };
const CONTENT = Buffer.from("what a policy is, ".repeat(10_000));
const DIGEST = digestOf(CONTENT);
const given = { kind: "password", ...ACCOUNT } as const;
let paths = 0;
const newPath = () => join(folder, `blob-${paths++}`);

async function started(options: SmallRegistryOptions = {}) {
  const small = await SmallRegistry.start(options);
  open.push(small);
  small.blobs.set(DIGEST, CONTENT);
  const registry = (more: RegistryOptions = {}, name = "team/policy:1") => {
    return openRegistry(`${small.host}/${name}`, { auth: {}, retryMs: 0, ...more });
  };
  return { small, registry };
}

/** One layer of a kind of its own. */
const layer = (text: string) => {
  const body = Buffer.from(text);
  return { descriptor: descriptorOf("text/plain", body), body };
};

describe("pushing", () => {
  test("uploads content before the manifest, and the second time only the manifest", async () => {
    const { small, registry } = await started();
    const first = await registry({ isPushed: true }).push("text/x", [layer("a"), layer("b")]);
    expect(first.wasSent).toEqual([true, true]);
    expect(small.manifests.get("1")?.bytes.length).toBe(first.bytes);
    expect(small.blobs.get(digestOf(Buffer.from("b")))?.toString()).toBe("b");
    small.asked();
    const second = await registry({ isPushed: true }).push("text/x", [layer("a"), layer("b")]);
    expect(second).toEqual({ ...first, wasSent: [false, false] });
    const verbs = small.asked().map((line) => line.split(" ")[0]);
    expect(verbs).toEqual(["HEAD", "HEAD", "HEAD", "PUT"]);
  });

  test("by digest checks the digest before anything is sent", async () => {
    const { small, registry } = await started();
    const { digest } = await registry().push("text/x", [layer("a")]);
    await registry({}, `team/policy@${digest}`).push("text/x", [layer("a")]);
    small.asked();
    await expect(
      registry({}, `team/policy@${digest}`).push("text/x", [layer("b")]),
    ).rejects.toMatchObject({ code: "RUNTIME_DIGEST" });
    expect(small.asked()).toEqual([]);
  });

  test("reports the error of a registry", async () => {
    const { small, registry } = await started();
    small.intercept = ({ method, url = "" }, response) => {
      if (method !== "PUT" || !url.includes("/manifests/")) return false;
      response.writeHead(400).end('{"errors":[{"code":"TAG_INVALID","message":"no such\\ntag"}]}');
      return true;
    };
    await expect(registry().push("text/x", [layer("a")])).rejects.toMatchObject({
      code: "RUNTIME_REGISTRY",
      message: expect.stringMatching(/: 1: status 400: TAG_INVALID no such tag$/),
    });
  });
});

describe("a manifest", () => {
  test("is fetched again only if it has changed", async () => {
    const { small, registry } = await started();
    const { digest } = await registry().push("text/x", [layer("a")]);
    const found = await registry().manifest();
    expect(found).toMatchObject({ digest, manifest: { artifactType: "text/x" } });
    expect(await registry().manifest(found?.etag)).toBe(null);
    await registry().push("text/x", [layer("b")]);
    expect((await registry().manifest(found?.etag))?.digest).not.toBe(digest);
    expect((await registry({}, `team/policy@${digest}`).manifest())?.digest).toBe(digest);
    expect(small.seen.at(-1)?.path).toBe(`/v2/team/policy/manifests/${digest}`);
  });

  test.each<[string, string, RegExp]>([
    ["no JSON", "<html>", /expected a manifest in JSON/],
    ["an older one", '{"schemaVersion":1}', /schemaVersion 2/],
    ["an index", '{"schemaVersion":2,"manifests":[]}', /got an index$/],
    ["no layers", '{"schemaVersion":2}', /layers: expected a list/],
    [
      "a digest of another kind",
      '{"schemaVersion":2,"layers":[{"mediaType":"a","digest":"md5:1","size":1}]}',
      /layers\[0\]\.digest: expected sha256/,
    ],
    [
      "a size below 0",
      `{"schemaVersion":2,"layers":[{"mediaType":"a","digest":"${DIGEST}","size":-1}]}`,
      /layers\[0\]\.size: expected an integer/,
    ],
  ])("that is %s is refused", async (_, text, message) => {
    const { small, registry } = await started();
    small.manifests.set("1", { bytes: Buffer.from(text), type: MANIFEST });
    await expect(registry().manifest()).rejects.toMatchObject({
      code: "RUNTIME_REGISTRY",
      message: expect.stringMatching(message),
    });
  });

  test("with a digest other than the requested one is rejected", async () => {
    const { small, registry } = await started();
    const { digest } = await registry().push("text/x", [layer("a")]);
    const kept = small.manifests.get(digest);
    const forged = { bytes: Buffer.from(`${kept?.bytes} `), type: MANIFEST };
    small.manifests.set(digest, forged);
    await expect(registry({}, `team/policy@${digest}`).manifest()).rejects.toMatchObject({
      code: "RUNTIME_DIGEST",
    });
  });

  test("that is missing, and an unreachable registry, are reported", async () => {
    const { small, registry } = await started();
    await expect(registry({}, "team/policy:gone").manifest()).rejects.toMatchObject({
      code: "RUNTIME_REGISTRY",
      message: expect.stringMatching(
        /^oci:\/\/127.*\/team\/policy:gone: manifest: status 404: MANIFEST_UNKNOWN/,
      ),
    });
    const reference = `${small.host}/team/policy:1`;
    await small.close();
    open.splice(0);
    const gone = openRegistry(reference, { retryMs: 0 });
    await expect(gone.manifest()).rejects.toThrow(/1: .*ECONNREFUSED.*, after 4 attempts$/);
  });
});

describe("content", () => {
  test("is downloaded completely", async () => {
    const { registry } = await started();
    const path = newPath();
    await registry().blob(DIGEST, path, { size: CONTENT.length });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  test("that is interrupted is resumed, in the same attempt and in the next", async () => {
    const { small, registry } = await started();
    const asked: (string | undefined)[] = [];
    small.intercept = (request, response) => {
      asked.push(request.headers.range);
      if (asked.length > 3) return false;
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
      // A third of what is left, then the line is dead.
      const part = CONTENT.subarray(from, from + Math.ceil((CONTENT.length - from) / 3));
      const told = `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}`;
      response.writeHead(from === 0 ? 200 : 206, {
        "content-length": CONTENT.length - from,
        ...(from === 0 ? {} : { "content-range": told }),
      });
      response.write(part, () => response.destroy());
      return true;
    };
    const path = newPath();
    await registry().blob(DIGEST, path, { size: CONTENT.length });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(asked[0]).toBe(undefined);
    expect(asked.slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(range ?? ""))).toBe(true);

    small.intercept = () => false;
    writeFileSync(path, CONTENT.subarray(0, 1000));
    small.asked();
    const more = { size: CONTENT.length, resume: true };
    expect(await registry().blob(DIGEST, path, more)).toBe(CONTENT.length - 1000);
    expect(small.seen.map(({ headers }) => headers.range)).toEqual(["bytes=1000-"]);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  test("that is already complete is not requested", async () => {
    const { small, registry } = await started();
    const path = newPath();
    writeFileSync(path, CONTENT);
    expect(await registry().blob(DIGEST, path, { resume: true })).toBe(0);
    expect(small.asked()).toEqual([]);
    expect(await registry().blob(DIGEST, path)).toBe(CONTENT.length);
    expect(small.asked()).toEqual([`GET /v2/team/policy/blobs/${DIGEST}`]);
  });

  test.each([
    ["something else", Buffer.from("x".repeat(1000))],
    ["more than it has", Buffer.alloc(CONTENT.length + 5)],
    ["as much of something else", Buffer.alloc(CONTENT.length)],
  ])("is asked for as a whole where %s was left", async (_, left) => {
    const { registry } = await started();
    for (const size of [CONTENT.length, undefined]) {
      const path = newPath();
      writeFileSync(path, left);
      await registry().blob(DIGEST, path, { size, resume: true });
      expect(readFileSync(path).equals(CONTENT)).toBe(true);
    }
  });

  test("of a registry without ranges is downloaded again", async () => {
    const { small, registry } = await started();
    small.intercept = (_, response) => {
      response.end(CONTENT);
      return true;
    };
    const path = newPath();
    writeFileSync(path, CONTENT.subarray(0, 1000));
    await registry().blob(DIGEST, path, { size: CONTENT.length, resume: true });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  test("with a wrong digest is removed along with the earlier attempt", async () => {
    const { small, registry } = await started();
    small.blobs.set(DIGEST, Buffer.alloc(CONTENT.length));
    for (const left of [null, CONTENT.subarray(0, 1000)]) {
      const path = newPath();
      if (left !== null) writeFileSync(path, left);
      const refusal = registry().blob(DIGEST, path, { size: CONTENT.length, resume: true });
      await expect(refusal).rejects.toMatchObject({ code: "RUNTIME_DIGEST" });
      expect(existsSync(path)).toBe(false);
    }
  });

  test.each([
    ["more", Buffer.concat([CONTENT, Buffer.alloc(1)]), /expected at most 180000 bytes, got more/],
    ["less", CONTENT.subarray(1), /expected 180000 bytes, got 179999/],
  ])("with %s bytes than its descriptor says is refused", async (_, bytes, message) => {
    const { small, registry } = await started();
    small.blobs.set(DIGEST, bytes);
    await expect(registry().blob(DIGEST, newPath(), { size: CONTENT.length })).rejects.toThrow(
      message,
    );
  });

  test("is not written through a link", async () => {
    const { registry } = await started();
    const [target, path] = [newPath(), newPath()];
    writeFileSync(target, "mine");
    symlinkSync(target, path);
    await expect(registry().blob(DIGEST, path)).rejects.toMatchObject({
      code: "RUNTIME_UNWRITABLE",
    });
    expect(readFileSync(target, "utf8")).toBe("mine");
  });

  test("ends with the reason of a signal", async () => {
    const { small, registry } = await started();
    const stop = new AbortController();
    small.intercept = (_, response) => {
      response.writeHead(200, { "content-length": CONTENT.length });
      response.write(CONTENT.subarray(0, 100), () => stop.abort(new Error("enough")));
      return true;
    };
    const path = newPath();
    await expect(registry({ signal: stop.signal }).blob(DIGEST, path)).rejects.toThrow("enough");
    expect(statSync(path).size).toBeLessThanOrEqual(100);
  });
});

describe("a transient status", () => {
  test.each([429, 500, 502, 503, 504])("%d is tried again", async (status) => {
    const { small, registry } = await started();
    await registry().push("text/x", [layer("a")]);
    let refusals = 2;
    small.intercept = (_, response) => {
      if (refusals-- <= 0) return false;
      response.writeHead(status, { "retry-after": "0" }).end();
      return true;
    };
    expect((await registry().manifest())?.manifest.artifactType).toBe("text/x");
  });

  test("is reported after four attempts", async () => {
    const { small, registry } = await started();
    small.intercept = (_, response) => {
      response.writeHead(503).end("down for\nmaintenance");
      return true;
    };
    await expect(registry().manifest()).rejects.toMatchObject({
      code: "RUNTIME_REGISTRY",
      message: expect.stringMatching(/1: status 503: down for maintenance, after 4 attempts$/),
    });
    expect(small.asked().length).toBe(4);
  });
});

describe("authentication", () => {
  test("is not sent to a registry that does not ask for it", async () => {
    const { small, registry } = await started();
    await registry({ auth: { given } }).push("text/x", [layer("a")]);
    expect(small.seen.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });

  test("uses name and password", async () => {
    const { small, registry } = await started({ account: ACCOUNT });
    await registry({ auth: { given } }).push("text/x", [layer("a")]);
    const own = registry({ auth: { given } });
    small.asked();
    await own.manifest();
    await own.manifest();
    // Once it has asked, it is told at once.
    expect(small.asked().length).toBe(3);
  });

  test.each([
    ["a password", given],
    ["a token of identity", { kind: "identity", token: ACCOUNT.password } as const],
  ])("is told by a token that %s brings, and by another once that has ended", async (_, who) => {
    const { small, registry } = await started({ account: ACCOUNT, wantsTokens: true });
    await registry({ auth: { given: who }, isPushed: true }).push("text/x", [layer("a")]);
    const own = registry({ auth: { given: who } });
    await own.manifest();
    small.tokens.clear();
    expect((await own.manifest())?.manifest.artifactType).toBe("text/x");
    expect(small.seen.some(({ path }) => path.includes("hush"))).toBe(false);
  });

  test("may be anonymous at a token server", async () => {
    const { small, registry } = await started({ wantsTokens: true });
    await registry({ isPushed: true }).push("text/x", [layer("a")]);
    expect(small.manifests.has("1")).toBe(true);
    const scopes = small.seen.flatMap(({ path }) => {
      return new URL(path, "http://small").searchParams.get("scope") ?? [];
    });
    expect(scopes).toContain("repository:team/policy:pull,push");
  });

  test.each<[string, SmallRegistryOptions]>([
    ["itself", { account: ACCOUNT }],
    ["by tokens", { account: ACCOUNT, wantsTokens: true }],
  ])("is refused %s where it is somebody else, or nobody", async (_, options) => {
    const { registry } = await started(options);
    const other = { kind: "password", username: "edge", password: "wrong-secret" } as const;
    const wrong = registry({ auth: { given: other } }).manifest();
    await expect(wrong).rejects.toMatchObject({
      code: "RUNTIME_CREDENTIALS",
      message: expect.stringContaining("it rejects the credentials from the command line"),
    });
    await expect(wrong).rejects.not.toThrow(/wrong-secret/);
    await expect(registry().manifest()).rejects.toMatchObject({
      code: "RUNTIME_CREDENTIALS",
      message: expect.stringContaining("it requires credentials; log in"),
    });
  });

  test("fails if the registry rejects the token", async () => {
    const { small, registry } = await started({ wantsTokens: true });
    small.intercept = ({ url = "" }, response) => {
      if (!url.startsWith("/token")) return false;
      response.end(JSON.stringify({ token: `useless-${small.seen.length}` }));
      return true;
    };
    await expect(registry().manifest()).rejects.toMatchObject({ code: "RUNTIME_CREDENTIALS" });
    expect(small.asked().length).toBe(3);
  });

  test.each([
    ["no address", "Bearer realm=nowhere"],
    ["a file", 'Bearer realm="file:///etc/passwd"'],
    ["nothing", "Bearer"],
  ])("is told to no server of tokens at %s", async (_, header) => {
    const { small, registry } = await started();
    small.intercept = (_request, response) => {
      response.writeHead(401, { "www-authenticate": header }).end();
      return true;
    };
    await expect(registry({ auth: { given } }).manifest()).rejects.toMatchObject({
      code: "RUNTIME_REGISTRY",
      message: expect.stringContaining("expected the http: URL of a token server"),
    });
  });

  test("is not sent to servers that the registry redirects to", async () => {
    const { small, registry } = await started({ account: ACCOUNT });
    const seen: (string | undefined)[] = [];
    const store = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end(CONTENT);
    }).listen(0, "127.0.0.1");
    open.push({ close: async () => void store.close() });
    await new Promise((resolve) => store.once("listening", resolve));
    const { port } = store.address() as AddressInfo;
    small.intercept = ({ headers, url = "" }, response) => {
      if (headers.authorization === undefined || !url.includes("/blobs/")) return false;
      response.writeHead(307, { location: `http://127.0.0.1:${port}/stored?signed=yes` }).end();
      return true;
    };
    const path = newPath();
    await registry({ auth: { given } }).blob(DIGEST, path, { size: CONTENT.length });
    expect(createHash("sha256").update(readFileSync(path)).digest("hex")).toBe(DIGEST.slice(7));
    expect(seen).toEqual([undefined]);
  });

  test("does not follow redirects forever", async () => {
    const { small, registry } = await started();
    small.intercept = ({ url = "" }, response) => {
      response.writeHead(307, { location: url }).end();
      return true;
    };
    await expect(registry().manifest()).rejects.toThrow(/expected a response or a redirect within/);
    expect(small.asked().length).toBe(6);
  });
});

describe.each([
  ["lists", { hasReferrers: true }, "api"],
  ["does not list", {}, "tag"],
] as const)("a registry that %s what is about an artifact", (_, options, listed) => {
  test("is told of it, and tells it again", async () => {
    const { small, registry } = await started(options);
    const own = registry();
    const { digest, bytes } = await own.push("text/x", [layer("a")]);
    const subject = { mediaType: MANIFEST, digest, size: bytes };
    expect(await own.referrers(digest)).toEqual([]);
    expect(await own.pushReferrer("text/s", [layer("s1")], subject)).toBe(listed);
    expect(await own.pushReferrer("text/s", [layer("s2")], subject)).toBe(listed);
    await own.pushReferrer("text/s", [layer("s2")], subject);
    const referrers = await own.referrers(digest);
    expect(referrers.map(({ artifactType }) => artifactType)).toEqual(["text/s", "text/s"]);
    const [first] = referrers;
    const { manifest } = await own.manifestOf(first?.digest ?? "");
    expect(manifest.layers[0]?.digest).toBe(digestOf(Buffer.from("s1")));
    expect(small.manifests.has(digest.replace(":", "-"))).toBe(listed === "tag");
  });
});
