/** HTTP/1.1 requests for a server of a model, and what may be wrong with them. */
import type { Draw } from "./draw.ts";
import { complaintOf, repliesOf } from "./http-replies.ts";
import type { Sent, Wire } from "./wire.ts";

const CRLF = "\r\n";

/** Parts of a request that are spoilt one by one. */
interface Parts {
  method: string;
  target: string;
  version: string;
  /** Whole lines without their ends. */
  fields: string[];
  body: string;
}

/** @param model one that the server has. @param body of an inference request that it answers. */
export function httpWire(model: string, body: string): Wire {
  const targets = [
    "/v2",
    "/v2/health/live",
    "/v2/health/ready",
    "/metrics",
    `/v2/models/${model}`,
    `/v2/models/${model}/config`,
    `/v2/models/${model}/versions/1/stats`,
  ];
  const infer = `/v2/models/${model}/infer`;
  const get = (draw: Draw): Parts => {
    const fields = ["Host: localhost", "User-Agent: campaign", "Accept: */*"];
    return { method: "GET", target: draw.of(targets), version: "HTTP/1.1", fields, body: "" };
  };
  const post = (draw: Draw): Parts => {
    const type = "Content-Type: application/json";
    if (draw.isOneIn(2)) {
      const fields = ["Host: localhost", type, `Content-Length: ${body.length}`];
      return { method: "POST", target: infer, version: "HTTP/1.1", fields, body };
    }
    const at = draw.below(body.length - 1) + 1;
    const pieces = [body.slice(0, at), body.slice(at), ""];
    const chunks = pieces.map((one) => `${one.length.toString(16)}${CRLF}${one}${CRLF}`);
    const fields = ["Host: localhost", type, "Transfer-Encoding: chunked"];
    return { method: "POST", target: infer, version: "HTTP/1.1", fields, body: chunks.join("") };
  };
  return {
    name: "HTTP/1.1",
    valid: (draw) => bytesOf(get(draw)),
    spoilt: (draw) => {
      const parts = draw.isOneIn(3) ? get(draw) : post(draw);
      const bytes = draw.isOneIn(4) ? bytesOf(parts) : spoiltParts(draw, parts);
      const isBroken = draw.isOneIn(2);
      return isBroken ? brokenBytes(draw, bytes) : bytes;
    },
    complaint,
  };
}

function bytesOf({ method, target, version, fields, body }: Parts): Buffer {
  const lines = [`${method} ${target} ${version}`, ...fields, "", body];
  return Buffer.from(lines.join(CRLF), "latin1");
}

const METHODS =
  "GET HEAD POST PUT DELETE OPTIONS TRACE PATCH CONNECT PRI get Post M-SEARCH BREW G@T".split(" ");
const VERSIONS =
  "HTTP/1.0 HTTP/1.1 HTTP/2.0 HTTP/0.9 HTTP/1.2 HTTP/11 http/1.1 HTTP/1. HTP/1.1".split(" ");
