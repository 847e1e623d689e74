/** Sends generated cases of a wire to a server, many at a time, and judges what comes back. */
import { connect, type Socket } from "node:net";
import { Draw } from "./draw.ts";
import type { Sent, Wire } from "./wire.ts";

export interface Target {
  readonly host: string;
  readonly port: number;
}

interface Case extends Sent {
  /** In what packets it goes. */
  readonly packets: readonly Buffer[];
  /** How the client ends: its side in order, or the whole connection at once, at any point. */
  readonly ending: "FIN" | "RST";
}

/** Cases tried at once. */
const WIDTH = 48;
/** Of a case that a server does not answer and does not close; far more than a busy one takes. */
const LOST_MS = 30_000;
const SHOWN = 300;

/** @returns the cases that were lost: what was wrong, with what was sent. */
export async function runMalformed(
  wire: Wire,
  target: Target,
  { size, seed, onDone = () => {} }: CaseRange,
): Promise<string[]> {
  const lost: string[] = [];
  let next = 0;
  const work = async () => {
    while (next < size) {
      const index = next++;
      const one = caseOf(wire, new Draw(seed, index));
      const complaint = await tried(wire, target, one);
      if (complaint !== undefined) lost.push(told(wire, index, one, complaint));
      onDone(index);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  return lost;
}

export interface CaseRange {
  readonly size: number;
  readonly seed: number;
  readonly onDone?: (index: number) => void;
}

function caseOf(wire: Wire, draw: Draw): Case {
  const validCount = draw.isOneIn(3) ? draw.few() : 0;
  const valid = Array.from({ length: validCount }, () => wire.valid(draw));
  const spoilt = wire.spoilt(draw);
  const bytes = Buffer.concat([...valid, spoilt]);
  const ending = draw.isOneIn(8) ? "RST" : "FIN";
  const sent = ending === "RST" ? bytes.subarray(0, draw.below(bytes.length + 1)) : bytes;
  return { valid, spoilt, ending, packets: packetsOf(draw, sent) };
}

function packetsOf(draw: Draw, bytes: Buffer): Buffer[] {
  if (!draw.isOneIn(3)) return [bytes];
  const cuts = Array.from({ length: draw.few() }, () => draw.below(bytes.length + 1));
  const at = [0, ...cuts.sort((one, other) => one - other), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

async function tried(wire: Wire, { host, port }: Target, one: Case): Promise<string | undefined> {
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const chunks: Buffer[] = [];
  let error: NodeJS.ErrnoException | undefined;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    socket.destroy();
  }, LOST_MS);
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", (caught) => {
    error = caught;
  });
  socket.on("end", () => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await written(socket, one);
  if (one.ending === "RST") socket.resetAndDestroy();
  else socket.end();
  await closed;
  clearTimeout(timer);
  if (isLate) return `not closed ${LOST_MS} ms after the client ended its side`;
  // Nobody is there to be answered.
  if (one.ending === "RST") return undefined;
  // A server that has refused may end while the client still writes.
  if (error !== undefined && chunks.length === 0) return `no answer, ${error.code}`;
  return wire.complaint(one, Buffer.concat(chunks));
}

/** Each packet is handed over before the next one is, so that they are read apart. */
async function written(socket: Socket, { packets }: Case): Promise<void> {
  for (const packet of packets) {
    if (socket.destroyed || !socket.writable) return;
    await new Promise<void>((resolve) => {
      socket.once("close", resolve);
      socket.write(packet, () => {
        socket.off("close", resolve);
        resolve();
      });
    });
  }
}

function told(wire: Wire, index: number, { valid, spoilt, ending }: Case, complaint: string) {
  const text = JSON.stringify(spoilt.toString("latin1").slice(0, SHOWN));
  const which = `${wire.name} case ${index} (${ending}, after ${valid.length})`;
  return `${which}: ${complaint}; sent ${text}`;
}
