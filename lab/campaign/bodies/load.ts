/** Generated bodies, sent over several connections. */
import { Connection, problemOf } from "./connection.ts";
import type { BodyGenerator, HostileRequest } from "./generated.ts";

export interface Sent {
  /** What has no answer that a client can act upon, each with its name. */
  readonly lost: string[];
  readonly countByStatus: Map<number, number>;
}

/** Sends the next bodies of a generator. @param onSent after each. */
export async function sendGenerated(
  port: number,
  path: string,
  generator: BodyGenerator,
  count: number,
  connections: number,
  onSent: (done: number) => void = () => {},
): Promise<Sent> {
  let begun = 0;
  let done = 0;
  const sent: Sent = { lost: [], countByStatus: new Map() };
  const drain = async () => {
    const connection = new Connection(port);
    while (begun++ < count) {
      await sendOne(connection, path, generator.next(), sent);
      onSent(++done);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, drain));
  return sent;
}

export async function sendOne(
  connection: Connection,
  path: string,
  request: HostileRequest,
  { lost, countByStatus }: Sent,
): Promise<void> {
  const reply = await connection.send(path, request);
  const status = reply?.status ?? 0;
  countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1);
  const problem = problemOf(reply);
  if (problem !== undefined) lost.push(`${request.name}: ${problem}`);
}
