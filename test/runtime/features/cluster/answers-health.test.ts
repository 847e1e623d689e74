import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { servesAs } from "../../../../runtime/features/cluster/answers-health.ts";
import { beatText, urlOfBeat } from "../../../../runtime/features/cluster/shares/share-texts.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function answering(status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a front end serves if one with its id reports ready at its URL", async () => {
  const told = (frontEnd: string, ready: boolean) => JSON.stringify({ ready, frontEnd });
  expect(await servesAs(await answering(200, told("a-1", true)), "a-1")).toBe(true);
  // Another one has its address by now, or it was started again.
  expect(await servesAs(await answering(200, told("a-2", true)), "a-1")).toBe(false);
  expect(await servesAs(await answering(503, told("a-1", false)), "a-1")).toBe(false);
  expect(await servesAs(await answering(200, '{"ready":true}'), "a-1")).toBe(false);
  expect(await servesAs(await answering(200, "no JSON"), "a-1")).toBe(false);
  expect(await servesAs("http://127.0.0.1:1", "a-1")).toBe(false);
});

test("a front end whose first answer does not come is asked once more", async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    if (++asked > 1) response.end(JSON.stringify({ ready: true, frontEnd: "a-1" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  expect(await servesAs(`http://127.0.0.1:${port}`, "a-1")).toBe(true);
  expect(asked).toBe(2);
});

test("a beat has the URL of its front end if it is a valid one", () => {
  const load = { qps: 1, variance: 1 };
  expect(urlOfBeat(beatText(1, load, {}, "http://10.0.0.7:8000"))).toBe("http://10.0.0.7:8000");
  expect(urlOfBeat(beatText(1, load, {}, "https://[::1]:8000"))).toBe("https://[::1]:8000");
  expect(urlOfBeat(beatText(1, load))).toBeNull();
  for (const url of ["ftp://a", "http://a/b?c", "http://user@a", 7]) {
    expect(urlOfBeat(JSON.stringify({ beat: 1, url }))).toBeNull();
  }
});