const TARGETS = [
  ...["*", "", "a:80", "http://localhost/v2", "HTTPS://x/v2?q#f", "//v2", "/v2/../metrics", "v2"],
  ...["/%", "/%zz", "/v2/%00", "/v2/models/%ff", "/v2/models/%0d%0a%1b", "/v2/\u0000", "/v2/\xe9"],
  ...[
    "/v2/models/__proto__/infer",
    "/v2/models/constructor",
    "/v2 /x",
    "/v2\t",
    `/${"a".repeat(3e4)}`,
  ],
];
const FIELDS = [
  ...["Host: other", "Host:", "Host: a b", "Host : a", "host: a", "Host: [::1]:80", "Host: a/b"],
  ...["Content-Length: 5", "Content-Length: -1", "Content-Length: 0x10", "Content-Length:"],
  ...["Content-Length: 99999999999999999999", "Content-Length: 1, 1", "Content-Length: +3"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked"],
  ...[
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding: chunked, x",
    "Transfer-Encoding: xchunked",
  ],
  ...["Expect: 100-continue", "Expect: 200", "Connection: Upgrade\r\nUpgrade: websocket"],
  ...["Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk"],
  ...["Connection: close", "Connection: keep-alive", "Connection: x, , close", "Keep-Alive: -1"],
  ...["Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: \xff", "Trailer: x"],
  ...["Inference-Header-Content-Length: 3", "Inference-Header-Content-Length: -1", ": x", "x"],
  ...["x: a\r\n b", "x: \u0000", "x: \u001b[2J", "\u0000: x", `x: ${"y".repeat(2e4)}`, "x:\ry"],
];
const BODIES = [
  ...[
    "",
    "{",
    "[]",
    "null",
    "\u0000",
    "zz\r\n",
    "0\r\n\r\n",
    "-1\r\n\r\n",
    "ffffffffffffffffff\r\n",
  ],
  ...["5\r\nhel", "5;x=y\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5\r\nhelloX0\r\n\r\n"],
  ...["0\r\nx: y\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\nhello", `1;${"e".repeat(2e4)}\r\n`],
];

const SPOILERS: readonly ((parts: Parts, draw: Draw) => void)[] = [
  (parts, draw) => {
    parts.method = draw.of(METHODS);
  },
  (parts, draw) => {
    parts.target = draw.of(TARGETS);
  },
  (parts, draw) => {
    parts.version = draw.of(VERSIONS);
  },
  (parts, draw) => {
    parts.fields.splice(draw.below(parts.fields.length + 1), 0, draw.of(FIELDS));
  },
  (parts, draw) => {
    parts.fields.splice(draw.below(parts.fields.length), 1);
  },
  (parts, draw) => {
    parts.fields.push(draw.of(parts.fields.length === 0 ? FIELDS : parts.fields));
  },
  (parts, draw) => {
    parts.fields.push(...new Array<string>(draw.below(3000)).fill("a: b"));
  },
  (parts, draw) => {
    parts.body = draw.of(BODIES);
  },
  (parts, draw) => {
    parts.body = parts.body.slice(0, draw.below(parts.body.length + 1));
  },
  (parts, draw) => {
    parts.body += draw.of(BODIES);
  },
];

function spoiltParts(draw: Draw, parts: Parts): Buffer {
  for (let left = draw.few(); left > 0; left--) draw.of(SPOILERS)(parts, draw);
  return bytesOf(parts);
}

const SEPARATORS = [CRLF, "\n", "\r", " ", "\t", ":", "\u0000", "", "\r\n\r\n", "\v", "\xa0"];

/** Bytes changed, dropped, doubled or put elsewhere, with no regard to what they mean. */
function brokenBytes(draw: Draw, bytes: Buffer): Buffer {
  let text = bytes.toString("latin1");
  for (let left = draw.few(); left > 0; left--) {
    const [at, length] = [draw.below(text.length + 1), draw.few()];
    const kinds: readonly (() => string)[] = [
      () => text.slice(0, at) + text.slice(at + length),
      () => text.slice(0, at) + String.fromCharCode(draw.below(256)) + text.slice(at + 1),
      () => text.slice(0, at) + text.slice(at, at + length).repeat(draw.few()) + text.slice(at),
      () => text.slice(0, at),
      () => text.slice(0, at) + draw.of(SEPARATORS) + text.slice(at),
      () => text.replace(CRLF, draw.of(SEPARATORS)),
      () => text.replaceAll(CRLF, draw.of(SEPARATORS)),
      () => draw.of(SEPARATORS).repeat(draw.below(50)) + text,
      () => text.slice(at) + text.slice(0, at),
    ];
    text = draw.of(kinds)();
  }
  return Buffer.from(text, "latin1");
}

/** Bytes that are no part of any request: empty lines before one are skipped (RFC 9112 §2.2). */
const BLANK = /^[\r\n]*$/;

function complaint({ valid, spoilt }: Sent, received: Buffer): string | undefined {
  const text = spoilt.toString("latin1");
  try {
    const mayBeHead = /HEAD /.test(text) ? undefined : false;
    const replies = repliesOf(received, (index) => (index < valid.length ? false : mayBeHead));
    const complaints = replies.map((reply) => complaintOf(reply, reply.body === ""));
    const found = complaints.find((one) => one !== undefined);
    if (found !== undefined) return found;
    const refused = replies.slice(0, valid.length).find(({ status }) => status !== 200);
    if (refused !== undefined) return `a request in order was answered ${refused.status}`;
    const owed = valid.length + (BLANK.test(text) ? 0 : 1);
    if (replies.length < owed) return `${owed} requests have ${replies.length} answers`;
    const bodiless = replies.find(({ status, body }) => status >= 400 && body === "");
    if (bodiless !== undefined && mayBeHead === false) return `${bodiless.status} without a body`;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
