/** Replicas of a StatefulSet, against an API with the interface of Kubernetes. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { replicasOf } from "../../../runtime/scaler/replicas.ts";
import { Authority, HAS_OPENSSL } from "../server/access/certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-replicas-"));
const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
afterAll(() => {
  for (const end of ends) end();
});

const SCALE = "/apis/apps/v1/namespaces/vision/statefulsets/ocr-cpu/scale";

async function api(ours: Authority): Promise<NodeJS.ProcessEnv> {
  const { cert, key } = ours.issue("api");
  const files = { cert: readFileSync(cert), key: readFileSync(key) };
  const server = createServer(files, ({ url, headers }, response) => {
    const isAllowed = headers.authorization === "Bearer pod's" && url === SCALE;
    response.writeHead(isAllowed ? 200 : 403);
    response.end(isAllowed ? '{"spec":{"replicas":7}}' : '{"reason":"Forbidden"}');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  ends.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
}

test.skipIf(!HAS_OPENSSL)("are read as the pod's service account allows", async () => {
  const ours = new Authority("replicas");
  ends.push(() => rmSync(ours.folder, { recursive: true }));
  const environment = await api(ours);
  await expect(replicasOf("ocr-cpu", environment, folder)).rejects.toThrow(
    "expected to run in a pod with a service account, got: ENOENT",
  );
  writeFileSync(join(folder, "ca.crt"), ours.pem);
  writeFileSync(join(folder, "namespace"), "vision\n");
  writeFileSync(join(folder, "token"), "pod's\n");
  expect(await replicasOf("ocr-cpu", environment, folder)).toBe(7);
  await expect(replicasOf("other", environment, folder)).rejects.toThrow(/403 .*rbac\.yaml/);
  await expect(replicasOf("ocr-cpu", {}, folder)).rejects.toThrow("no KUBERNETES_SERVICE_HOST");
});
